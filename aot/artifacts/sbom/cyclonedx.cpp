#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string_view>

#include "aot/artifacts/sbom/sbom.h"
#include "aot/artifacts/sbom/sha1.h"
#include "aot/emit/text/banner.h"
#include "frontend/sha256.h"
#include "runtime/bf.h"

namespace bf_aot::artifacts {
namespace {

using Bom = nlohmann::ordered_json;

Bom hash(const char* algorithm, const std::string& content) {
  return {{"alg", algorithm}, {"content", content}};
}

Bom licences(const char* identifier) {
  return Bom::array({{{"license", {{"id", identifier}}}}});
}

// A part with the name by which others refer to it.
Bom part(const char* type, const std::string& reference, const std::string& name) {
  return {{"type", type}, {"bom-ref", reference}, {"name", name}};
}

Bom file_parts(const std::string& owner, const std::vector<build::RuntimeFile>& files) {
  Bom parts = Bom::array();
  for (const build::RuntimeFile& file : files) {
    Bom each = part("file", owner + "/" + file.path, file.path);
    each["hashes"] = {hash("SHA-1", sha1(file.text)), hash("SHA-256", sha256(file.text))};
    parts.push_back(std::move(each));
  }
  return parts;
}

Bom model_part(const Plan& plan) {
  Bom model = part("machine-learning-model", "model", plan.model.file_name);
  if (!plan.model.producer.empty()) model["version"] = plan.model.producer;
  model["hashes"] = {hash("SHA-256", plan.model.sha256)};
  return model;
}

Bom runtime_part(const Bill& bill) {
  Bom runtime = part("library", "runtime", "bf-aot runtime");
  runtime["version"] = BF_VERSION_STRING;
  runtime["licenses"] = licences(kRuntimeLicence);
  runtime["components"] = file_parts("runtime", bill.runtime);
  return runtime;
}

// The verifier, which was made from the model. Its files hold the runtime's code, or include it.
Bom verifier_part(const Plan& plan, const Bill& bill) {
  Bom verifier = part("library", "verifier", plan.name);
  verifier["version"] = plan.model.sha256;
  verifier["description"] = kConstantsLicence;
  verifier["pedigree"] = {{"ancestors", Bom::array({model_part(plan)})}};
  Bom parts = file_parts("verifier", files_of(bill));
  if (bill.holds_runtime && !bill.runtime.empty()) parts.push_back(runtime_part(bill));
  verifier["components"] = std::move(parts);
  return verifier;
}

Bom tool_parts(const Bill& bill) {
  Bom tool = part("application", "bf-aot", "bf-aot");
  tool["version"] = emit::version_text();
  tool["licenses"] = licences(kToolLicence);
  Bom parts = Bom::array({std::move(tool)});
  if (bill.compiler.empty()) return parts;
  Bom compiler = part("application", "compiler", "C++ compiler");
  compiler["version"] = bill.compiler;
  parts.push_back(std::move(compiler));
  return parts;
}

// An identifier in the form of a UUID, of version 8: its digits are those of a digest.
std::string uuid_of(const std::string& digest) {
  const std::string_view hex = digest;
  return fmt::format("{}-{}-8{}-8{}-{}", hex.substr(0, 8), hex.substr(8, 4), hex.substr(13, 3),
                     hex.substr(17, 3), hex.substr(20, 12));
}

}  // namespace

std::string cyclonedx_text(const Plan& plan, const Bill& bill) {
  const bool elsewhere = !bill.runtime.empty() && !bill.holds_runtime;
  Bom metadata = {{"timestamp", bill_time()},
                  {"lifecycles", Bom::array({{{"phase", "build"}}})},
                  {"tools", {{"components", tool_parts(bill)}}},
                  {"component", verifier_part(plan, bill)}};
  Bom body = {{"components", Bom::array()}, {"dependencies", Bom::array()}};
  if (elsewhere) {
    body["components"].push_back(runtime_part(bill));
    body["dependencies"].push_back({{"ref", "verifier"}, {"dependsOn", {"runtime"}}});
  }
  Bom named = metadata;
  named.erase("timestamp");
  Bom bom = {{"$schema", "http://cyclonedx.org/schema/bom-1.6.schema.json"},
             {"bomFormat", "CycloneDX"},
             {"specVersion", "1.6"},
             {"serialNumber", "urn:uuid:" + uuid_of(sha256(named.dump() + body.dump()))},
             {"version", 1},
             {"metadata", std::move(metadata)}};
  bom.update(body);
  return bom.dump(2) + "\n";
}

}  // namespace bf_aot::artifacts
