#pragma once

#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "planner/tuning/tuning_log.h"

namespace bf_aot::input {

// Reads a log of measured schedules. Throws: BF3001 cannot be read, BF3002 too large, BF3010 a line
// that is no record.
std::vector<TuningRecord> read_tuning_log(const std::filesystem::path& path);

// A log that records are added to, each complete in the file before append() returns.
class TuningLogWriter {
 public:
  // Throws: BF3101 when the file cannot be opened for writing.
  explicit TuningLogWriter(const std::filesystem::path& path);

  // Throws: BF3102.
  void append(const TuningRecord& record);

 private:
  struct Close {
    void operator()(std::FILE* file) const;
  };
  std::filesystem::path path_;
  std::unique_ptr<std::FILE, Close> file_;
};

}  // namespace bf_aot::input
