#include "tests/fuzz/mutate_json.h"

#include <algorithm>
#include <cstddef>
#include <random>
#include <utility>
#include <vector>

namespace bf_aot::test {
namespace {

using Range = std::pair<std::size_t, std::size_t>;  // first byte, length

// Where each value of an array, each member of an object and each scalar stands.
class Values {
 public:
  explicit Values(std::string_view text) : text_(text) { find(); }

  std::vector<Range> all;

 private:
  void find() {
    std::vector<std::size_t> open;
    std::size_t at = 0;
    while (at < text_.size()) {
      const char c = text_[at];
      if (c == '[' || c == '{') {
        open.push_back(at++);
      } else if (c == ']' || c == '}') {
        ++at;
        if (open.empty()) continue;
        all.emplace_back(open.back(), at - open.back());
        open.pop_back();
      } else if (c == '"') {
        const std::size_t first = at++;
        while (at < text_.size() && text_[at] != '"') at += text_[at] == '\\' ? 2 : 1;
        at = std::min(at + 1, text_.size());
        all.emplace_back(first, at - first);
      } else if (std::string_view(",: \t\r\n").find(c) != std::string_view::npos) {
        ++at;
      } else {
        const std::size_t end = std::min(text_.find_first_of("[]{},: \t\r\n\"", at), text_.size());
        all.emplace_back(at, end - at);
        at = end;
      }
    }
  }

  std::string_view text_;
};

}  // namespace

std::string mutate_json(std::string_view text, unsigned seed) {
  std::mt19937 random(seed);
  const auto below = [&](std::size_t limit) { return limit == 0 ? 0 : random() % limit; };
  static const char* const kScalars[] = {"0",
                                         "-0",
                                         "-1",
                                         "1e400",
                                         "-1e400",
                                         "1e-400",
                                         "1e99999999999",
                                         "0.1",
                                         "3.4028236e38",
                                         "1e39",
                                         "0.99999999999999999999999999",
                                         "9007199254740993",
                                         "18446744073709551616",
                                         "true",
                                         "false",
                                         "null",
                                         "\"\"",
                                         "\"crown\"",
                                         "\"1\"",
                                         "[]",
                                         "{}",
                                         "[[]]",
                                         "{\"lower\": [0]}",
                                         "1e",
                                         "01"};
  std::string made(text);
  for (std::size_t count = 1 + below(4); count > 0; --count) {
    const std::vector<Range> values = Values(made).all;
    if (values.empty()) break;
    const auto [first, length] = values[below(values.size())];
    const auto [other_first, other_length] = values[below(values.size())];
    const std::string value = made.substr(first, length);
    switch (below(6)) {
      case 0: {  // with the comma behind it, if there is one
        const bool comma = first + length < made.size() && made[first + length] == ',';
        made.erase(first, length + (comma ? 1 : 0));
        break;
      }
      case 1:
        made.insert(first, value + ", ");
        break;
      case 2:
        made.replace(first, length, made.substr(other_first, other_length));
        break;
      case 3:
        made.replace(first, length, std::string(1 + below(40), '[') + value);
        made += std::string(below(40), ']');
        break;
      case 4:
        made.replace(first, length,
                     "0." + std::string(1 + below(2500), static_cast<char>('0' + below(10))));
        break;
      default:
        made.replace(first, length, kScalars[below(std::size(kScalars))]);
    }
    if (made.size() > (std::size_t{1} << 16)) break;
  }
  return made;
}

}  // namespace bf_aot::test
