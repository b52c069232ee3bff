#pragma once

#include <chrono>
#include <string>

namespace bf_aot::system {

// Seconds since it was made.
class Stopwatch {
 public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

// Whether steps are told as whole lines: with --verbose, where that is no terminal.
bool tells_steps();
// A line on stderr: a step that has ended, and what it took.
void tell_step(const std::string& what, double seconds);

// What the program is doing, on stderr: "compile ... 1.3 s"; on a terminal, or with --verbose.
// The line is finished by the destructor. Quiet while there is a ProgressBar.
class Progress {
 public:
  explicit Progress(const std::string& what);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

 private:
  bool shown_;
  Stopwatch stopwatch_;
};

// "[#######.....] 12 of 60  tiny crown  (about 40 s left)" on stderr, one line that is rewritten,
// where progress is shown.
class ProgressBar {
 public:
  explicit ProgressBar(int count);
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  // So many are done; `what` is next.
  void show(int done, const std::string& what);

 private:
  int count_;
  bool shown_;
  double told_ = 0;
  Stopwatch stopwatch_;
};

// "[#######.....] 12 %  crown, layer fc3, row 1200 of 8192  (about 40 min left)" on stderr,
// likewise.
class ShareBar {
 public:
  ShareBar();
  ~ShareBar();
  ShareBar(const ShareBar&) = delete;
  ShareBar& operator=(const ShareBar&) = delete;

  // This share of the work is done, 0 to 1.
  void show(double share, const std::string& what);

 private:
  bool shown_;
  Stopwatch stopwatch_;
};

}  // namespace bf_aot::system
