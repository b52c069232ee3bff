// One bad property per file: vnnlib/X.vnnlib must fail with the messages in its ";> " lines. ";! "
// lines say what else the case needs:
//   ;! missing         no file is made
//   ;! bytes HEX       the file's bytes, instead of its text
//   ;! large           limits that this file is beyond of
//   ;! network IN OUT  fits into a network with so many inputs and outputs
// BF_UPDATE_GOLDEN=1 rewrites the expected lines.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "frontend/diagnostic.h"
#include "frontend/graph/graph.h"
#include "frontend/property/vnnlib/vnnlib.h"
#include "tests/paths.h"
#include "tests/support/error_cases.h"
#include "tests/support/model_text.h"

namespace bf_aot {
namespace {

namespace fs = std::filesystem;

const fs::path kFolder = BF_SOURCE_DIR "/tests/errors/vnnlib";

std::string error_of(const test::ErrorCase& test_case, const fs::path& path) {
  const std::vector<std::string> words =
      test_case.directives.empty() ? std::vector<std::string>{""} : test_case.directives[0];
  const std::string& what = words[0];
  if (what == "bytes")
    test::write_bytes(path, test::from_hex(words.at(1)));
  else if (what != "missing")
    test::write_bytes(path, test_case.source);
  PropertyLimits limits;
  if (what == "large") {
    limits.bytes = 100;
    limits.box_numbers = 3;
  }
  try {
    const Property property = read_property(path, limits);
    if (what == "network") {
      Graph graph;
      graph.inputs = {graph.add_value("x", {1, std::stoll(words.at(1))})};
      graph.outputs = {graph.add_value("y", {std::stoll(words.at(2))})};
      check_interface(property, graph);
    }
  } catch (const CompileError& error) {
    return error.what();
  }
  return "";
}

class VnnlibErrors : public testing::TestWithParam<std::string> {};

TEST_P(VnnlibErrors, reports_exactly) {
  const fs::path path = kFolder / (GetParam() + ".vnnlib");
  const test::ErrorCase test_case = test::read_error_case(path, ';');
  const test::TempFolder folder;
  std::string actual = error_of(test_case, folder.path() / "p.vnnlib");
  ASSERT_NE(actual, "") << "the property was accepted";
  actual = std::regex_replace(actual, std::regex("/[^ :]*/p.vnnlib"), "p.vnnlib");
  if (test::update_error_case(path, ';', test_case, actual)) return;
  EXPECT_EQ(actual, test_case.expected);
}

INSTANTIATE_TEST_SUITE_P(All, VnnlibErrors,
                         testing::ValuesIn(test::error_case_names(kFolder, ".vnnlib")),
                         [](const auto& instance) { return instance.param; });

TEST(VnnlibErrorCodes, each_has_a_bad_property_and_is_documented) {
  std::string source, expected;
  for (const fs::directory_entry& entry :
       fs::directory_iterator(BF_SOURCE_DIR "/frontend/property/vnnlib"))
    source += test::read_bytes(entry.path());
  for (const std::string& name : test::error_case_names(kFolder, ".vnnlib"))
    expected += test::read_error_case(kFolder / (name + ".vnnlib"), ';').expected;
  const std::set<std::string> codes = test::find_codes(source, "\"(BF34\\d\\d)\"");
  EXPECT_GT(codes.size(), 8u);
  EXPECT_EQ(test::find_codes(expected, "error (BF34\\d\\d):"), codes);
  const std::set<std::string> documented = test::find_codes(
      test::read_bytes(BF_SOURCE_DIR "/docs/reference/diagnostics.md"), "\\| (BF34\\d\\d) \\|");
  EXPECT_TRUE(std::includes(documented.begin(), documented.end(), codes.begin(), codes.end()));
}

}  // namespace
}  // namespace bf_aot
