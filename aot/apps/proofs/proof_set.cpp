#include "aot/apps/proofs/proof_set.h"

#include <zip.h>

#include <memory>
#include <set>
#include <string>
#include <system_error>
#include <utility>

#include "aot/prove/proof_file.h"
#include "frontend/diagnostic.h"
#include "frontend/graph/model.h"
#include "frontend/sha256.h"

namespace bf_aot::apps {
namespace {

namespace fs = std::filesystem;

constexpr char kManifest[] = "manifest.json";
constexpr time_t kZipTime = 315532800;  // 1980-01-01, the first of the format

// Adds a file, which is read when the archive is closed. Returns whether it succeeded.
bool add(zip_t* archive, const fs::path& file) {
  zip_source_t* const source = zip_source_file(archive, file.c_str(), 0, -1);
  const zip_int64_t index =
      source == nullptr ? -1
                        : zip_file_add(archive, file.filename().c_str(), source, ZIP_FL_ENC_UTF_8);
  if (index < 0) {
    zip_source_free(source);
    return false;
  }
  return zip_file_set_mtime(archive, static_cast<zip_uint64_t>(index), kZipTime, 0) == 0;
}

// Puts the files of a folder into an archive: the same bytes for the same files. Throws: BF3102.
void pack(const fs::path& folder, const fs::path& path) {
  int code = 0;
  zip_t* const archive = zip_open(path.c_str(), ZIP_CREATE | ZIP_TRUNCATE, &code);
  if (archive == nullptr) fail("BF3102", path.string(), "cannot write an archive");
  std::set<fs::path> files;
  for (const fs::directory_entry& each : fs::directory_iterator(folder)) files.insert(each.path());
  bool is_written = true;
  for (const fs::path& file : files) is_written = is_written && add(archive, file);
  if (is_written && zip_close(archive) == 0) return;
  const std::string why = zip_strerror(archive);
  zip_discard(archive);
  fail("BF3102", path.string(), "cannot write: " + why, "check the free space");
}

}  // namespace

ProofSet::ProofSet(const fs::path& to) : folder_(to) {
  if (to.extension() == ".zip") {
    archive_ = to;
    staging_.emplace(to.parent_path());
    folder_ = staging_->folder() / "set";
  }
  system::make_folder(folder_);
}

void ProofSet::publish(const nlohmann::ordered_json& manifest) {
  system::publish_file(folder_ / kManifest, manifest.dump(1) + "\n");
  if (!staging_) return;
  pack(folder_, staging_->folder() / archive_.filename());
  staging_->publish({archive_.filename().string()});
}

nlohmann::ordered_json named_digest(const fs::path& file) {
  nlohmann::ordered_json json = {{"file", printable(file.filename().string())},
                                 {"sha256", nullptr}};
  std::error_code error;
  if (!fs::is_directory(file, error)) json["sha256"] = sha256(prove::bytes_of(file));
  return json;
}

void add_files(nlohmann::ordered_json& answer, const std::string& name, bool has_certificate) {
  for (const auto& [key, end] : {std::pair("property", ".vnnlib"), {"certificate", ".bfc"}}) {
    answer[key] = nullptr;
    if (has_certificate) answer[key] = name + end;
  }
}

}  // namespace bf_aot::apps
