#include "aot/build/options/option_rows.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include "frontend/diagnostic.h"
#include "tests/paths.h"

namespace bf_aot::build {
namespace {

using Form = OptionRow::Form;

std::string failure(const char* name, const char* text, bool compiler = false) {
  OptionValues values;
  try {
    set_in_process(values, name, text, compiler);
  } catch (const CompileError& error) {
    const Diagnostic& one = error.diagnostics().front();
    return fmt::format("{} {}: {}", one.code, one.where, one.message);
  }
  return {};
}

TEST(OptionRowsTest, EachIsThereOnceAndTakesItsDefault) {
  std::set<std::string> names;
  for (const OptionRow& row : option_rows()) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    EXPECT_EQ(find_option_row(row.name), &row);
    OptionValues values;
    const std::string usual = row.shown(values);
    if (usual.empty()) continue;
    row.take(values, {usual});
    EXPECT_EQ(row.shown(values), usual) << row.name;
  }
}

TEST(OptionRowsTest, EachChoiceIsReadBack) {
  for (const OptionRow& row : option_rows())
    for (std::string choice : row.rule.choices) {
      if (row.form != Form::kValue) continue;
      EXPECT_EQ(row.rule.read(choice), "") << row.name;
      OptionValues values;
      row.take(values, {choice});
      EXPECT_EQ(row.shown(values), choice) << row.name;
    }
}

TEST(OptionRowsTest, ReadsTexts) {
  OptionValues values;
  const PlannerConfig& planner = values.compile.planner;
  for (const auto& [name, text] : std::initializer_list<std::pair<const char*, const char*>>{
           {"norm", "L2"},
           {"row_tile", "16"},
           {"memory-budget", "2K"},
           {"disable_pass", "exact-centres,fold-scale"},
           {"libm-ulps", "3/2"},
           {"flush_to_zero", "true"}})
    set_in_process(values, name, text, false);
  EXPECT_EQ(planner.norm, Norm::kEuclid);
  EXPECT_EQ(planner.row_tile, 16);
  EXPECT_EQ(planner.memory_budget, 2048);
  EXPECT_EQ(values.compile.float32.libm_ulps, 1.5);
  find_option_row("time-budget")->take(values, {"2ms"});
  EXPECT_EQ(planner.search.time_budget, 2e-3);
  set_in_process(values, "row_tile", "0", false);
  const CompileOptions options = resolved(values);
  EXPECT_EQ(options.planner.semantics, Semantics::kFloat32);
  EXPECT_TRUE(options.float32.flush);
  EXPECT_EQ(options.planner.disabled_passes, std::vector<std::string>{"exact-centres"});
  EXPECT_EQ(options.disabled_passes, std::vector<std::string>{"fold-scale"});
}

TEST(OptionRowsTest, ReadsDecisions) {
  OptionValues values;
  for (const auto& [name, text] :
       std::initializer_list<std::pair<const char*, const char*>>{{"timeout", "1/2"},
                                                                  {"search_seconds", "0"},
                                                                  {"jobs", "0"},
                                                                  {"proof", "a,b.bfc"},
                                                                  {"proof_seconds", "1e1"},
                                                                  {"checkpoint", "tree.json"}})
    set_in_process(values, name, text, true);
  EXPECT_EQ(values.decision.timeout_seconds, 0.5);
  EXPECT_EQ(values.decision.search_seconds, 0);
  EXPECT_EQ(values.decision.branch_seconds, std::nullopt);
  EXPECT_EQ(values.decision.jobs, 0u);
  EXPECT_EQ(values.decision.proof.file, "a,b.bfc");
  EXPECT_EQ(values.decision.proof.seconds, 10);
  EXPECT_TRUE(values.decision.keeps_tree());
  EXPECT_EQ(failure("timeout", "1"), "BF3501 timeout: there is no such option");
  EXPECT_EQ(failure("part", "0/2", true), "BF3501 part: there is no such option");
  EXPECT_EQ(failure("jobs", "257", true), "BF3501 jobs: 257 is no whole number from 1 to 256");
}

TEST(OptionRowsTest, NamesWhatIsWrong) {
  EXPECT_EQ(failure("norm", "l3"), "BF3501 norm: l3 not in {linf,l2,l1}");
  EXPECT_EQ(failure("row-tile", "1"), "BF3501 row_tile: 1 is no whole number from 2 to 1048576");
  EXPECT_EQ(failure("flush_to_zero", "maybe"),
            "BF3501 flush_to_zero: maybe is neither true nor false");
  EXPECT_EQ(failure("rows", "1"), "BF3501 rows: there is no such option");
  EXPECT_EQ(failure("lowering", "vector"), "BF3501 lowering: there is no such option");
  EXPECT_EQ(failure("jit", "off"), "BF3501 jit: there is no such option");
  EXPECT_EQ(failure("jit", "off", true), "");
}

// ---- docs/reference/options.md

// "INT in [1 - 9]" as "1 to 9"; of a range without an end its least number.
std::string range_of(const std::string& told) {
  const std::size_t open = told.find('['), dash = told.find(" - "), close = told.find(']');
  if (open == std::string::npos) return {};
  return fmt::format(", {} to {}", told.substr(open + 1, dash - open - 1),
                     told.substr(dash + 3, close - dash - 3));
}

std::string values_of(const OptionRow& row) {
  if (row.form == Form::kFlag) return "";
  if (!row.rule.choices.empty() && row.form == Form::kValue && std::string(row.name) != "target")
    return fmt::format("`{}`", fmt::join(row.rule.choices, "`, `"));
  std::string name = row.value_name == std::string("TEXT") ? "NAME" : row.value_name;
  if (const std::size_t bar = name.find('|'); bar != std::string::npos)
    name.replace(bar, 1, " or ");
  return name + range_of(row.rule.told);
}

// "yes", or where library, C and Python take it, and its name there if it is another.
std::string by_name(const OptionRow& row) {
  if (!row.in_process) return "";
  if (!row.of_decisions()) return "yes";
  std::string name = row.name;
  if (row.flag() == "--" + name) return "`verify`";
  std::ranges::replace(name, '-', '_');
  return fmt::format("`verify`, as `{}`", name);
}

std::string table() {
  std::string text = "| option | values | default | also by name | what |\n|---|---|---|---|---|\n";
  const OptionValues usual;
  for (const OptionRow& row : option_rows()) {
    text += fmt::format("| `{}` | {} | {} | {} | {} |\n", row.flag(), values_of(row),
                        row.shown(usual), by_name(row), row.help);
  }
  return text;
}

TEST(OptionRowsTest, ThePageHasTheTable) {
  const char* const page = BF_SOURCE_DIR "/docs/reference/options.md";
  std::ostringstream read;
  read << std::ifstream(page).rdbuf();
  const std::string text = read.str();
  const std::size_t begin = text.find("| option | values |");
  ASSERT_NE(begin, std::string::npos);
  std::size_t end = text.find("\n\n", begin);
  end = end == std::string::npos ? text.size() : end + 1;
  const std::string expected = text.substr(0, begin) + table() + text.substr(end);
  if (std::getenv("BF_UPDATE_GOLDEN") != nullptr)
    std::ofstream(page) << expected;
  else
    EXPECT_EQ(text, expected) << "BF_UPDATE_GOLDEN=1 writes it";
}

}  // namespace
}  // namespace bf_aot::build
