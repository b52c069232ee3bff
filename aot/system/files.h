#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "aot/system/interrupt.h"

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

// Writes a file. Throws: BF3102.
void write_file(const std::filesystem::path& path, std::string_view bytes);

// Writes a file that appears whole or not at all. Throws: BF3101 to BF3103.
void publish_file(const std::filesystem::path& path, std::string_view bytes);

// Makes a folder and its parents. Throws: BF3101.
void make_folder(const std::filesystem::path& path);

}  // namespace bf_aot::system
