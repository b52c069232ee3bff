#pragma once

#include <string>
#include <string_view>

namespace bf_aot::test {

// The text with whole s-expressions dropped, repeated, nested, swapped and replaced: parentheses
// stay in pairs, so that many texts still mean something. Texts whose parentheses are in no pairs
// are taken as far as they go.
std::string mutate_property(std::string_view text, unsigned seed);

}  // namespace bf_aot::test
