#include "aot/text/wrap.h"

#include <array>
#include <string_view>

namespace bf_aot {
namespace {

constexpr std::size_t kColumns = 100;

// Whether a line may be broken before `position`, which follows a space: after a comma, or before
// an operator.
bool can_break(std::string_view line, std::size_t position) {
  constexpr std::array<std::string_view, 8> kOperators = {"+ ",  "- ",  "* ", "& ",
                                                          "&& ", "|| ", "? ", ": "};
  if (line[position - 1] != ' ') return false;
  if (line[position - 2] == ',') return true;
  for (const std::string_view symbol : kOperators)
    if (line.substr(position).starts_with(symbol)) return true;
  return false;
}

// The best place to break: of the lowest nesting, the last that fits. Where none does, before the
// arguments of the outermost call, else the first place behind the margin. 0: none.
std::size_t break_position(std::string_view line, std::size_t indent) {
  std::size_t best = 0, arguments = 0;
  int best_depth = 0, arguments_depth = 0;
  int depth = 0;
  for (std::size_t i = indent; i < line.size(); ++i) {
    if (line[i] == '(' || line[i] == '{' || line[i] == '<') ++depth;
    if (line[i] == ')' || line[i] == '}' || line[i] == '>') --depth;
    if (i > kColumns) {
      if (best != 0 || arguments != 0) break;
      if (can_break(line, i)) return i;
      continue;
    }
    if (i < indent + 20) continue;
    if (can_break(line, i) && (best == 0 || depth <= best_depth)) {
      best = i;
      best_depth = depth;
    }
    if (line[i - 1] == '(' && line[i] != ')' && (arguments == 0 || depth < arguments_depth)) {
      arguments = i;
      arguments_depth = depth;
    }
  }
  return best != 0 ? best : arguments;
}

std::string wrap_line(std::string line) {
  const std::size_t indent = line.find_first_not_of(' ');
  if (indent == std::string::npos || line[indent] == '#' || line[indent] == '/') return line + "\n";
  std::string text;
  std::size_t margin = indent;
  while (line.size() > kColumns && line.find("//") == std::string::npos) {
    const std::size_t position = break_position(line, margin);
    if (position == 0) break;
    text += line.substr(0, line[position - 1] == ' ' ? position - 1 : position) + "\n";
    margin = indent + 4;
    line = std::string(margin, ' ') + line.substr(position);
  }
  return text + line + "\n";
}

}  // namespace

std::string wrap_lines(const std::string& text) {
  std::string wrapped;
  std::size_t at = 0;
  while (at < text.size()) {
    std::size_t end = text.find('\n', at);
    if (end == std::string::npos) end = text.size();
    wrapped += wrap_line(text.substr(at, end - at));
    at = end + 1;
  }
  return wrapped;
}

}  // namespace bf_aot
