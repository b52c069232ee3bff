#pragma once

#include <string>
#include <vector>

#include "aot/build/compile.h"

namespace bf_aot::artifacts {

// Files by which other build systems of devices read a project: a Zephyr module; where the
// constants are in the source, also a PlatformIO and an Arduino library and the description of a
// CMSIS-Pack. They compile the same sources with the same flags, without those that name the
// machine. Empty where there is an operating system. The `suffix` of each file is its whole name.
std::vector<emit::EmittedFile> package_files(const build::Verifier& verifier,
                                             const std::string& stem,
                                             const std::vector<std::string>& flags);

}  // namespace bf_aot::artifacts
