#pragma once

#include <functional>

namespace bf_aot::system {

// The exit code of an internal error: no verdict, no result of a command, and no signal's.
inline constexpr int kInternalError = 70;

// Runs a command, and returns its exit code. What it throws is printed on standard error: 1 for
// CompileError and without memory, 128 + signal for Interrupted, kInternalError for anything else.
// Afterwards a failed check of any thread ends the program with kInternalError, and so does an
// exception that leaves a thread or a noexcept function. With BF_AOT_ABORT in the environment these
// abort. With --json each of these texts is printed as an object, too.
int guarded(const std::function<int()>& command);

}  // namespace bf_aot::system
