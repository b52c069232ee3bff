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

// A bill of materials in SPDX 2.3 as JSON, see docs/reference/sbom.md. Deterministic: its time is
// that of SOURCE_DATE_EPOCH, or the epoch's own. Throws: BF1001 when a file has gone.
std::string sbom_text(const Plan& plan, const Bill& bill);

}  // namespace bf_aot::artifacts
