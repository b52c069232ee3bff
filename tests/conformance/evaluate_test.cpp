// Every model of the ONNX backend tests is fed to the importer: no crash, and where it is supported
// the imported graph evaluates to the expected outputs.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>

#include "tests/conformance/run.h"

namespace bf::conformance {
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

// BF_CONFORMANCE_LIST=1 prints each test's verdict and reason.
TEST(Conformance, EveryModelIsDiagnosedOrEvaluatesAsExpected) {
  const auto folder = suite_folder();
  if (!folder) GTEST_SKIP() << "no ONNX backend tests: install libonnx-testdata";
  const bool list = std::getenv("BF_CONFORMANCE_LIST") != nullptr;
  std::map<std::string_view, int> counts;
  for (const TestCase& test : load_suite(*folder)) {
    const Report report = run_test(test);
    ++counts[name_of(report.verdict)];
    EXPECT_NE(report.verdict, Verdict::kWrong) << test.name << ": " << report.reason;
    EXPECT_TRUE(report.verdict == Verdict::kPassed || !report.reason.empty()) << test.name;
    if (list)
      fmt::print("{:12} {:20} {:60} {}\n", name_of(report.verdict), test.operator_type, test.name,
                 report.reason);
  }
  for (const auto& [name, count] : counts) fmt::print("{} {}\n", count, name);
}

}  // namespace
}  // namespace bf::conformance
