#pragma once

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "aot/system/interrupt.h"
#include "frontend/read_bytes.h"

namespace bf_aot::system {

// Files that appear together or not at all: they are made in a hidden folder beside their
// destination, which is removed on errors and signals, and renamed when all are complete. What a
// killed process left is removed by the next one that stages in the same place.
class Staging {
 public:
  // Throws: BF3101 when `destination` is no folder that can be written to.
  explicit Staging(std::filesystem::path destination);
  ~Staging();
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  const std::filesystem::path& folder() const { return folder_; }

  // Throws: BF3102.
  void write(const std::string& name, std::string_view bytes) const;

  // Moves the named files to the destination. Throws: BF3102, BF3103.
  void publish(const std::vector<std::string>& names);

  // Moves the folder itself to destination/name, unless another process already has.
  void publish_folder(const std::string& name);

 private:
  CleanupPending pending_;  // first, so that it lives until all else is gone
  std::filesystem::path destination_;
  std::filesystem::path folder_;
  int lock_ = -1;  // the open folder, whose lock says that it is in use
};

// A file that a user asked for, made piece by piece: it appears whole or not at all. A device, a
// pipe or a redirected stream is written where it is, when all is there; a symbolic link stays, and
// its file is replaced. Nothing appears without publish(), nor stays where the process is killed,
// if the file system has files without a name; else Staging removes it later.
class OutputFile {
 public:
  // Throws: BF3101 to BF3103 nothing can be written there.
  explicit OutputFile(std::filesystem::path path);

  // Throws: BF3102.
  void write(std::string_view bytes);
  // Throws: BF3102, BF3103.
  void publish();

 private:
  CleanupPending pending_;             // the user learns what becomes of the file
  std::filesystem::path path_, file_;  // file_: behind links
  bool in_place_ = false;
  std::optional<Descriptor> nameless_;  // where the file system has files without a name
  std::optional<Staging> staging_;      // else
  std::filesystem::path made_;
  std::ofstream stream_;
};

// Writes a file of a folder that is the program's own. Throws: BF3102.
void write_file(const std::filesystem::path& path, std::string_view bytes);

// The file that a path names, behind symbolic links.
std::filesystem::path behind_links(std::filesystem::path path);

// Whether an output is written where it is, so that what is written stays: a device, a pipe, a
// redirected stream. Throws: BF3102, BF3103 nothing can be written there.
bool is_written_in_place(const std::filesystem::path& path);

// Writes an OutputFile at once. Throws: BF3101 to BF3103.
void publish_file(const std::filesystem::path& path, std::string_view bytes);

// Makes a folder and its parents. Throws: BF3101.
void make_folder(const std::filesystem::path& path);

// A folder that is removed again, with those above it that were made for it, where nothing was
// written to it: after a refusal.
class NewFolder {
 public:
  explicit NewFolder(const std::filesystem::path& path);  // throws: as make_folder()
  ~NewFolder();
  NewFolder(const NewFolder&) = delete;
  NewFolder& operator=(const NewFolder&) = delete;

 private:
  std::vector<std::filesystem::path> made_;  // the innermost first
};

}  // namespace bf_aot::system
