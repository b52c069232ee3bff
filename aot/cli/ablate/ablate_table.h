#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace bf_aot::cli {

// The columns of results.csv, in order; docs/reference/ablation.md says what each holds. A value
// that a run did not come to is empty, never 0.
enum class Column : std::uint8_t {
  kVersion,
  kRun,
  kModel,
  kSha256,
  kConfig,
  kBase,
  kWithout,
  kSettings,
  kStatus,
  kMessage,
  kBoxes,
  kTimeP50,
  kTimeP95,
  kPredicted,
  kArena,
  kNaive,
  kLowerBound,
  kWeights,
  kCode,
  kLibrary,
  kLayers,
  kSteps,
  kTasks,
  kKernels,
  kPlanning,
  kCompile,
  kMeanWidth,
  kMaxWidth,
  kMargin,
  kCases,
  kCertified,
  kUnstable,
  kRatioIbp,
  kRatioReference,
  kCount,  // not a column
};
constexpr std::size_t kColumns = static_cast<std::size_t>(Column::kCount);

enum class ColumnType : std::uint8_t { kText, kInteger, kReal };

struct ColumnInfo {
  std::string_view name;
  ColumnType type;
  std::string_view meaning;
};
std::span<const ColumnInfo> ablation_columns();
const ColumnInfo& info_of(Column column);

// One run: a value or none in each column.
class AblationRow {
 public:
  using Cell = std::variant<std::monostate, std::string, std::int64_t, double>;

  // Sets a value, whose type must be the column's. NaN clears it.
  void set(Column column, std::string text);
  void set(Column column, std::int64_t number);
  void set(Column column, double number);

  const Cell& at(Column column) const { return cells_[static_cast<std::size_t>(column)]; }
  std::string text(Column column) const;  // empty when there is none
  std::optional<double> number(Column column) const;
  bool ok() const { return text(Column::kStatus) == "ok"; }

  bool operator==(const AblationRow&) const = default;

 private:
  std::array<Cell, kColumns> cells_;
};

// Lines by RFC 4180: a field with a comma, a quote or a line break is quoted; lines end with "\n".
std::string csv_head();
std::string csv_line(const AblationRow& row);
std::optional<AblationRow> parse_csv_line(std::string_view line);  // with its line break

// The complete rows of a file that this program wrote, in order. A file that is not there has none;
// the last line may be cut off anywhere, by a signal or a full disk. Throws: BF3320 when it is not
// such a file: nothing is overwritten then.
std::vector<AblationRow> read_csv(const std::filesystem::path& path);

}  // namespace bf_aot::cli
