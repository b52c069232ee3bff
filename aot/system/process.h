#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "aot/system/interrupt.h"

namespace bf_aot::system {

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

// Runs `work` in a copy of this process and returns what it returned as `output`. A crash, or lack
// of memory, is its exit code, and what it printed on standard error is in `errors`. The copy is
// ended by SIGTERM after `timeout_seconds`; 0: never. Throws: BF3201; Interrupted.
ProcessResult run_apart(const std::function<std::string()>& work, double timeout_seconds);

// Works that run in copies of this process, several at once. Not for processes with threads.
class ProcessPool {
 public:
  explicit ProcessPool(int jobs);
  ~ProcessPool();  // ends those that run
  ProcessPool(const ProcessPool&) = delete;
  ProcessPool& operator=(const ProcessPool&) = delete;

  bool is_full() const { return running_.size() >= jobs_; }
  bool is_empty() const { return running_.empty(); }

  // Starts `work` in a copy of this process, as run_apart() does, without waiting. SIGKILL ends it
  // after `timeout_seconds`. Requires !is_full().
  void start(std::size_t id, const std::function<std::string()>& work, double timeout_seconds);

  struct Ended {
    std::size_t id = 0;
    ProcessResult result;
    double seconds = 0;
    bool late = false;  // its time was over, and ended it
  };
  // Waits for one to end. Requires !is_empty(). Throws: Interrupted.
  Ended wait();

 private:
  struct Running;
  void read_from(Running& running, short out_events, short error_events);
  Ended take(std::size_t index);

  CleanupPending pending_;  // signals wait until the copies are ended
  std::size_t jobs_;
  std::vector<std::unique_ptr<Running>> running_;
};

// The number of threads that this machine runs at the same time; 1 where that is not known.
std::size_t core_count();

// The path of an executable: `name` itself when it holds a slash (made absolute), else searched in
// $PATH. Empty when there is none.
std::optional<std::string> find_program(const std::string& name);

}  // namespace bf_aot::system
