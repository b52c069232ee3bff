#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "aot/compile/compile.h"
#include "aot/host/library.h"

namespace bf_aot::cli {

// What a project needs besides the verifier's files: copies of those of the runtime that it
// includes, example.c, CMakeLists.txt and
// README.md. `suffix` holds the whole file name. With a toolchain, README.md states the sizes of
// the library in `staging`, where it has been built.
std::vector<EmittedFile> project_files(const Verifier& verifier, const std::string& stem,
                                       const Toolchain* toolchain,
                                       const std::filesystem::path& staging);

}  // namespace bf_aot::cli
