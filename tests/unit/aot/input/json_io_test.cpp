#include "aot/input/json_io.h"

#include <gtest/gtest.h>

#include <cfloat>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "frontend/diagnostic.h"
#include "tests/support/model_text.h"

namespace bf_aot::input {
namespace {

std::filesystem::path write(const std::string& text) {
  static const test::TempFolder folder;
  const auto path = folder.path() / "box.json";
  std::ofstream(path, std::ios::binary) << text;
  return path;
}

std::string code_of(const std::string& text) {
  try {
    read_box(write(text), std::nullopt);
  } catch (const CompileError& error) {
    return error.diagnostics().front().code;
  }
  return "";
}

FloatBox rounded(const std::string& lower, const std::string& upper) {
  const BoxFile file =
      read_box(write(R"({"lower": [)" + lower + R"(], "upper": [)" + upper + "]}"), std::nullopt);
  return round_outward(file, 1);
}

TEST(JsonIoTest, RoundsOutward) {
  for (const char* text : {"0.1", "-0.1", "1e-60", "-1e-60", "16777217", "3.3e38", "0.3"}) {
    const double x = std::stod(text);
    const FloatBox box = rounded(text, text);
    EXPECT_LT(static_cast<double>(box.lower[0]), x) << text;
    EXPECT_GT(static_cast<double>(box.upper[0]), x) << text;
    EXPECT_EQ(std::nextafterf(box.lower[0], INFINITY), box.upper[0]) << text;
  }
}

TEST(JsonIoTest, KeepsFloats) {
  for (const char* text : {"0", "0.5", "-3", "16777216", "0.1e1"}) {
    const FloatBox box = rounded(text, text);
    EXPECT_EQ(box.lower[0], box.upper[0]) << text;
  }
  const FloatBox whole = rounded("-340282346638528859811704183484516925440",
                                 "340282346638528859811704183484516925440");
  EXPECT_EQ(whole.lower[0], -FLT_MAX);
  EXPECT_EQ(whole.upper[0], FLT_MAX);
}

// Numbers that no double holds are not the double next to them.
TEST(JsonIoTest, RoundsDecimalsOutward) {
  EXPECT_EQ(rounded("1e-400", "1e-400").lower[0], 0.0F);
  EXPECT_EQ(rounded("1e-400", "1e-400").upper[0], 0x1p-149F);
  EXPECT_EQ(rounded("-1e-400", "0").lower[0], -0x1p-149F);
  EXPECT_LT(rounded("0.99999999999999999999999", "1").lower[0], 1.0F);
  EXPECT_EQ(rounded("0", "0.99999999999999999999999").upper[0], 1.0F);
  EXPECT_EQ(rounded("16777216.00000000000000000001", "16777217").lower[0], 16777216.0F);
  EXPECT_EQ(rounded("0", "16777216.00000000000000000001").upper[0], 16777218.0F);
  EXPECT_EQ(rounded("0", "36028797018963969").upper[0], std::nextafterf(0x1p55F, INFINITY));
  EXPECT_EQ(code_of(R"({"lower": [1.00000000000000000000001], "upper": [1]})"), "BF3008");
  EXPECT_EQ(code_of(R"({"lower": [1e-400], "upper": [0]})"), "BF3008");
  EXPECT_EQ(code_of(R"({"lower": [0], "upper": [1e-400]})"), "");
  EXPECT_EQ(code_of(R"({"lower": [0], "upper": [1e-99999]})"), "BF3007");
}

// A program's doubles are the numbers that it meant.
TEST(JsonIoTest, ReadsDoublesWhereTheFileSaysSo) {
  const auto path =
      write(R"({"dtype": "float64", "lower": [0.2304147481918335], "upper": [0.25]})");
  EXPECT_EQ(round_outward(read_box(path, std::nullopt), 1).lower[0], 0.2304147481918335F);
  EXPECT_GT(rounded("0", "0.2304147481918335").upper[0], 0.2304147481918335F);
}

std::string refusal(const std::string& text) {
  try {
    (void)read_box(write(text), 0);
  } catch (const CompileError& error) {
    return error.diagnostics().front().code + " " + error.diagnostics().front().message;
  }
  return "";
}

TEST(JsonIoTest, RefusesAnotherTypeOfNumbers) {
  for (const char* type : {"\"float32\"", "\"Float64\"", "64", "null", "[\"float64\"]"}) {
    const std::string dtype = std::string("\"dtype\": ") + type;
    EXPECT_EQ(refusal("{" + dtype + R"(, "lower": [0.1], "upper": [0.2]})"),
              "BF3004 the type of the numbers is not read");
    EXPECT_EQ(refusal("{" + dtype + R"(, "boxes": [{"lower": [0.1], "upper": [0.2]}]})"),
              "BF3004 the type of the numbers is not read");
    EXPECT_EQ(refusal(R"({"boxes": [{"lower": [0.1], "upper": [0.2], )" + dtype + "}]}"),
              "BF3004 the type of the numbers is not read");
    EXPECT_THROW((void)read_spec(write("{\"C\": [[0.1]], " + dtype + "}")), CompileError);
  }
  EXPECT_EQ(
      refusal(R"({"dtype": "float64", "dtype": "x", "lower": [0], "upper": [1]})").substr(0, 6),
      "BF3005");
  // A box of several says it of itself.
  const auto path =
      write(R"({"boxes": [{"dtype": "float64", "lower": [0.2304147481918335], "upper": [0.25]}]})");
  EXPECT_EQ(round_outward(read_box(path, 0), 1).lower[0], 0.2304147481918335F);
}

TEST(JsonIoTest, PaysForDecimalsOfASpecification) {
  const LinearSpec spec = read_spec(write(R"({"C": [[0.1, 1], [2, 1e-400]], "d": [0.1, 0.5]})"));
  ASSERT_EQ(spec.row_error.size(), 2U);
  EXPECT_GT(spec.row_error[0][0], 0);
  EXPECT_LT(spec.row_error[0][0], 0x1p-55);
  EXPECT_EQ(spec.row_error[0][1], 0);
  EXPECT_GT(spec.row_error[1][1], 0);
  ASSERT_EQ(spec.offset_error.size(), 2U);
  EXPECT_GT(spec.offset_error[0], 0);
  EXPECT_EQ(spec.offset_error[1], 0);
  const LinearSpec exact = read_spec(write(R"({"C": [[1, -1]], "d": [0.5]})"));
  EXPECT_TRUE(exact.row_error.empty() && exact.offset_error.empty());
}

TEST(JsonIoTest, RefusesWhatFloatsCannotHold) {
  EXPECT_THROW(rounded("0", "3.5e38"), CompileError);
  EXPECT_THROW(rounded("-1e300", "0"), CompileError);
  // The nearest float is MAX, but the number is above it.
  EXPECT_THROW(rounded("0", "3.40282347e38"), CompileError);
}

TEST(JsonIoTest, FindsDuplicateKeysAtAnyDepth) {
  EXPECT_EQ(code_of(R"({"lower": [0], "upper": [1]})"), "");
  EXPECT_EQ(code_of(R"({"lower": [0], "upper": [1], "upper": [2]})"), "BF3005");
  EXPECT_EQ(code_of(R"({"boxes": [{"lower": [0], "lower": [0], "upper": [1]}]})"), "BF3005");
  // The same key in different objects is fine.
  EXPECT_EQ(code_of(R"({"boxes": [{"lower": [0], "upper": [1]}, {"lower": [0], "upper": [1]}]})"),
            "");
}

TEST(JsonIoTest, NamesTheLineOfASyntaxError) {
  try {
    read_box(write("{\n  \"lower\": [0],\n  \"upper\": [1,]\n}"), std::nullopt);
    FAIL() << "accepted";
  } catch (const CompileError& error) {
    EXPECT_NE(std::string(error.what()).find(".json:3:15"), std::string::npos) << error.what();
  }
}

TEST(JsonIoTest, SurvivesDeepNesting) {
  EXPECT_EQ(code_of(std::string(100'000, '[')), "BF3003");
  EXPECT_EQ(code_of(std::string(40, '[') + std::string(40, ']')), "BF3003");
}

}  // namespace
}  // namespace bf_aot::input
