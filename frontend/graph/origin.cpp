#include "frontend/graph/origin.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string_view>

namespace bf_aot {
namespace {

std::string join_texts(const std::string& first, const std::string& second) {
  constexpr std::string_view kPlus = " + ";
  constexpr std::size_t kLongest = 1000;
  std::string result = first;
  const auto contains = [&](std::string_view part) {
    for (std::size_t at = result.find(part); at != std::string::npos;
         at = result.find(part, at + 1))
      if ((at == 0 || result.compare(at - std::min(at, kPlus.size()), kPlus.size(), kPlus) == 0) &&
          (at + part.size() == result.size() ||
           result.compare(at + part.size(), kPlus.size(), kPlus) == 0))
        return true;
    return false;
  };
  for (std::string_view rest = second; !rest.empty();) {
    const std::size_t end = std::min(rest.find(kPlus), rest.size());
    const std::string_view part = rest.substr(0, end);
    if (result.size() > kLongest) {
      if (!result.ends_with("...")) result += " + ...";
      break;
    }
    if (!contains(part)) {
      if (!result.empty()) result += kPlus;
      result += part;
    }
    rest.remove_prefix(std::min(end + kPlus.size(), rest.size()));
  }
  return result;
}

}  // namespace

Origin join_origins(const Origin& first, const Origin& second) {
  return join_origins(first, second, join_texts(first.text, second.text));
}

Origin join_origins(const Origin& first, const Origin& second, std::string text) {
  constexpr std::size_t kMost = 1000;
  Origin joined(std::move(text));
  std::ranges::set_union(first.nodes, second.nodes, std::back_inserter(joined.nodes));
  joined.complete = first.complete && second.complete && joined.nodes.size() <= kMost;
  if (joined.nodes.size() > kMost) joined.nodes.resize(kMost);
  return joined;
}

}  // namespace bf_aot
