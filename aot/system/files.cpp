#include "aot/system/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <fstream>
#include <system_error>

#include "frontend/diagnostic.h"
#include "frontend/read_bytes.h"

namespace bf_aot::system {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kPrefix = ".bf-aot-";
constexpr std::string_view kRandomPart = "XXXXXX";  // mkdtemp replaces it

// A process holds no lock between making a folder and locking it, so that young folders are left
// alone.
constexpr double kStaleSeconds = 60;

// The folder, open and locked until it is closed, by this process alone and not by the programs
// that it starts. -1: another process holds it, or the file system has no locks.
int lock_folder(const fs::path& folder) {
  const int file = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (file < 0) return -1;
  if (flock(file, LOCK_EX | LOCK_NB) == 0) return file;
  close(file);
  return -1;
}

bool is_own_and_old(int folder) {
  struct stat status = {};
  return fstat(folder, &status) == 0 && status.st_uid == geteuid() &&
         std::difftime(std::time(nullptr), status.st_mtime) > kStaleSeconds;
}

void remove_stale(const fs::path& destination) {
  std::error_code error;
  for (fs::directory_iterator entry(destination, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (!name.starts_with(kPrefix) || name.size() != kPrefix.size() + kRandomPart.size()) continue;
    const int lock = lock_folder(entry->path());
    if (lock < 0) continue;
    std::error_code ignored;  // the next process tries again
    if (is_own_and_old(lock)) fs::remove_all(entry->path(), ignored);
    close(lock);
  }
}

// The standard stream that goes to this file; -1: none.
int stream_of(const struct stat& status) {
  for (const int stream : {STDOUT_FILENO, STDERR_FILENO}) {
    struct stat other = {};
    if (fstat(stream, &other) == 0 && other.st_dev == status.st_dev &&
        other.st_ino == status.st_ino)
      return stream;
  }
  return -1;
}

[[noreturn]] void fail_to_write(const fs::path& path, const std::string& why) {
  fail("BF3102", path.string(), "cannot write: " + why,
       "check what it is, its permissions and the free space");
}

// A redirected stream goes on where it is: opened anew it would overwrite what was printed.
int open_in_place(const fs::path& path) {
  struct stat status = {};
  if (stat(path.c_str(), &status) == 0)
    if (const int stream = stream_of(status); stream >= 0) return dup(stream);
  return open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY);
}

void write_all(int to, const char* bytes, std::size_t count, const fs::path& path) {
  while (count > 0) {
    const ssize_t written = ::write(to, bytes, count);
    if (written < 0 && errno != EINTR) fail_to_write(path, std::strerror(errno));
    throw_if_interrupted();
    if (written < 0) continue;
    bytes += written;
    count -= static_cast<std::size_t>(written);
  }
}

// Writes the bytes of a regular file to what is there at `path`.
void copy_in_place(const fs::path& from, const fs::path& path) {
  constexpr std::size_t kBlock = std::size_t{1} << 18;
  std::fflush(stdout);
  const Descriptor to(open_in_place(path));
  if (to.number() < 0) throw_if_interrupted();
  if (to.number() < 0) fail_to_write(path, std::strerror(errno));
  std::ifstream stream(from, std::ios::binary);
  std::string block(kBlock, '\0');
  while (stream) {
    stream.read(block.data(), static_cast<std::streamsize>(kBlock));
    write_all(to.number(), block.data(), static_cast<std::size_t>(stream.gcount()), path);
  }
  if (!stream.eof()) fail_to_write(path, "its bytes cannot be read again");
}

}  // namespace

fs::path behind_links(fs::path path) {
  constexpr int kMostLinks = 40;
  std::error_code error;
  for (int link = 0; link < kMostLinks && fs::is_symlink(path, error); ++link) {
    const fs::path target = fs::read_symlink(path, error);
    if (error) break;
    path = target.is_absolute() ? target : path.parent_path() / target;
  }
  return path;
}

bool is_written_in_place(const fs::path& path) {
  struct stat status = {};
  if (stat(path.c_str(), &status) != 0) return false;
  if (S_ISDIR(status.st_mode))
    fail("BF3103", path.string(), "a folder is in the way of an output file",
         "remove it or choose another name with -o");
  if (S_ISSOCK(status.st_mode)) fail_to_write(path, "it is a socket");
  if (S_ISBLK(status.st_mode)) fail_to_write(path, "it is a block device");
  if (!S_ISREG(status.st_mode)) return true;
  if (access(path.c_str(), W_OK) != 0) fail_to_write(path, std::strerror(errno));
  return stream_of(status) >= 0;
}

