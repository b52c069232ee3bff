#pragma once

#include <string>
#include <string_view>

namespace bf_aot {

// A key that one object of a JSON text has twice, of which parsers take one without a word; empty:
// there is none. The text is JSON.
std::string repeated_key(std::string_view text);

}  // namespace bf_aot
