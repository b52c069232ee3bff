#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace bf_aot::input {

// A file of comma-separated values: a line is a row, a cell may stand in double quotes. The first
// line names the columns where one of its cells is no number.
struct Table {
  std::string where;               // the file, for messages
  std::vector<std::string> names;  // of columns; empty: the file has none
  std::vector<std::vector<std::string>> rows;
  std::size_t first_line = 1;  // the line of the first row

  std::optional<std::size_t> column(const std::string& name) const;
  // The place of a row in its file, for messages: "y.csv:12".
  std::string place(std::size_t row) const;
  // The number in a cell. Throws: BF3015 where it is no finite number.
  double number(std::size_t row, std::size_t column) const;
};

// A cell as it is written: in double quotes where that is needed.
std::string table_cell(const std::string& text);

// Reads a table. Throws: BF3001, BF3014, BF3015.
Table read_table(const std::filesystem::path& path);
Table parse_table(std::string_view text, const std::string& where, bool may_have_names = true);

}  // namespace bf_aot::input
