#include "aot/artifacts/project/fill.h"

#include <algorithm>

#include "frontend/diagnostic.h"

namespace bf_aot::artifacts {

std::string fill(std::string_view text, const Arguments& arguments) {
  std::string result;
  while (true) {
    const std::size_t begin = text.find('@');
    result += text.substr(0, begin);
    if (begin == std::string_view::npos) return result;
    const std::size_t end = text.find('@', begin + 1);
    BF_CHECK(end != std::string_view::npos);
    const std::string_view key = text.substr(begin + 1, end - begin - 1);
    const auto found = std::find_if(arguments.begin(), arguments.end(),
                                    [key](const auto& argument) { return argument.first == key; });
    BF_CHECK(found != arguments.end());
    result += found->second;
    text.remove_prefix(end + 1);
  }
}

}  // namespace bf_aot::artifacts
