#include "aot/emit/text/fill_in.h"

#include <algorithm>

#include "frontend/diagnostic.h"

namespace bf_aot::emit {

std::string fill_in(std::string_view text, const Arguments& arguments, const Arguments& names) {
  std::vector<bool> used(arguments.size(), false);
  const auto value_of = [&](std::string_view key) -> const std::string& {
    const auto own = std::ranges::find(arguments, key, &Argument::key);
    if (own != arguments.end()) {
      used[static_cast<std::size_t>(own - arguments.begin())] = true;
      return own->value;
    }
    const auto shared = std::ranges::find(names, key, &Argument::key);
    BF_CHECK(shared != names.end());
    return shared->value;
  };
  std::string result;
  for (std::size_t begin = text.find('@'); begin != std::string_view::npos;
       begin = text.find('@')) {
    const std::size_t end = text.find('@', begin + 1);
    BF_CHECK(end != std::string_view::npos);
    result += text.substr(0, begin);
    result += value_of(text.substr(begin + 1, end - begin - 1));
    text.remove_prefix(end + 1);
  }
  BF_CHECK(std::ranges::all_of(used, [](bool each) { return each; }));
  return result.append(text);
}

}  // namespace bf_aot::emit
