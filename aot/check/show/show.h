#pragma once

#include <chrono>
#include <string>
#include <vector>

// These functions make what bf-check says of files beside its answer. None is part of the answer.

namespace bf_check::show {

// Returns what was understood of the certificate, models and property, one fact a line.
// Throws as check() does.
std::string understood(const std::vector<std::string>& models, const std::string& property,
                       const std::string& certificate);

// Return the records of a certificate, one a line, indented by their depth; how many there are of
// each kind. Nothing of it is checked. Throws NotProven: a certificate that is cut off.
std::string records(const std::string& property, const std::string& certificate);
std::string statistics(const std::string& property, const std::string& certificate);

// Tells on a terminal how much of the trees is walked, and how long the rest may take.
class Progress {
 public:
  Progress(std::size_t bytes, bool quiet);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void tell(std::size_t walked);

 private:
  const std::size_t bytes_;
  const bool tells_;
  bool told_ = false;
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point last_ = begin_;
};

}  // namespace bf_check::show
