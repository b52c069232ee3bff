#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "aot/build/compile.h"
#include "aot/build/footprint/footprint.h"

namespace bf_aot::build {

/// The version of the manifest's form: it changes when a key is renamed, removed or means another
/// thing (docs/reference/versions.md).
inline constexpr int kManifestFormat = 1;

// States how a library was made, and how many bytes it takes.
struct BuildRecord {
  const Toolchain* toolchain = nullptr;  // null: no compiler has seen the files
  std::optional<std::int64_t> code;      // code_bytes()
  std::optional<Footprint> footprint;
};

// The text of the verifier's manifest <stem><suffix>: the plan, what its calls cost, its property,
// and the build record. Of a verifier of several levels ".json" lists those of the levels.
std::string manifest_text(const Verifier& verifier, const std::string& stem,
                          const std::string& suffix, const BuildRecord& record);

}  // namespace bf_aot::build
