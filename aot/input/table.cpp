#include "aot/input/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "aot/input/array.h"
#include "frontend/diagnostic.h"
#include "frontend/graph/model.h"

namespace bf_aot::input {
namespace {

std::optional<double> number_of(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return std::string(text.substr(first, text.find_last_not_of(" \t") - first + 1));
}

// The cells of a line; `place` is for messages.
std::vector<std::string> cells_of(std::string_view line, const std::string& place) {
  std::vector<std::string> cells;
  while (true) {
    const std::size_t start = std::min(line.find_first_not_of(" \t"), line.size());
    if (start < line.size() && line[start] == '"') {
      std::string cell;
      std::size_t at = start + 1;
      for (; at < line.size(); ++at) {
        if (line[at] == '"' && (at + 1 == line.size() || line[at + 1] != '"')) break;
        if (line[at] == '"') ++at;
        cell += line[at];
      }
      if (at >= line.size()) fail("BF3015", place, "a cell's closing quote is missing");
      cells.push_back(cell);
      line.remove_prefix(at + 1);
      const std::size_t comma = std::min(line.find_first_not_of(" \t"), line.size());
      if (comma == line.size()) return cells;
      if (line[comma] != ',') fail("BF3015", place, "text follows a cell's closing quote");
      line.remove_prefix(comma + 1);
      continue;
    }
    const std::size_t comma = line.find(',');
    cells.push_back(trimmed(line.substr(0, comma)));
    if (comma == std::string_view::npos) return cells;
    line.remove_prefix(comma + 1);
  }
}

}  // namespace

std::string table_cell(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + '"';
}

std::optional<std::size_t> Table::column(const std::string& name) const {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) return std::nullopt;
  if (std::find(found + 1, names.end(), name) != names.end())
    fail("BF3015", where, fmt::format("two columns are called '{}'", name), "rename one of them");
  return static_cast<std::size_t>(found - names.begin());
}

std::string Table::place(std::size_t row) const {
  return fmt::format("{}:{}", where, first_line + row);
}

double Table::number(std::size_t row, std::size_t column) const {
  const std::optional<double> value = number_of(rows[row][column]);
  if (!value || !std::isfinite(*value))
    fail("BF3015", place(row),
         fmt::format("'{}' in column {} is no finite number", printable(rows[row][column]),
                     names.empty() ? fmt::format("{}", column + 1) : names[column]));
  return *value;
}

Table parse_table(std::string_view text, const std::string& where, bool may_have_names) {
  Table table;
  table.where = where;
  std::size_t line_number = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    ++line_number;
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line_number == 1 && line.starts_with("\xEF\xBB\xBF")) line.remove_prefix(3);
    const std::string place = fmt::format("{}:{}", where, line_number);
    if (trimmed(line).empty()) {
      if (trimmed(text).empty()) break;
      fail("BF3015", place, "the line is empty");
    }
    std::vector<std::string> cells = cells_of(line, place);
    if (may_have_names && line_number == 1 &&
        std::any_of(cells.begin(), cells.end(),
                    [](const std::string& cell) { return !number_of(cell); })) {
      for (std::string& cell : cells) cell = printable(cell);
      table.names = std::move(cells);
      table.first_line = 2;
      continue;
    }
    const std::size_t columns = table.rows.empty()
                                    ? (table.names.empty() ? cells.size() : table.names.size())
                                    : table.rows[0].size();
    if (cells.size() != columns)
      fail("BF3015", place, fmt::format("{} cells, but {} are expected", cells.size(), columns));
    table.rows.push_back(std::move(cells));
  }
  if (table.rows.empty()) fail("BF3015", where, "the file has no rows");
  return table;
}

Table read_table(const std::filesystem::path& path) {
  return parse_table(read_data_file(path), printable(path.string()));
}

}  // namespace bf_aot::input
