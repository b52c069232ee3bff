#pragma once

#include <chrono>
#include <string>

namespace bf::cli {

// Seconds since it was made.
class Stopwatch {
 public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

// What the program is doing, on stderr and only when that is a terminal: "compile ... 1.3 s".
// The line is finished by the destructor.
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

}  // namespace bf::cli
