#include "aot/emit/text/wrap.h"

#include <algorithm>
#include <string_view>
#include <vector>

namespace bf_aot::emit {
namespace {

constexpr std::size_t kContinuation = 4;

// A place where a line of code may be broken: behind `position` characters, of which a space at the
// end is left out.
struct Break {
  std::size_t position = 0;
  std::size_t margin = 0;  // of what follows
  int rank = 0;            // nesting, the deeper the worse
};

bool is_template_bracket(std::string_view line, std::size_t i) {
  if (line[i] == '<') return i + 1 < line.size() && line[i + 1] != ' ' && line[i + 1] != '=';
  return i > 0 && line[i - 1] != ' ' && line[i - 1] != '-';
}

bool opens(std::string_view line, std::size_t i) {
  return line[i] == '(' || line[i] == '{' || line[i] == '[' ||
         (line[i] == '<' && is_template_bracket(line, i));
}

bool closes(std::string_view line, std::size_t i) {
  return line[i] == ')' || line[i] == '}' || line[i] == ']' ||
         (line[i] == '>' && is_template_bracket(line, i));
}

// Returns whether a binary operator, or the question mark or colon of a condition, ends before `i`.
bool follows_operator(std::string_view line, std::size_t i) {
  constexpr std::string_view kOperators[] = {" + ",  " - ",  " * ", " / ",  " & ", " && ",
                                             " || ", " == ", " ? ", " <= ", " < ", " > "};
  for (const std::string_view symbol : kOperators)
    if (line.substr(0, i).ends_with(symbol)) return true;
  return false;
}

// The end of "if (condition) ", after which a statement of its own may stand; 0: there is none.
std::size_t end_of_condition(std::string_view line, std::size_t indent) {
  if (!line.substr(indent).starts_with("if (")) return 0;
  int depth = 0;
  for (std::size_t i = indent; i < line.size(); ++i) {
    if (line[i] == '(') ++depth;
    if (line[i] == ')' && --depth == 0)
      return i + 2 < line.size() && line[i + 2] != '{' ? i + 2 : 0;
  }
  return 0;
}

// A bracket: what it holds begins at `begin`; aligns: its longest element fits there.
struct Bracket {
  std::size_t begin = 0;
  bool aligns = true;
};

Bracket bracket_at(std::string_view line, std::size_t begin) {
  int depth = 0;
  std::size_t element = begin, longest = 0, i = begin;
  for (; i < line.size() && depth >= 0; ++i) {
    if (closes(line, i)) --depth;
    if (opens(line, i)) ++depth;
    if (depth == 0 && line[i] == ',') {
      longest = std::max(longest, i + 1 - element);
      element = i + 2;
    }
  }
  const std::size_t behind = line.size() - i < 4 ? line.size() : i;  // ");", ") {"
  longest = std::max(longest, behind - std::min(element, behind));
  return {begin, begin + longest <= kColumns};
}

// All breaks of a line that leave a first part that fits, or the first break where none does.
// Strings are not broken. `margin`: of what follows a break outside of brackets.
std::vector<Break> breaks_of(std::string_view line, std::size_t from, std::size_t margin) {
  std::vector<Break> found;
  std::vector<Bracket> open;
  bool quoted = false;
  for (std::size_t i = from; i < line.size(); ++i) {
    if (i > kColumns && !found.empty()) break;
    if (line[i] == '"') quoted = !quoted;
    if (quoted && line[i] != '"') continue;
    const int depth = static_cast<int>(open.size());
    const bool after_comma = i >= 2 && line[i - 1] == ' ' && line[i - 2] == ',';
    if (i > from && (after_comma || follows_operator(line, i))) {
      const bool aligned = !open.empty() && open.back().aligns;
      const int unaligned = open.empty() || aligned ? 0 : 4;
      found.push_back(
          {i, aligned ? open.back().begin : margin, 2 * depth + (after_comma ? 0 : 1) + unaligned});
    }
    if (depth == 0 && line.substr(0, i).ends_with(" = ")) found.push_back({i, margin, 3});
    if (closes(line, i) && !open.empty()) open.pop_back();
    if (!opens(line, i)) continue;
    open.push_back(bracket_at(line, i + 1));
    if (line[i] == '(' && i + 1 < line.size() && line[i + 1] != ')')
      found.push_back({i + 1, margin, 2 * depth + (open.back().aligns ? 6 : 4)});
  }
  return found;
}

// The last of the least nested breaks.
Break best_break(std::string_view line, std::size_t from, std::size_t margin) {
  const std::size_t condition = end_of_condition(line, from);
  if (condition > 0 && condition <= kColumns) return {condition, from + 2, 0};
  Break best;
  for (const Break& each : breaks_of(line, from, margin))
    if (each.position > from + 1 && each.position > each.margin &&
        (best.position == 0 || each.rank <= best.rank))
      best = each;
  return best;
}

std::string without_end_space(std::string_view line) {
  while (line.ends_with(' ')) line.remove_suffix(1);
  return std::string(line);
}

// A line that was broken before and still does not fit, moved to the left as far as it needs.
std::string shifted(const std::string& line) {
  const std::size_t indent = line.find_first_not_of(' ');
  const std::size_t excess = std::max(line.size(), kColumns) - kColumns;
  return line.substr(std::min(excess, std::max(indent, kContinuation) - kContinuation)) + "\n";
}

// Breaks "#define NAME value" before the value.
std::string wrap_macro(std::string_view line) {
  const std::size_t name = line.find(' ') + 1;
  const std::size_t value = line.find(' ', name);
  if (!line.starts_with("#define ") || value == std::string_view::npos || line.back() == '\\')
    return std::string(line) + "\n";
  return std::string(line.substr(0, value)) + " \\\n  " + std::string(line.substr(value + 1)) +
         "\n";
}

std::string wrap_code(std::string line, std::size_t indent) {
  std::string text;
  std::size_t from = indent;
  std::size_t margin =
      line.back() == ',' ? indent : indent + kContinuation;  // rows of tables stay in line
  while (line.size() > kColumns) {
    const Break at = best_break(line, from, margin);
    if (at.position == 0) return text + shifted(line);
    text += shifted(without_end_space(std::string_view(line).substr(0, at.position)));
    line = std::string(at.margin, ' ') + line.substr(at.position);
    from = margin = at.margin;
  }
  return text + line + "\n";
}

// Words after `mark`, which begins each line: "// " or " * ".
std::string wrap_comment(std::string_view line, std::size_t indent, std::string_view mark) {
  std::string text;
  const std::string begin = std::string(indent, ' ') + std::string(mark);
  std::string rest(line);
  while (rest.size() > kColumns) {
    const std::size_t space = rest.rfind(' ', kColumns);
    if (space == std::string::npos || space < begin.size()) break;
    text += without_end_space(rest.substr(0, space)) + "\n";
    rest = begin + rest.substr(space + 1);
  }
  return text + rest + "\n";
}

// The place where a comment follows code; npos: nowhere.
std::size_t trailing_comment(std::string_view line) {
  bool quoted = false;
  for (std::size_t i = 0; i + 1 < line.size(); ++i) {
    if (line[i] == '"') quoted = !quoted;
    if (!quoted && line[i] == '/' && line[i + 1] == '/') return i;
  }
  return std::string_view::npos;
}

std::string wrap_line(std::string_view line) {
  if (line.size() <= kColumns) return std::string(line) + "\n";
  const std::size_t indent = line.find_first_not_of(' ');
  const std::string_view content = line.substr(indent);
  if (content.starts_with("//")) return wrap_comment(line, indent, "// ");
  if (content.starts_with("* ")) return wrap_comment(line, indent, "* ");
  if (content.starts_with("/*")) return wrap_comment(line, indent, " * ");
  if (content.starts_with('#')) return wrap_macro(line);
  const std::size_t comment = trailing_comment(line);
  if (comment == std::string_view::npos) return wrap_code(std::string(line), indent);
  const std::string before = std::string(indent, ' ') + std::string(line.substr(comment));
  return wrap_comment(before, indent, "// ") +
         wrap_code(without_end_space(line.substr(0, comment)), indent);
}

}  // namespace

std::string wrap_lines(const std::string& text) {
  std::string wrapped;
  wrapped.reserve(text.size() + text.size() / 16);
  std::size_t at = 0;
  while (at < text.size()) {
    std::size_t end = text.find('\n', at);
    if (end == std::string::npos) end = text.size();
    wrapped += wrap_line(std::string_view(text).substr(at, end - at));
    at = end + 1;
  }
  return wrapped;
}

void wrap_files(std::vector<EmittedFile>& files) {
  for (EmittedFile& file : files)
    for (const std::string_view code : {".cpp", ".c", ".h", ".inc"})
      if (file.suffix.ends_with(code)) file.bytes = wrap_lines(file.bytes);
}

}  // namespace bf_aot::emit
