// Every model of the ONNX backend tests is fed to the importer: no crash, and where it is supported
// the imported graph evaluates to the expected outputs.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "frontend/import/operators/operators.h"
#include "tests/conformance/operator_notes.h"
#include "tests/conformance/run.h"
#include "tests/conformance/table.h"
#include "tests/paths.h"

namespace bf_aot::conformance {
namespace {

std::string_view name_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::kExcluded:
      return "excluded";
    case Verdict::kUnsupported:
      return "unsupported";
    case Verdict::kConstant:
      return "constant";
    case Verdict::kPassed:
      return "passed";
    case Verdict::kWrong:
      return "wrong";
  }
  return "";
}

std::string table_on_disk() {
  std::ifstream stream(BF_SOURCE_DIR "/docs/reference/operators.md", std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

// BF_CONFORMANCE_LIST=1 prints each test's verdict and reason.
TEST(Conformance, EveryModelIsDiagnosedOrEvaluatesAsExpected) {
  const auto folder = suite_folder();
  if (!folder) GTEST_SKIP() << "no ONNX backend tests: install libonnx-testdata";
  const bool list = std::getenv("BF_CONFORMANCE_LIST") != nullptr;
  std::map<std::string_view, int> counts;
  Scores scores;
  for (const TestCase& test : load_suite(*folder)) {
    const Report report = run_test(test);
    ++counts[name_of(report.verdict)];
    count(scores, test, report);
    EXPECT_NE(report.verdict, Verdict::kWrong) << test.name << ": " << report.reason;
    EXPECT_TRUE(report.verdict == Verdict::kPassed || !report.reason.empty()) << test.name;
    if (list)
      fmt::print("{:12} {:20} {:60} {}\n", name_of(report.verdict), test.operator_type, test.name,
                 report.reason);
  }
  for (const auto& [name, count] : counts) fmt::print("{} {}\n", count, name);
  EXPECT_EQ(table_on_disk(), operator_table(scores))
      << "run conformance_table > docs/reference/operators.md";
  for (const OperatorNote& note : operator_notes()) {
    const Score& score = scores[std::string(note.name)];
    if (find_operator(note.name) != nullptr && note.kind == OperatorNote::Kind::kPlain) {
      EXPECT_EQ(score.passed, score.total) << note.name << " is said to be supported in full";
    }
  }
}

// Tests of the newest release that have another value here, and why.
const std::map<std::string_view, std::string_view> kDiffer = {
    {"node/test_dft_inverse", "0 there is what roundings of single precision left"},
    {"node/test_dft_inverse_opset19", "0 there is what roundings of single precision left"},
    {"node/test_l2normalization_axis_0", "0 / 0 has no value here, and is 0 there"},
};

// Attention of 16 bits rounds between its operators there, and is exact here.
bool rounds_between(const TestCase& test) {
  return test.name.find("attention") != std::string::npos &&
         std::ranges::any_of(test.data.front().outputs,
                             [](const TestTensor& each) { return type_rounding(each) > 0x1p-24; });
}

// The node tests that node_tests.py has written to the folder BF_ONNX_NODE_TESTS. What is refused
// is printed, by operator.
TEST(Conformance, NodeTestsOfTheNewestRelease) {
  const char* const folder = std::getenv("BF_ONNX_NODE_TESTS");
  if (folder == nullptr) GTEST_SKIP() << "BF_ONNX_NODE_TESTS names no folder of node tests";
  std::map<std::string, std::pair<int, std::string>> refused;
  int passed = 0;
  for (const TestCase& test : load_suite(folder)) {
    const Report report = run_test(test);
    passed += report.verdict == Verdict::kPassed ? 1 : 0;
    if (report.verdict == Verdict::kWrong && !kDiffer.contains(test.name) && !rounds_between(test))
      ADD_FAILURE() << test.operator_type << ", " << test.name << ": " << report.reason;
    if (report.verdict != Verdict::kUnsupported) continue;
    auto& [count, reason] = refused[test.operator_type];
    ++count;
    if (reason.empty()) reason = test.name + ": " + report.reason;
  }
  for (const auto& [type, why] : refused)
    fmt::print("{:20} {:3} refused, as {}\n", type.empty() ? "several" : type, why.first,
               why.second);
  fmt::print("{} passed\n", passed);
  EXPECT_GT(passed, 1400);
}

// The words between separators.
std::vector<std::string> split(std::string_view text, std::string_view separator) {
  std::vector<std::string> words;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(separator, at), text.size());
    words.emplace_back(text.substr(at, end - at));
    at = end + separator.size();
  }
  return words;
}

// The operators of a page, and "yes", "partly" or "no": those without notes stand in one row, those
// with notes in a row each, those that are not supported in a row for each reason.
std::multimap<std::string, std::string> support_on(const std::string& page) {
  std::multimap<std::string, std::string> made;
  std::string section;
  for (const std::string& line : split(page, "\n")) {
    if (line.starts_with("## ")) section = line;
    if (!line.starts_with("| ") || line.starts_with("| operator")) continue;
    const std::vector<std::string> cells = split(line.substr(2), " | ");
    if (section == "## Not supported") {
      for (const std::string& name : split(cells[0], "; ")) made.emplace(name, "no");
    } else if (section == "## Supported" && cells.size() == 4) {
      made.emplace(cells[0], cells[1]);
    } else if (section == "## Supported") {
      for (const std::string& name : split(cells[0], ", ")) made.emplace(name, "yes");
    }
  }
  return made;
}

// Also where the backend tests are not installed.
TEST(Conformance, TheTableListsWhatTheImporterKnows) {
  const auto listed = support_on(table_on_disk());
  for (const OperatorNote& note : operator_notes()) {
    const bool known = find_operator(note.name) != nullptr;
    const std::string_view support = !known                                     ? "no"
                                     : note.kind == OperatorNote::Kind::kPartly ? "partly"
                                                                                : "yes";
    ASSERT_EQ(listed.count(std::string(note.name)), 1U) << note.name;
    EXPECT_EQ(listed.find(std::string(note.name))->second, support) << note.name;
    EXPECT_FALSE(known && note.kind == OperatorNote::Kind::kNot) << note.name;
    EXPECT_TRUE(known || !note.note.empty()) << note.name << ": say why it is not supported";
  }
  EXPECT_GE(fully_supported(), 75);
  EXPECT_EQ(listed.size(), operator_notes().size());
}

}  // namespace
}  // namespace bf_aot::conformance