namespace {

// Gives a whole file its place.
void place(const fs::path& from, const fs::path& path) {
  if (is_written_in_place(path)) return copy_in_place(from, path);
  const fs::path to = behind_links(path);
  struct stat old = {};
  if (stat(to.c_str(), &old) == 0) chmod(from.c_str(), old.st_mode & 07777);
  std::error_code error;
  fs::rename(from, to, error);
  if (error == std::errc::cross_device_link)
    fs::copy_file(from, to, fs::copy_options::overwrite_existing, error);
  if (error) fail_to_write(path, error.message());
}

}  // namespace

Staging::Staging(fs::path destination) : destination_(std::move(destination)) {
  if (destination_.empty()) destination_ = ".";
  std::error_code error;
  if (!fs::is_directory(destination_, error))
    fail("BF3101", destination_.string(), "no such folder", "make it first");
  remove_stale(destination_);
  std::string pattern =
      (fs::absolute(destination_) / fmt::format("{}{}", kPrefix, kRandomPart)).string();
  if (mkdtemp(pattern.data()) == nullptr)
    fail("BF3101", destination_.string(),
         fmt::format("cannot write to this folder: {}", std::strerror(errno)),
         "choose another one with -o");
  folder_ = pattern;
  lock_ = lock_folder(folder_);
}

Staging::~Staging() {
  std::error_code ignored;  // nothing better can be done about it
  fs::remove_all(folder_, ignored);
  if (lock_ >= 0) close(lock_);
}

void Staging::write(const std::string& name, std::string_view bytes) const {
  throw_if_interrupted();
  make_folder((folder_ / name).parent_path());
  write_file(folder_ / name, bytes);
}

void Staging::publish(const std::vector<std::string>& names) {
  bool waits = false;  // for who reads a pipe
  for (const std::string& name : names) waits = is_written_in_place(destination_ / name) || waits;
  throw_if_interrupted();
  std::optional<SignalBlock> block;
  if (!waits) block.emplace();
  for (const std::string& name : names) {
    make_folder(fs::absolute(destination_ / name).parent_path());
    place(folder_ / name, destination_ / name);
  }
}

void Staging::publish_folder(const std::string& name) {
  throw_if_interrupted();
  std::error_code error;
  fs::rename(folder_, destination_ / name, error);
  if (error && !fs::is_directory(destination_ / name))
    fail("BF3102", (destination_ / name).string(), "cannot write: " + error.message());
}

OutputFile::OutputFile(fs::path path) : path_(std::move(path)) {
  in_place_ = is_written_in_place(path_);
  const fs::path file = behind_links(path_);
  const fs::path folder = file.parent_path().empty() ? fs::path(".") : file.parent_path();
  name_ = file.filename().string();
  if (name_.empty()) fail("BF3101", path_.string(), "this names no file");
  staging_.emplace(in_place_ ? fs::temp_directory_path() : folder);
  if (in_place_) name_ = "output";
  stream_.open(staging_->folder() / name_, std::ios::binary | std::ios::trunc);
  if (!stream_) fail_to_write(path_, std::strerror(errno));
}

void OutputFile::write(std::string_view bytes) {
  throw_if_interrupted();
  stream_.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (!stream_) fail_to_write(path_, std::strerror(errno));
}

void OutputFile::publish() {
  stream_.close();
  if (!stream_) fail_to_write(path_, std::strerror(errno));
  if (in_place_) return copy_in_place(staging_->folder() / name_, path_);
  staging_->publish({name_});
}

void publish_file(const fs::path& path, std::string_view bytes) {
  OutputFile file(path);
  file.write(bytes);
  file.publish();
}

void write_file(const fs::path& path, std::string_view bytes) {
  std::ofstream stream(path, std::ios::binary | std::ios::trunc);
  stream.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  stream.close();
  if (!stream)
    fail("BF3102", path.string(), fmt::format("cannot write: {}", std::strerror(errno)),
         "check the permissions and the free space");
}

void make_folder(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error || !fs::is_directory(path))
    fail("BF3101", path.string(),
         "cannot make this folder: " + (error ? error.message() : "a file is in the way"));
}

}  // namespace bf_aot::system
