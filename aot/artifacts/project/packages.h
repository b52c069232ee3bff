#pragma once

#include <string>
#include <vector>

#include "aot/build/compile.h"

namespace bf_aot::artifacts {

// Returns whether a project is for devices, whose build systems read package_files(): targets
// without an operating system, and the generic one, which is for any processor.
bool has_packages(const Target& target);

// Files by which other build systems of devices read a project: a component of ESP-IDF and a Zephyr
// module; where the constants are in the source, also a PlatformIO and an Arduino library and the
// description of a CMSIS-Pack. They compile the same sources with the same flags, without those
// that name the machine. The `suffix` of each file is its whole name.
std::vector<emit::EmittedFile> package_files(const build::Verifier& verifier,
                                             const std::string& stem,
                                             const std::vector<std::string>& flags);

}  // namespace bf_aot::artifacts
