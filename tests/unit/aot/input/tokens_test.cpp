#include "aot/input/json/tokens.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "frontend/diagnostic.h"
#include "frontend/graph/graph.h"
#include "tests/support/model_text.h"

namespace bf_aot::input {
namespace {

std::filesystem::path write_tokens(const std::string& text) {
  static const test::TempFolder folder;
  const auto path = folder.path() / "tokens.json";
  std::ofstream(path, std::ios::binary) << text;
  return path;
}

template <class Call>
std::string code_thrown_by(const Call& call) {
  try {
    call();
  } catch (const CompileError& error) {
    return error.diagnostics().front().code;
  }
  return "";
}

TEST(Tokens, NumbersAloneAreFixed) {
  const auto inputs = read_tokens(write_tokens(
      R"({"note": "", "tokens": {"ids": [[3, 5], 7, [2]], "mask": [1, 0], "one": [[4]]}})"));
  EXPECT_EQ(inputs.at("ids"), (TokenInput{{{3, 5}, {7}, {2}}, false}));
  EXPECT_EQ(inputs.at("mask"), (TokenInput{{{1}, {0}}, true}));
  EXPECT_EQ(inputs.at("one"), (TokenInput{{{4}}, false}));
}

TEST(Tokens, FilesAreChecked) {
  const auto code = [](const std::string& text) {
    return code_thrown_by([&] { read_tokens(write_tokens(text)); });
  };
  EXPECT_EQ(code(R"({"tokens": {"ids": [[]]}})"), "BF3021");
  EXPECT_EQ(code(R"({"tokens": {"ids": [[3, 3]]}})"), "BF3021");
  EXPECT_EQ(code(R"({"tokens": {"ids": [[3.5]]}})"), "BF3004");
  EXPECT_EQ(code(R"({"tokens": {"ids": [["3"]]}})"), "BF3004");
  EXPECT_EQ(code(R"({"tokens": {"ids": [[1e30]]}})"), "BF3004");
  EXPECT_EQ(code(R"({"tokens": {"ids": 3}})"), "BF3004");
  EXPECT_EQ(code(R"({"tokens": [[3]]})"), "BF3004");
  EXPECT_EQ(code(R"({"ids": [[3]]})"), "BF3005");
  EXPECT_EQ(code(R"({})"), "BF3004");
}

TEST(Tokens, BoxesAllowTheirIds) {
  const OneHot one_hot{3, {{7, 5, 9}, {2}}};
  const FloatBox box = box_of_ids(one_hot, {{9, 7}, {2}}, "sets");
  EXPECT_EQ(box.lower, (std::vector<float>{0, 0, 0, 1, 0, 0}));
  EXPECT_EQ(box.upper, (std::vector<float>{1, 0, 1, 1, 0, 0}));
  const auto code = [&](const OneHot& of, const IdSets& sets) {
    return code_thrown_by([&] { box_of_ids(of, sets, "sets"); });
  };
  EXPECT_EQ(code(one_hot, {{9}}), "BF3021");
  EXPECT_EQ(code(one_hot, {{9}, {3}}), "BF3021");
  EXPECT_EQ(code(one_hot, {{9}, {}}), "BF3021");
  EXPECT_EQ(code({}, {}), "BF3021");
}

TEST(Tokens, AFileOfABoxMayHaveIds) {
  const BoxFile file = read_box(write_tokens(R"({"ids": [[3, 4], 5]})"), std::nullopt);
  ASSERT_TRUE(file.ids.has_value());
  EXPECT_EQ(*file.ids, (IdSets{{3, 4}, {5}}));
  EXPECT_EQ(code_thrown_by([&] { round_outward(file, 2); }), "BF3021");
}

}  // namespace
}  // namespace bf_aot::input
