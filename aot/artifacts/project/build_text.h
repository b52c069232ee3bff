#pragma once

#include <string>
#include <vector>

#include "aot/artifacts/project/fill.h"
#include "aot/build/compile.h"

namespace bf_aot::artifacts {

// What the texts of a project say of how it is built; keys of project_text.h.
// flags: of the compiler, for all sources.
Arguments build_arguments(const build::Verifier& verifier, const std::string& stem,
                          const std::vector<std::string>& flags);

// Files for a machine that is not the user's: toolchain.cmake, and without an operating system
// board.h, board.c, console.c and board.ld. Empty when CMake's defaults serve. Throws: BF3205.
std::vector<emit::EmittedFile> machine_files(const Target& target);

}  // namespace bf_aot::artifacts
