#pragma once

#include <string>
#include <vector>

#include "aot/build/compile.h"
#include "aot/emit/text/fill_in.h"

namespace bf_aot::artifacts {

// The text of CMakeLists.txt, which users change: nothing in it depends on the target.
std::string cmake_lists(const Plan& plan, const std::string& stem);

// The text of verifier.cmake, which CMakeLists.txt includes. flags: those of the compiler, for all
// sources.
std::string verifier_cmake(const build::Verifier& verifier, const std::string& stem,
                           const std::vector<std::string>& flags);

// The values of the keys of README.md's template that say how the project is built.
emit::Arguments readme_of_build(const build::Verifier& verifier, const std::string& stem,
                                const std::vector<std::string>& flags);

// Files for a machine that is not the user's: toolchain.cmake, and without an operating system
// board.h, board.c, console.c and board.ld. Empty when CMake's defaults serve. Throws: BF3205.
std::vector<emit::EmittedFile> machine_files(const Target& target);

}  // namespace bf_aot::artifacts
