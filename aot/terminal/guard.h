#pragma once

#include <functional>

namespace bf_aot::cli {

// The exit code of an internal error: no verdict, no result of a command, and no signal's.
inline constexpr int kInternalError = 70;

// Runs a command, and returns its exit code. What it throws is printed on standard error: 1 for
// CompileError and without memory, 128 + signal for Interrupted, kInternalError for anything else.
// From then on failed checks, of any thread, end the program with kInternalError, too, and so does
// what leaves a thread or a noexcept function. BF_AOT_ABORT in the environment makes these abort.
int guarded(const std::function<int()>& command);

}  // namespace bf_aot::cli
