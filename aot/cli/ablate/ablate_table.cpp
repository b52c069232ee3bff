#include "aot/cli/ablate/ablate_table.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <system_error>

#include "aot/system/files.h"
#include "frontend/diagnostic.h"
#include "frontend/graph/model.h"
#include "frontend/read_bytes.h"

namespace bf_aot::cli {
namespace {

constexpr std::uint64_t kMostTableBytes = std::uint64_t{256} << 20;

constexpr auto kText = ColumnType::kText;
constexpr auto kInteger = ColumnType::kInteger;
constexpr auto kReal = ColumnType::kReal;

constexpr ColumnInfo kInfo[] = {
    {"version", kText, "of bf-aot"},
    {"run", kText, "digest of all that decides the result; equal ones are not run again"},
    {"model", kText, "the model's file name"},
    {"sha256", kText, "of the model's file"},
    {"config", kText, "name of the configuration"},
    {"base", kText, "the configuration that this one changes in one thing"},
    {"without", kText, "the pass that is left out against the base"},
    {"settings", kText, "the configuration as JSON, as --config takes it"},
    {"status", kText, "ok or failed"},
    {"message", kText, "why it failed"},
    {"boxes", kInteger, "boxes that were bounded"},
    {"time_p50_s", kReal, "median of one call's seconds, over all boxes"},
    {"time_p95_s", kReal, "95th percentile of the same"},
    {"predicted_s", kReal, "seconds of one call as the planner's cost model has it"},
    {"arena_bytes", kInteger, "workspace"},
    {"naive_bytes", kInteger, "workspace with one range for each buffer"},
    {"lower_bound_bytes", kInteger, "largest sum of buffers alive at once"},
    {"weights_bytes", kInteger, "weight and bias tables"},
    {"code_bytes", kInteger, "machine code"},
    {"library", kText,
     "digest of the generated code and its compiler; equal ones are the same code"},
    {"layers", kInteger, "layers of the plan"},
    {"steps", kInteger, "steps of the entry point that is timed"},
    {"tasks", kInteger, "tasks of the same"},
    {"kernels", kInteger, "kernels of the plan"},
    {"planning_s", kReal, "seconds of the planner"},
    {"compile_s", kReal, "seconds of the C++ compiler"},
    {"mean_width", kReal, "mean width of the outputs' bounds"},
    {"max_width", kReal, "largest width of the outputs' bounds"},
    {"margin", kReal, "least margin by which a case is proven; negative: by which it is missed"},
    {"cases", kInteger, "boxes with a question"},
    {"certified", kInteger, "those of them that are proven"},
    {"unstable", kInteger, "neurons whose relaxation is not exact, over all boxes"},
    {"ratio_ibp", kReal, "mean width over that of ibp, averaged over boxes"},
    {"ratio_reference", kReal, "mean width over the golden file's of crown, averaged over boxes"},
};
static_assert(std::size(kInfo) == kColumns);

std::size_t index_of(Column column) {
  return static_cast<std::size_t>(column);
}

std::string csv_quoted(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"') result += '"';
    result += c;
  }
  return result + '"';
}

std::string field_of(const AblationRow::Cell& cell) {
  if (const auto* text = std::get_if<std::string>(&cell)) return csv_quoted(*text);
  if (const auto* number = std::get_if<std::int64_t>(&cell)) return fmt::format("{}", *number);
  if (const auto* number = std::get_if<double>(&cell)) return fmt::format("{:.9g}", *number);
  return {};
}

// One record from `at` on, which moves behind it; nothing when the text ends within it.
std::optional<std::vector<std::string>> next_record(std::string_view text, std::size_t& at) {
  std::vector<std::string> fields(1);
  bool inside = false;
  for (std::size_t i = at; i < text.size(); ++i) {
    const char c = text[i];
    if (inside && c == '"' && i + 1 < text.size() && text[i + 1] == '"') {
      fields.back() += text[++i];
    } else if (c == '"') {
      inside = !inside;
    } else if (!inside && c == ',') {
      fields.emplace_back();
    } else if (!inside && c == '\n') {
      at = i + 1;
      return fields;
    } else {
      fields.back() += c;
    }
  }
  return std::nullopt;
}

template <typename Number>
std::optional<Number> parse(const std::string& text) {
  Number number{};
  const char* const end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, number);
  if (result.ec != std::errc() || result.ptr != end) return std::nullopt;
  return number;
}

