#include "aot/cli/ablate/ablate_table.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "aot/cli/ablate/ablate_subject.h"
#include "aot/cli/ablate/ablate_summary.h"

namespace bf_aot::cli {
namespace {

AblationRow row_of(const std::string& config, const std::string& base, const std::string& without,
                   double width, double seconds) {
  AblationRow row;
  row.set(Column::kModel, std::string("net.onnx"));
  row.set(Column::kConfig, config);
  row.set(Column::kBase, base);
  row.set(Column::kWithout, without);
  row.set(Column::kStatus, std::string("ok"));
  row.set(Column::kMeanWidth, width);
  row.set(Column::kTimeP50, seconds);
  return row;
}

TEST(AblationTable, LinesComeBackAsTheyWere) {
  AblationRow row;
  row.set(Column::kModel, std::string("a \"b\", c\n.onnx"));
  row.set(Column::kArena, std::int64_t{-7});
  row.set(Column::kMeanWidth, std::numeric_limits<double>::infinity());
  row.set(Column::kMargin, -0.5);
  EXPECT_EQ(parse_csv_line(csv_line(row)), row);
  EXPECT_EQ(csv_line(row).back(), '\n');
}

TEST(AblationTable, MissingIsEmpty) {
  AblationRow row;
  row.set(Column::kMargin, std::nan(""));
  row.set(Column::kMessage, std::string());
  EXPECT_EQ(row, AblationRow());
  EXPECT_EQ(csv_line(row), std::string(kColumns - 1, ',') + "\n");
  EXPECT_FALSE(row.number(Column::kMargin).has_value());
}

TEST(AblationTable, BrokenLinesAreNone) {
  AblationRow row;
  row.set(Column::kArena, std::int64_t{12});
  const std::string line = csv_line(row);
  EXPECT_FALSE(parse_csv_line(line.substr(0, line.size() - 1)).has_value());
  EXPECT_FALSE(parse_csv_line("," + line).has_value());
  std::string text = line;
  text.replace(text.find("12"), 2, "1x");
  EXPECT_FALSE(parse_csv_line(text).has_value());
}

TEST(AblationMargin, BestConditionOfTheWorstClause) {
  Question question;
  question.clauses = {{{0, false, 1}, {1, true, 5}}, {{1, false, -1}}};
  // Clause 0: row 0 <= 1 is excluded by 1.5 - 1, row 1 >= 5 by 5 - 3. Clause 1: by 0 - (-1).
  EXPECT_EQ(margin_of(question, {{1.5, 0}, {2, 3}}), 1);
  EXPECT_EQ(margin_of(question, {{1.5, -1}, {2, 3}}), 0);  // a limit that is met: not proven
  question.clauses.push_back({});                          // always holds
  EXPECT_EQ(margin_of(question, {{9, 9}, {9, 9}}), -std::numeric_limits<double>::infinity());
}

TEST(AblationEffects, LargestChangeOfAPass) {
  std::vector<AblationRow> rows = {
      row_of("crown", "", "", 2, 1e-6), row_of("crown, no a", "crown", "a", 4, 1.1e-6),
      row_of("crown, no b", "crown", "b", 2, 1.1e-6), row_of("crown, no c", "crown", "c", 2, 3e-6),
      row_of("crown, no d", "crown", "d", 2, 1e-6)};
  rows[4].set(Column::kStatus, std::string("failed"));
  rows[4].set(Column::kMessage, std::string("BF2006"));
  const auto effects = pass_effects(by_network(rows));
  ASSERT_EQ(effects.size(), 4U);
  ASSERT_TRUE(effects[0].largest.has_value());
  EXPECT_EQ(effects[0].largest->metric, Column::kMeanWidth);
  EXPECT_EQ(effects[0].largest->change, 0.5);
  EXPECT_FALSE(effects[1].moves());  // 10 % of time is noise
  EXPECT_TRUE(effects[2].time.has_value());
  EXPECT_EQ(effects[3].needed_by, "net.onnx");
}

TEST(AblationEffects, EqualCodeIsEquallyFast) {
  AblationRow with = row_of("a", "", "", 1, 1e-6), without = row_of("b", "a", "x", 1, 3e-6);
  EXPECT_GT(change_of(with, without, Column::kTimeP50).value_or(0), 0.5);
  with.set(Column::kLibrary, std::string("5f"));
  without.set(Column::kLibrary, std::string("5f"));
  EXPECT_EQ(change_of(with, without, Column::kTimeP50), 0.0);
}

TEST(AblationEffects, DominatesWhenFasterAndTighter) {
  const AblationRow row = row_of("a", "", "", 2, 2e-6);
  EXPECT_TRUE(dominates(row_of("b", "", "", 1, 1e-6), row));
  EXPECT_FALSE(dominates(row_of("b", "", "", 2, 1e-6), row));
  EXPECT_FALSE(dominates(row_of("b", "", "", 1, 1.9e-6), row));  // within noise
  EXPECT_FALSE(dominates(row_of("b", "", "", 3, 1e-6), row));
}

}  // namespace
}  // namespace bf_aot::cli
