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

// A folder is made by a name of the second kind, and gets the first when it is locked. So one of
// the first without a lock is nobody's, and one of the second is when it is old.
constexpr std::string_view kPrefix = ".bf-aot-";
constexpr std::string_view kNewPrefix = ".bf-aot+";
constexpr std::string_view kRandomPart = "XXXXXX";  // mkdtemp replaces it
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

// Whether nobody uses a folder, as far as its name, owner and age tell.
bool may_be_stale(const fs::path& folder) {
  const std::string name = folder.filename().string();
  const bool is_new = name.starts_with(kNewPrefix);
  if (!is_new && !name.starts_with(kPrefix)) return false;
  struct stat status = {};
  return name.size() == kPrefix.size() + kRandomPart.size() &&
         lstat(folder.c_str(), &status) == 0 && status.st_uid == geteuid() &&
         (!is_new || std::difftime(std::time(nullptr), status.st_mtime) > kStaleSeconds);
}

void remove_stale(const fs::path& destination) {
  std::error_code error;
  for (fs::directory_iterator entry(destination, error), end; !error && entry != end;
       entry.increment(error)) {
    if (!may_be_stale(entry->path())) continue;
    const int lock = lock_folder(entry->path());
    if (lock < 0) continue;
    std::error_code ignored;  // the next process tries again
    fs::remove_all(entry->path(), ignored);
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

fs::path folder_of(const fs::path& file) {
  return file.parent_path().empty() ? fs::path(".") : file.parent_path();
}

// Gives an open file without a name one that is free.
bool link_to(const fs::path& open_file, const fs::path& name) {
  return linkat(AT_FDCWD, open_file.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0;
}

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
      (fs::absolute(destination_) / fmt::format("{}{}", kNewPrefix, kRandomPart)).string();
  if (mkdtemp(pattern.data()) == nullptr)
    fail("BF3101", destination_.string(),
         fmt::format("cannot write to this folder: {}", std::strerror(errno)),
         "choose another one with -o");
  folder_ = pattern;
  lock_ = lock_folder(folder_);
  if (lock_ < 0) return;  // no locks here: it stays a new one
  const fs::path locked =
      folder_.parent_path() /
      fmt::format("{}{}", kPrefix, pattern.substr(pattern.size() - kRandomPart.size()));
  fs::rename(folder_, locked, error);
  if (!error) folder_ = locked;
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
  file_ = behind_links(path_);
  if (file_.filename().empty()) fail("BF3101", path_.string(), "this names no file");
  const fs::path where = in_place_ ? fs::temp_directory_path() : folder_of(file_);
  nameless_.emplace(open(where.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0666));
  made_ = fmt::format("/proc/self/fd/{}", nameless_->number());
  if (nameless_->number() < 0 || access(made_.c_str(), W_OK) != 0) {
    nameless_.reset();
    staging_.emplace(where);
    made_ = staging_->folder() / file_.filename();
  }
  stream_.open(made_, std::ios::binary | std::ios::trunc);
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
  if (in_place_) return copy_in_place(made_, path_);
  if (nameless_ && link_to(made_, file_)) return;
  if (nameless_) {  // there is one, which is replaced in one step
    staging_.emplace(folder_of(file_));
    if (!link_to(made_, staging_->folder() / file_.filename()))
      fail_to_write(path_, std::strerror(errno));
  }
  staging_->publish({file_.filename().string()});
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

NewFolder::NewFolder(const fs::path& path) {
  std::error_code ignored;
  for (fs::path at = fs::absolute(path); !at.empty() && !fs::exists(at, ignored);
       at = at.parent_path())
    if (at.has_filename()) made_.push_back(at);  // others end in a separator
  make_folder(path);
}

NewFolder::~NewFolder() {
  std::error_code ignored;
  for (const fs::path& folder : made_)
    if (!fs::remove(folder, ignored)) return;  // it is used
}

}  // namespace bf_aot::system
