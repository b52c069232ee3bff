#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "aot/artifacts/sbom/sbom.h"
#include "aot/artifacts/sbom/sha1.h"
#include "aot/emit/text/banner.h"
#include "frontend/sha256.h"
#include "runtime/bf.h"

namespace bf_aot::artifacts {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kUnknown = "NOASSERTION";
constexpr const char* kVerifierId = "SPDXRef-verifier";
constexpr const char* kRuntimeId = "SPDXRef-runtime";
constexpr const char* kModelId = "SPDXRef-model";
constexpr const char* kToolId = "SPDXRef-bf-aot";
constexpr const char* kCompilerId = "SPDXRef-compiler";

std::string file_type(const std::string& path) {
  if (path.ends_with(".a")) return "ARCHIVE";
  if (path.ends_with(".bin")) return "BINARY";
  return path.ends_with(".json") || path.ends_with(".md") ? "TEXT" : "SOURCE";
}

Json checksum(const char* algorithm, const std::string& value) {
  return {{"algorithm", algorithm}, {"checksumValue", value}};
}

Json file_json(const build::RuntimeFile& file, const std::string& id, const char* licence) {
  return {{"SPDXID", id},
          {"fileName", "./" + file.path},
          {"fileTypes", {file_type(file.path)}},
          {"checksums", {checksum("SHA1", sha1(file.text)), checksum("SHA256", sha256(file.text))}},
          {"licenseConcluded", licence},
          {"licenseInfoInFiles", {kUnknown}},
          {"copyrightText", kUnknown}};
}

// SHA-1 of the files' SHA-1, sorted (SPDX 2.3, section 7.9).
std::string verification_code(const std::vector<build::RuntimeFile>& files) {
  std::vector<std::string> digests;
  for (const build::RuntimeFile& file : files) digests.push_back(sha1(file.text));
  std::ranges::sort(digests);
  std::string text;
  for (const std::string& digest : digests) text += digest;
  return sha1(text);
}

Json package_json(const char* id, const std::string& name, const std::string& version,
                  const char* licence) {
  return {{"SPDXID", id},
          {"name", name},
          {"versionInfo", version},
          {"downloadLocation", kUnknown},
          {"filesAnalyzed", false},
          {"licenseConcluded", licence},
          {"licenseDeclared", licence},
          {"copyrightText", kUnknown}};
}

Json with_files(Json package, const std::vector<build::RuntimeFile>& files) {
  package["filesAnalyzed"] = true;
  package["packageVerificationCode"] = {{"packageVerificationCodeValue", verification_code(files)}};
  package["licenseInfoFromFiles"] = {kUnknown};
  return package;
}

class Document {
 public:
  Document(const Plan& plan, const Bill& bill) : plan_(plan), bill_(bill) {
    relate("SPDXRef-DOCUMENT", "DESCRIBES", kVerifierId);
    add_verifier();
    if (!bill.runtime.empty()) add_runtime();
    add_model();
    packages_.push_back(package_json(kToolId, "bf-aot", emit::version_text(), kToolLicence));
    relate(kToolId, "BUILD_TOOL_OF", kVerifierId);
    if (bill.compiler.empty()) return;
    packages_.push_back(package_json(kCompilerId, "C++ compiler", bill.compiler, kUnknown));
    relate(kCompilerId, "BUILD_TOOL_OF", kVerifierId);
  }

  std::string text() const {
    const Json body = {
        {"packages", packages_}, {"files", files_}, {"relationships", relationships_}};
    Json json = {{"spdxVersion", "SPDX-2.3"},
                 {"dataLicense", "CC0-1.0"},
                 {"SPDXID", "SPDXRef-DOCUMENT"},
                 {"name", plan_.name},
                 {"documentNamespace", "urn:bf-aot:sbom:" + sha256(body.dump())},
                 {"creationInfo",
                  {{"created", bill_time()}, {"creators", {"Tool: bf-aot-" BF_VERSION_STRING}}}}};
    json.update(body);
    return json.dump(2) + "\n";
  }

 private:
  void relate(const std::string& from, const char* how, const std::string& to) {
    relationships_.push_back(
        {{"spdxElementId", from}, {"relationshipType", how}, {"relatedSpdxElement", to}});
  }

  void add_files(const char* package, const std::vector<build::RuntimeFile>& files,
                 const char* licence) {
    for (const build::RuntimeFile& file : files) {
      const std::string id = fmt::format("SPDXRef-file-{}", files_.size() + 1);
      files_.push_back(file_json(file, id, licence));
      relate(package, "CONTAINS", id);
    }
  }

  void add_verifier() {
    const std::vector<build::RuntimeFile> files = files_of(bill_);
    Json package =
        with_files(package_json(kVerifierId, plan_.name, plan_.model.sha256, kUnknown), files);
    package["licenseComments"] = kConstantsLicence;
    packages_.push_back(std::move(package));
    add_files(kVerifierId, files, kUnknown);
  }

  void add_runtime() {
    packages_.push_back(
        with_files(package_json(kRuntimeId, "bf-aot runtime", BF_VERSION_STRING, kRuntimeLicence),
                   bill_.runtime));
    add_files(kRuntimeId, bill_.runtime, kRuntimeLicence);
    relate(kVerifierId, bill_.holds_runtime ? "CONTAINS" : "DEPENDS_ON", kRuntimeId);
  }

  void add_model() {
    Json model = package_json(kModelId, plan_.model.file_name, plan_.model.producer, kUnknown);
    if (plan_.model.producer.empty()) model.erase("versionInfo");
    model["checksums"] = {checksum("SHA256", plan_.model.sha256)};
    packages_.push_back(std::move(model));
    relate(kVerifierId, "GENERATED_FROM", kModelId);
  }

  const Plan& plan_;
  const Bill& bill_;
  Json packages_ = Json::array(), files_ = Json::array(), relationships_ = Json::array();
};

}  // namespace

std::string spdx_text(const Plan& plan, const Bill& bill) {
  return Document(plan, bill).text();
}

}  // namespace bf_aot::artifacts
