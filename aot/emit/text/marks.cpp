#include "aot/emit/text/marks.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "frontend/diagnostic.h"

namespace bf_aot::emit {
namespace {

constexpr std::string_view kMark = "//@ ";
constexpr std::string_view kEnd = "end";

struct Open {
  std::string what;
  int before = 0;  // lines
};

std::string_view without_indent(std::string_view line) {
  return line.substr(std::min(line.find_first_not_of(' '), line.size()));
}

}  // namespace

std::string begin_mark(std::string_view what) {
  BF_CHECK(what != kEnd);
  return std::string(kMark).append(what);
}

std::string end_mark() {
  return std::string(kMark).append(kEnd);
}

std::string marked(bool wanted, std::string_view what, const std::string& text) {
  return wanted ? begin_mark(what) + "\n" + text + end_mark() + "\n" : text;
}

std::vector<MarkedLines> take_marks(std::string& text) {
  std::string kept;
  std::vector<bool> empty = {true};  // of each line that is kept, from 1
  std::vector<Open> open;
  std::vector<MarkedLines> marked;
  const auto lines = [&] { return static_cast<int>(empty.size()) - 1; };
  const auto is_empty = [&](int line) { return empty[static_cast<std::size_t>(line)]; };
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size() - 1) + 1;
    const std::string_view line(text.data() + begin, end - begin);
    begin = end;
    std::string_view words = without_indent(line);
    if (!words.starts_with(kMark)) {
      kept += line;
      empty.push_back(words == "\n");
      continue;
    }
    words.remove_prefix(kMark.size());
    words = words.substr(0, words.find('\n'));
    if (words != kEnd) {
      open.push_back({std::string(words), lines()});
      continue;
    }
    BF_CHECK(!open.empty());
    int first = open.back().before + 1, last = lines();
    while (first <= last && is_empty(first)) ++first;
    while (last >= first && is_empty(last)) --last;
    if (first <= last) marked.push_back({std::move(open.back().what), first, last});
    open.pop_back();
  }
  BF_CHECK(open.empty());
  text = std::move(kept);
  return marked;
}

}  // namespace bf_aot::emit
