#include "frontend/read_bytes.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>

namespace bf_aot {
namespace {

constexpr std::size_t kBlock = std::size_t{1} << 18;
constexpr std::uint64_t kMostReserved = std::uint64_t{1} << 30;

bool is_null_device(const struct stat& status) {
  return status.st_rdev == makedev(1, 3);
}

// Terminals, old and of today, and serial lines have such numbers.
bool is_terminal(const struct stat& status) {
  const unsigned number = major(status.st_rdev);
  return number == 4 || number == 5 || (number >= 136 && number <= 143) || number == 204;
}

std::string_view why_refused(const struct stat& status, Sources sources) {
  const bool pipes = sources == Sources::kFilesAndPipes;
  if (S_ISREG(status.st_mode)) return "";
  if (S_ISDIR(status.st_mode)) return "no such file: it is a folder";
  if (S_ISFIFO(status.st_mode)) return pipes ? "" : "it is a pipe, no file";
  if (S_ISSOCK(status.st_mode)) return pipes ? "" : "it is a socket, no file";
  const bool harmless = S_ISCHR(status.st_mode) && (is_null_device(status) || is_terminal(status));
  return pipes && harmless ? "" : "it is a device, no file";
}

std::string text_of(int error) {
  return error == ENOENT || error == ENOTDIR ? "no such file" : std::strerror(error);
}

// What a path that does not exist may have meant: the file compressed, or not.
std::string_view nearby(const std::filesystem::path& path, int error) {
  if (error != ENOENT) return "";
  const bool packed = path.extension() == ".gz";
  std::filesystem::path other = path;
  packed ? other.replace_extension() : other += ".gz";
  struct stat status = {};
  if (stat(other.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return "";
  return packed ? ", but one without .gz is there" : ", but one with .gz is there";
}

void read_all(int file, std::uint64_t max_bytes, ReadBytes& result) {
  while (result.bytes.size() <= max_bytes) {
    const std::size_t before = result.bytes.size();
    result.bytes.resize(before + kBlock);
    const ssize_t count = read(file, result.bytes.data() + before, kBlock);
    const int error = errno;
    result.bytes.resize(before + static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
    if (count == 0) return;
    if (count > 0 || error == EINTR) continue;
    result.problem = text_of(error);
    return;
  }
  result.too_large = true;
  result.problem = fmt::format("has more than {} bytes", max_bytes);
}

}  // namespace

Descriptor::~Descriptor() {
  if (number_ >= 0) close(number_);
}

std::filesystem::path source_path(const std::filesystem::path& path) {
  return path == "-" ? "/dev/stdin" : path;
}

std::string why_unreadable(const std::filesystem::path& path, Sources sources) {
  struct stat status = {};
  if (stat(source_path(path).c_str(), &status) != 0) {
    const int error = errno;
    return text_of(error).append(nearby(path, error));
  }
  return std::string(why_refused(status, sources));
}

ReadBytes read_bytes(const std::filesystem::path& path, std::uint64_t max_bytes, Sources sources) {
  ReadBytes result;
  result.problem = why_unreadable(path, sources);
  if (!result.problem.empty()) return result;
  const Descriptor file(open(source_path(path).c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  struct stat status = {};
  if (file.number() < 0 || fstat(file.number(), &status) != 0) {
    result.problem = text_of(errno);
    return result;
  }
  result.problem = why_refused(status, sources);
  if (!result.problem.empty()) return result;
  const auto size = S_ISREG(status.st_mode) ? static_cast<std::uint64_t>(status.st_size) : 0;
  if (size > max_bytes) {
    result.too_large = true;
    result.problem = fmt::format("has {} bytes, the limit is {}", size, max_bytes);
    return result;
  }
  result.bytes.reserve(std::min(size, kMostReserved) + kBlock);
  read_all(file.number(), max_bytes, result);
  return result;
}

}  // namespace bf_aot
