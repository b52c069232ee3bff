#pragma once

// The commands of bf-aot, one file each. argv[0] is what the usage text calls the command; the
// result is the exit code: 0, 1 when something was found wrong, 2 for wrong usage; verify has more.
// Throw: CompileError, Interrupted.

namespace bf_aot::cli {

int compile_command(int argc, const char* const* argv);
int run_command(int argc, const char* const* argv);
int verify_command(int argc, const char* const* argv);
int supports_command(int argc, const char* const* argv);
int check_command(int argc, const char* const* argv);
int inspect_command(int argc, const char* const* argv);
int ablate_command(int argc, const char* const* argv);
int profile_command(int argc, const char* const* argv);
int bench_command(int argc, const char* const* argv);
int tune_command(int argc, const char* const* argv);

}  // namespace bf_aot::cli
