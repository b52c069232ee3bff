#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "aot/build/runtime_files.h"
#include "planner/plan/plan.h"

namespace bf_aot::artifacts {

// The parts of a verifier that a bill of materials lists.
struct Bill {
  std::filesystem::path folder;
  std::vector<std::string> files;  // written into the folder
  std::vector<build::RuntimeFile>
      runtime;                 // what they need of the runtime, where that lies elsewhere
  bool holds_runtime = false;  // the files hold the runtime's text or code
  std::string compiler;        // empty: none was run
};

// The verifier's own files, read. Throws: BF1001 when one has gone.
std::vector<build::RuntimeFile> files_of(const Bill& bill);

// The time that bills state, in UTC: that of SOURCE_DATE_EPOCH, or the epoch's own.
std::string bill_time();

// A bill of materials as JSON, see docs/reference/sbom.md: in CycloneDX 1.6 where the name of its
// file ends in ".cdx.json", else in SPDX 2.3. Deterministic. Throws: as files_of().
std::string sbom_text(const std::filesystem::path& file, const Plan& plan, const Bill& bill);
std::string spdx_text(const Plan& plan, const Bill& bill);
std::string cyclonedx_text(const Plan& plan, const Bill& bill);

inline constexpr const char* kRuntimeLicence = "0BSD";
inline constexpr const char* kToolLicence = "Apache-2.0";
inline constexpr const char* kConstantsLicence =
    "The code is 0BSD. Its constants are the model's, whose licence bf-aot does not know.";

}  // namespace bf_aot::artifacts