// False when a field is not of its column's type.
bool fill(AblationRow& row, const std::vector<std::string>& fields) {
  if (fields.size() != kColumns) return false;
  for (std::size_t i = 0; i < kColumns; ++i) {
    if (fields[i].empty()) continue;
    const auto column = static_cast<Column>(i);
    if (kInfo[i].type == kText) {
      row.set(column, fields[i]);
    } else if (kInfo[i].type == kInteger) {
      const auto number = parse<std::int64_t>(fields[i]);
      if (!number) return false;
      row.set(column, *number);
    } else {
      const auto number = parse<double>(fields[i]);
      if (!number) return false;
      row.set(column, *number);
    }
  }
  return true;
}

}  // namespace

std::span<const ColumnInfo> ablation_columns() {
  return kInfo;
}

const ColumnInfo& info_of(Column column) {
  return kInfo[index_of(column)];
}

void AblationRow::set(Column column, std::string text) {
  BF_CHECK(info_of(column).type == kText);
  if (text.empty())
    cells_[index_of(column)] = std::monostate();
  else
    cells_[index_of(column)] = std::move(text);
}

void AblationRow::set(Column column, std::int64_t number) {
  BF_CHECK(info_of(column).type == kInteger);
  cells_[index_of(column)] = number;
}

void AblationRow::set(Column column, double number) {
  BF_CHECK(info_of(column).type == kReal);
  if (std::isnan(number))
    cells_[index_of(column)] = std::monostate();
  else
    cells_[index_of(column)] = number;
}

std::string AblationRow::text(Column column) const {
  const auto* text = std::get_if<std::string>(&at(column));
  return text != nullptr ? *text : std::string();
}

std::optional<double> AblationRow::number(Column column) const {
  if (const auto* number = std::get_if<double>(&at(column))) return *number;
  if (const auto* number = std::get_if<std::int64_t>(&at(column)))
    return static_cast<double>(*number);
  return std::nullopt;
}

std::string csv_head() {
  std::string line;
  for (const ColumnInfo& column : kInfo) {
    if (!line.empty()) line += ',';
    line += column.name;
  }
  return line + "\n";
}

std::string csv_line(const AblationRow& row) {
  std::string line;
  for (std::size_t i = 0; i < kColumns; ++i) {
    if (i > 0) line += ',';
    line += field_of(row.at(static_cast<Column>(i)));
  }
  return line + "\n";
}

std::optional<AblationRow> parse_csv_line(std::string_view line) {
  std::size_t at = 0;
  const auto fields = next_record(line, at);
  AblationRow row;
  if (!fields || !fill(row, *fields) || at != line.size()) return std::nullopt;
  return row;
}

std::vector<AblationRow> read_csv(const std::filesystem::path& path) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return {};
  const ReadBytes read = read_bytes(path, kMostTableBytes, Sources::kFiles);
  if (!read.problem.empty())
    fail("BF3001", printable(path.string()), "cannot read the table: " + read.problem,
         "move it away, or choose another --out");
  const std::string& text = read.bytes;
  const std::string head = csv_head();
  if (head.starts_with(text)) return {};  // empty, or cut off within the head
  const auto refuse = [&](std::size_t line) {
    fail("BF3320", fmt::format("{}:{}", printable(path.string()), line),
         "this is no table of bf-aot ablate, or one of another version",
         "move it away, or choose another --out");
  };
  if (!text.starts_with(head)) refuse(1);
  std::vector<AblationRow> rows;
  std::size_t at = head.size();
  while (const auto fields = next_record(text, at)) {
    AblationRow row;
    if (!fill(row, *fields)) refuse(rows.size() + 2);
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace bf_aot::cli
