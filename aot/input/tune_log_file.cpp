#include "aot/input/tune_log_file.h"

#include <fmt/format.h>

#include <fstream>

#include "frontend/diagnostic.h"
#include "frontend/read_bytes.h"

namespace bf_aot::input {
namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t kMostBytes = 256 << 20;

// The last line of a file may lack its end, when logs were put together by hand.
bool ends_within_line(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary | std::ios::ate);
  if (!stream || stream.tellg() <= 0) return false;
  stream.seekg(-1, std::ios::end);
  return stream.get() != '\n';
}

}  // namespace

std::vector<TuningRecord> read_tuning_log(const fs::path& path) {
  const ReadBytes read = read_bytes(path, kMostBytes, Sources::kFiles);
  if (read.too_large) fail("BF3002", path.string(), "the tuning log is larger than 256 MiB");
  if (!read.problem.empty())
    fail("BF3001", path.string(), "cannot read the tuning log: " + read.problem, "check the path");
  return parse_tuning_log(read.bytes, path.filename().string());
}

void TuningLogWriter::Close::operator()(std::FILE* file) const {
  std::fclose(file);
}

TuningLogWriter::TuningLogWriter(const fs::path& path) : path_(path) {
  std::error_code error;
  if (fs::exists(path, error))
    if (const std::string problem = why_unreadable(path, Sources::kFiles); !problem.empty())
      fail("BF3101", path.string(), "cannot write the tuning log: " + problem,
           "choose another --tuning-log");
  const bool open_line = ends_within_line(path);
  file_.reset(std::fopen(path.c_str(), "ab"));
  if (file_ == nullptr)
    fail("BF3101", path.string(), "cannot write the tuning log", "choose another --tuning-log");
  if (open_line) std::fputc('\n', file_.get());
}

void TuningLogWriter::append(const TuningRecord& record) {
  const std::string line = to_line(record);
  const bool written = std::fwrite(line.data(), 1, line.size(), file_.get()) == line.size();
  if (!written || std::fflush(file_.get()) != 0)
    fail("BF3102", path_.string(), "cannot write the tuning log");
}

}  // namespace bf_aot::input
