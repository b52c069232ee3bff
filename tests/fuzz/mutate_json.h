#pragma once

#include <string>
#include <string_view>

namespace bf_aot::test {

// The JSON text with numbers, values and keys replaced, dropped, repeated and nested. The brackets
// stay in pairs; numbers are of any length and size, as no parser would keep them.
std::string mutate_json(std::string_view text, unsigned seed);

}  // namespace bf_aot::test
