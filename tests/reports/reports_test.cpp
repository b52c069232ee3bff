// What users of other tools reported, small, with the right value: each X.textproto is a model, and
// says in "#! " lines
//   #! source URL           where the report is
//   #! point NUMBERS        of all inputs, and
//   #! value NUMBERS        what the outputs are there: bounds at the point hold them, tightly;
//   #! inside NUMBERS       or hold them at least, of functions that jump there
//   #! verdict VERDICT      of X.vnnlib: verified, falsified, or the code of a diagnostic
// A model with neither must fail with the messages in its "#> " lines, which BF_UPDATE_GOLDEN=1
// rewrites.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "aot/library/bf_aot.h"
#include "tests/paths.h"
#include "tests/support/error_cases.h"
#include "tests/support/model_text.h"

namespace bf_aot {
namespace {

namespace fs = std::filesystem;

const fs::path kFolder = BF_SOURCE_DIR "/tests/reports";

using Words = std::vector<std::string>;

// The directive's words behind its name.
std::optional<Words> words_of(const test::ErrorCase& report, const std::string& name) {
  for (const Words& words : report.directives)
    if (words[0] == name) return Words(words.begin() + 1, words.end());
  return std::nullopt;
}

std::vector<double> numbers_of(const Words& words) {
  std::vector<double> numbers;
  for (const std::string& word : words) numbers.push_back(std::stod(word));
  return numbers;
}

api::Model load(const test::ErrorCase& report) {
  const std::string bytes = test::encode_model(report.source);
  const auto model = api::Model::from_bytes(std::as_bytes(std::span(bytes)), "m");
  if (!model) throw std::runtime_error(model.error().text());
  return *model;
}

void expect_bounds(const test::ErrorCase& report, const std::vector<double>& point,
                   const std::vector<double>& right, bool tight) {
  for (const api::Method method : {api::Method::kIbp, api::Method::kCrown}) {
    SCOPED_TRACE(api::to_string(method));
    api::Options options;
    options.method = method;
    const auto verifier = api::Verifier::make(load(report), options);
    ASSERT_TRUE(verifier) << verifier.error().text();
    const auto bounds = verifier->bounds(std::span(point), std::span(point));
    ASSERT_TRUE(bounds) << bounds.error().text();
    ASSERT_EQ(bounds->lower.size(), right.size());
    for (std::size_t i = 0; i < right.size(); ++i) {
      const double slack = 2e-5 * (1 + std::abs(right[i]));  // both are rounded
      EXPECT_LE(bounds->lower[i], right[i] + slack) << "output " << i;
      EXPECT_GE(bounds->upper[i], right[i] - slack) << "output " << i;
      if (!tight) continue;
      EXPECT_GE(bounds->lower[i], right[i] - slack) << "output " << i;
      EXPECT_LE(bounds->upper[i], right[i] + slack) << "output " << i;
    }
  }
}

void expect_verdict(const test::ErrorCase& report, const fs::path& property,
                    const std::string& right) {
  api::VerifyOptions options;
  options.timeout_seconds = 60;
  const auto result = api::verify(load(report), property, options);
  EXPECT_EQ(result ? api::to_string(result->verdict) : result.error().code, right);
}

class Reports : public testing::TestWithParam<std::string> {};

TEST_P(Reports, is_right) {
  const fs::path path = kFolder / (GetParam() + ".textproto");
  const test::ErrorCase report = test::read_error_case(path, '#');
  ASSERT_TRUE(words_of(report, "source")) << "where is it reported?";
  const auto point = words_of(report, "point"), verdict = words_of(report, "verdict");
  if (point) {
    const auto value = words_of(report, "value"), inside = words_of(report, "inside");
    ASSERT_NE(value.has_value(), inside.has_value());
    expect_bounds(report, numbers_of(*point), numbers_of(value ? *value : *inside),
                  value.has_value());
  } else if (verdict) {
    expect_verdict(report, kFolder / (GetParam() + ".vnnlib"), verdict->at(0));
  } else {
    std::string actual;
    try {
      load(report);
    } catch (const std::runtime_error& error) {
      actual = error.what();
    }
    ASSERT_NE(actual, "") << "the model was accepted";
    if (test::update_error_case(path, '#', report, actual)) return;
    EXPECT_EQ(actual, report.expected);
  }
}

INSTANTIATE_TEST_SUITE_P(All, Reports,
                         testing::ValuesIn(test::error_case_names(kFolder, ".textproto")),
                         [](const auto& instance) { return instance.param; });

}  // namespace
}  // namespace bf_aot
