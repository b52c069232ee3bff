#pragma once

#include <string_view>

namespace bf_aot::test {

// Reads the text as a property under small limits. Only CompileError may escape, and what is
// accepted must be well-formed: boxes in order, rows and conditions in range, compressible into
// tables. True: accepted.
bool try_property(std::string_view text);

}  // namespace bf_aot::test
