#pragma once

#include <optional>
#include <string>
#include <vector>

#include "aot/artifacts/project/vectors.h"
#include "aot/build/compile.h"
#include "aot/build/footprint/footprint.h"

namespace bf_aot::artifacts {

// The files of a project besides the verifier's own: copies of the runtime's headers that these
// include, example.c, a self-test of the vectors, golden.json, CMakeLists.txt, README.md, and
// start-up code where the target is a board. The `suffix` of each file is its whole name. flags:
// those that the library is compiled with, now and by the project. Without a footprint, README.md
// states the planner's figures.
std::vector<emit::EmittedFile> project_files(const build::Verifier& verifier,
                                             const std::string& stem,
                                             const std::vector<std::string>& flags,
                                             const build::Toolchain* toolchain,
                                             const std::optional<build::Footprint>& footprint,
                                             const Vectors& vectors);

}  // namespace bf_aot::artifacts
