#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace bf_aot::artifacts {

using Arguments = std::vector<std::pair<std::string_view, std::string>>;

// The text with each @key@ replaced.
std::string fill(std::string_view text, const Arguments& arguments);

}  // namespace bf_aot::artifacts
