// One bad property per file: vnnlib/X.vnnlib must fail with the messages in its ";> " lines. ";! "
// lines say what else the case needs:
//   ;! missing         no file is made
//   ;! bytes HEX       the file's bytes, instead of its text
//   ;! large           limits that this file is beyond of
//   ;! network IN OUT  fits into a network with so many inputs and outputs
// BF_UPDATE_GOLDEN=1 rewrites the expected lines.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "frontend/diagnostic.h"
#include "frontend/vnnlib/vnnlib.h"
#include "tests/support/model_text.h"

namespace bf {
namespace {

namespace fs = std::filesystem;

const fs::path kFolder = BF_SOURCE_DIR "/tests/errors/vnnlib";

struct ErrorCase {
  std::vector<std::string> directive;
  std::string expected;
  std::string source;  // the file without the expected lines
};

ErrorCase parse_case(const fs::path& path) {
  ErrorCase result;
  std::istringstream lines(test::read_bytes(path));
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(";> ")) {
      result.expected += line.substr(3) + "\n";
      continue;
    }
    result.source += line + "\n";
    if (!line.starts_with(";! ")) continue;
    std::istringstream words(line.substr(3));
    for (std::string word; words >> word;) result.directive.push_back(word);
  }
  return result;
}

std::string from_hex(const std::string& hex) {
  std::string bytes;
  for (std::size_t i = 0; i < hex.size(); i += 2)
    bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  return bytes;
}

std::string error_of(const ErrorCase& test_case, const fs::path& path) {
  const std::string what = test_case.directive.empty() ? "" : test_case.directive[0];
  if (what == "bytes")
    test::write_bytes(path, from_hex(test_case.directive.at(1)));
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
      graph.inputs = {graph.add_value("x", {1, std::stoll(test_case.directive.at(1))})};
      graph.outputs = {graph.add_value("y", {std::stoll(test_case.directive.at(2))})};
      check_interface(property, graph);
    }
  } catch (const CompileError& error) {
    return error.what();
  }
  return "";
}

std::vector<std::string> case_names() {
  std::vector<std::string> names;
  for (const fs::directory_entry& entry : fs::directory_iterator(kFolder))
    names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

class VnnlibErrors : public testing::TestWithParam<std::string> {};

TEST_P(VnnlibErrors, reports_exactly) {
  const fs::path path = kFolder / (GetParam() + ".vnnlib");
  const ErrorCase test_case = parse_case(path);
  const test::TempFolder folder;
  std::string actual = error_of(test_case, folder.path() / "p.vnnlib");
  ASSERT_NE(actual, "") << "the property was accepted";
  actual = std::regex_replace(actual, std::regex("/[^ :]*/p.vnnlib"), "p.vnnlib");
  if (std::getenv("BF_UPDATE_GOLDEN") != nullptr) {
    std::string text = test_case.source;
    std::istringstream lines(actual);
    for (std::string line; std::getline(lines, line);) text += ";> " + line + "\n";
    test::write_bytes(path, text);
    return;
  }
  EXPECT_EQ(actual, test_case.expected);
}

INSTANTIATE_TEST_SUITE_P(All, VnnlibErrors, testing::ValuesIn(case_names()),
                         [](const auto& instance) { return instance.param; });

std::set<std::string> find_codes(const std::string& text, const std::string& pattern) {
  const std::regex regex(pattern);
  std::set<std::string> codes;
  for (std::sregex_iterator i(text.begin(), text.end(), regex), end; i != end; ++i)
    codes.insert((*i)[1]);
  return codes;
}

TEST(VnnlibErrorCodes, each_has_a_bad_property_and_is_documented) {
  std::string source, expected;
  for (const fs::directory_entry& entry : fs::directory_iterator(BF_SOURCE_DIR "/frontend/vnnlib"))
    source += test::read_bytes(entry.path());
  for (const std::string& name : case_names())
    expected += parse_case(kFolder / (name + ".vnnlib")).expected;
  const std::set<std::string> codes = find_codes(source, "\"(BF34\\d\\d)\"");
  EXPECT_GT(codes.size(), 8u);
  EXPECT_EQ(find_codes(expected, "error (BF34\\d\\d):"), codes);
  const std::set<std::string> documented =
      find_codes(test::read_bytes(BF_SOURCE_DIR "/docs/diagnostics.md"), "\\| (BF34\\d\\d) \\|");
  EXPECT_TRUE(std::includes(documented.begin(), documented.end(), codes.begin(), codes.end()));
}

}  // namespace
}  // namespace bf
