#pragma once

#include <string>
#include <vector>

#include "aot/build/compile.h"

namespace bf_aot::artifacts {

// What other build systems of devices read of a project: a Zephyr module; where the constants are
// in the source, also a PlatformIO and an Arduino library and the description of a CMSIS-Pack. They
// compile the same sources with the same flags, as far as these do not name the machine. Empty
// where there is an operating system. `suffix` holds the whole file name.
std::vector<emit::EmittedFile> package_files(const build::Verifier& verifier,
                                             const std::string& stem,
                                             const std::vector<std::string>& flags);

}  // namespace bf_aot::artifacts
