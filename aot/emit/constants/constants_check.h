#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "aot/emit/text/emitted_file.h"

namespace bf_aot::emit {

// Adds NAME_constants_crc32() to the source of a verifier, and its value, NAME_CONSTANTS_CRC32, to
// the header: a CRC-32 of all arrays of numbers that the files define, in the order in which they
// are printed, and of the weights in an object file. What becomes part of the code, as single
// constants and shapes do, is not in it. files: of a verifier in C++, not wrapped.
void add_constants_check(std::vector<EmittedFile>& files, std::string_view name);

}  // namespace bf_aot::emit
