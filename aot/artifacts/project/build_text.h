#pragma once

#include <string>
#include <vector>

#include "aot/build/compile.h"
#include "aot/emit/text/fill_in.h"

namespace bf_aot::artifacts {

// CMakeLists.txt. flags: of the compiler, for all sources.
std::string cmake_lists(const build::Verifier& verifier, const std::string& stem,
                        const std::vector<std::string>& flags);

// What README.md says of how the project is built: keys of its template.
emit::Arguments readme_of_build(const build::Verifier& verifier, const std::string& stem,
                                const std::vector<std::string>& flags);

// Files for a machine that is not the user's: toolchain.cmake, and without an operating system
// board.h, board.c, console.c and board.ld. Empty when CMake's defaults serve. Throws: BF3205.
std::vector<emit::EmittedFile> machine_files(const Target& target);

}  // namespace bf_aot::artifacts
