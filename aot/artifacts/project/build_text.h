#pragma once

#include <string>
#include <vector>

#include "aot/artifacts/project/fill.h"
#include "aot/build/compile.h"

namespace bf_aot::artifacts {

// Values for the keys of project_text.h that say how a project is built. flags: those that the
// compiler takes for all sources.
Arguments build_arguments(const build::Verifier& verifier, const std::string& stem,
                          const std::vector<std::string>& flags);

// Files for a machine that is not the user's: toolchain.cmake, and without an operating system
// board.h, board.c, console.c and board.ld. Empty when CMake's defaults serve. Throws: BF3205.
std::vector<emit::EmittedFile> machine_files(const Target& target);

}  // namespace bf_aot::artifacts
