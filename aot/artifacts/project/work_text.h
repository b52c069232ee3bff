#pragma once

#include <string>

#include "aot/build/compile.h"

namespace bf_aot::artifacts {

// Tables of README.md: of each entry point that a caller may time, the operations, the calls and
// the turns of loops, at most.
std::string work_text(const build::Verifier& verifier);

}  // namespace bf_aot::artifacts
