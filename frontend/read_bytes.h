#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace bf_aot {

// The kinds of files that may be read. kFilesAndPipes is for paths that the user names: a pipe,
// also one of `<(...)`, and standard input end when their writer closes them. kFiles is for paths
// that the program looks for: a pipe there may have no writer, and would never end.
enum class Sources : std::uint8_t { kFiles, kFilesAndPipes };

// Closes an open file at the end of its life.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}  // negative: none is open
  ~Descriptor();
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  int number() const { return number_; }

 private:
  int number_;
};

// The path, "/dev/stdin" for "-".
std::filesystem::path source_path(const std::filesystem::path& path);

// Why `path` is not read, in words: "no such file"; empty: it may be. Opens nothing, so it returns
// at once whatever is there. A device is refused: /dev/zero has no end. A terminal and /dev/null
// are read where pipes are.
std::string why_unreadable(const std::filesystem::path& path, Sources sources);

struct ReadBytes {
  std::string bytes;
  std::string problem;     // in words; empty: all of the file is in `bytes`
  bool too_large = false;  // the problem is that
};

// All bytes, at most `max_bytes`. What is refused is not opened, and what is opened is looked at
// again.
ReadBytes read_bytes(const std::filesystem::path& path, std::uint64_t max_bytes, Sources sources);

}  // namespace bf_aot
