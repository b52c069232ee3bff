#include "aot/system/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <ctime>
#include <fstream>
#include <system_error>

#include "frontend/diagnostic.h"

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
  for (const std::string& name : names) {
    std::error_code error;
    if (fs::is_directory(destination_ / name, error))
      fail("BF3103", (destination_ / name).string(), "a folder is in the way of an output file",
           "remove it or choose another name with -o");
  }
  throw_if_interrupted();
  const SignalBlock block;
  for (const std::string& name : names) {
    make_folder(fs::absolute(destination_ / name).parent_path());
    std::error_code error;
    fs::rename(folder_ / name, destination_ / name, error);
    if (error) fail("BF3102", (destination_ / name).string(), "cannot write: " + error.message());
  }
}

void Staging::publish_folder(const std::string& name) {
  throw_if_interrupted();
  std::error_code error;
  fs::rename(folder_, destination_ / name, error);
  if (error && !fs::is_directory(destination_ / name))
    fail("BF3102", (destination_ / name).string(), "cannot write: " + error.message());
}

void publish_file(const fs::path& path, std::string_view bytes) {
  const fs::path folder = path.parent_path().empty() ? fs::path(".") : path.parent_path();
  Staging staging(folder);
  staging.write(path.filename().string(), bytes);
  staging.publish({path.filename().string()});
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
