#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace bf_aot::cli {

struct ProcessResult {
  int exit_code = 0;   // 128 + signal when a signal ended it
  std::string output;  // standard output
  std::string errors;  // standard error
};

// Runs a program in `folder` (empty: here) without a shell and waits for it; its standard input is
// empty. arguments[0] is the program's path.
// Throws: BF3201 when it cannot be started; Interrupted.
ProcessResult run_process(const std::vector<std::string>& arguments,
                          const std::filesystem::path& folder = {});

// Runs `work` in a copy of this process and returns what it returned as `output`: a crash, or
// memory that runs out, is its exit code, and what it printed on standard error is in `errors`.
// Ended by SIGTERM after so many seconds; 0: never. Throws: BF3201; Interrupted.
ProcessResult run_apart(const std::function<std::string()>& work, double timeout_seconds);

// The path of an executable: `name` itself when it holds a slash (made absolute), else searched in
// $PATH. Empty when there is none.
std::optional<std::string> find_program(const std::string& name);

}  // namespace bf_aot::cli
