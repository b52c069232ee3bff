#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "aot/system/files.h"

namespace bf_aot::apps {

// Certificates of many answers: for each NAME.vnnlib, what is proven, and NAME.bfc; and
// manifest.json, which says what they are about. In a folder, or in an archive, whose name ends in
// ".zip", and which appears whole or not at all.
class ProofSet {
 public:
  // Throws: BF3101.
  explicit ProofSet(const std::filesystem::path& to);

  // Where the files of the set are written.
  const std::filesystem::path& folder() const { return folder_; }

  // Writes manifest.json, and the archive. Throws: BF3101 to BF3103.
  void publish(const nlohmann::ordered_json& manifest);

 private:
  std::optional<system::Staging> staging_;  // of an archive
  std::filesystem::path folder_, archive_;
};

// Returns {"file": name, "sha256": of its bytes, expanded}; of a folder the digest is null. Throws:
// BF3022.
nlohmann::ordered_json named_digest(const std::filesystem::path& file);

// Adds to an answer of the manifest the names of its files; none where it has no certificate.
void add_files(nlohmann::ordered_json& answer, const std::string& name, bool has_certificate);

}  // namespace bf_aot::apps
