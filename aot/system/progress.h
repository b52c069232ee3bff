#pragma once

#include <chrono>
#include <string>

namespace bf_aot::system {

// Measures the seconds since it was made.
class Stopwatch {
 public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

// Returns whether steps are told as whole lines: with --verbose, where standard error is no
// terminal.
bool tells_steps();
// Prints a line on standard error about a step that has ended, and its seconds.
void tell_step(const std::string& what, double seconds);

// Shows on standard error what the program is doing, "compile ... 1.3 s", on a terminal or with
// --verbose. The destructor finishes the line. Quiet while there is a ProgressBar.
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

// Shows "[#######.....] 12 of 60  tiny crown  (about 40 s left)" on standard error, one line that
// is rewritten, where progress is shown.
class ProgressBar {
 public:
  explicit ProgressBar(int count);
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  // Shows that `done` are done and that `what` is next.
  void show(int done, const std::string& what);

 private:
  int count_;
  bool shown_;
  double told_ = 0;
  Stopwatch stopwatch_;
};

// Shows "[#######.....] 12 %  crown, layer fc3, row 1200 of 8192  (about 40 min left)" on standard
// error, one line that is rewritten, where progress is shown.
class ShareBar {
 public:
  ShareBar();
  ~ShareBar();
  ShareBar(const ShareBar&) = delete;
  ShareBar& operator=(const ShareBar&) = delete;

  // Shows that this share of the work, 0 to 1, is done.
  void show(double share, const std::string& what);

 private:
  bool shown_;
  Stopwatch stopwatch_;
};

}  // namespace bf_aot::system
