#pragma once

#include <string>
#include <vector>

#include "aot/build/compile.h"

namespace bf_aot::build {

// Makes the verifier one source and one header, which include nothing but the standard library's
// headers: what they need of the runtime is in them, each header once, after those that it
// includes. Several such verifiers may be linked into one program. The manifest stays as it was.
// Not for verifiers with code for several levels. Throws: BF3105 where the constants are in an
// assembler file.
std::vector<emit::EmittedFile> single_file(const Verifier& verifier, const std::string& stem);

}  // namespace bf_aot::build
