#include "frontend/import/helpers/narrow.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

#include "frontend/derivative/derivative.h"
#include "frontend/diagnostic.h"
#include "frontend/evaluate/evaluate.h"
#include "frontend/graph/rounding.h"
#include "frontend/import/file/float16.h"
#include "frontend/import/file/importer.h"
#include "tests/support/model_text.h"

namespace bf_aot {
namespace {

using Special = Float8Format::Special;

constexpr int kFloat16 = 10, kBfloat16 = 16, kFloat4 = 23;

// The value of a code; NaN where it is none.
double value_of(int type, int code) {
  if (type == kFloat4)
    return code < 8 ? float4_to_double(static_cast<std::uint8_t>(code)) : HUGE_VAL;
  if (type == kFloat16) return float16_to_double(static_cast<std::uint16_t>(code));
  if (type == kBfloat16) return bfloat16_to_double(static_cast<std::uint16_t>(code));
  const auto bits = static_cast<std::uint8_t>(code);
  if (type == 17) return float8_to_double(bits, {3, 7, Special::kLargest});
  if (type == 18) return float8_to_double(bits, {3, 8, Special::kNegative});
  if (type == 19) return float8_to_double(bits, {2, 15, Special::kIeee});
  return float8_to_double(bits, {2, 16, Special::kNegative});
}

// All finite numbers that are not negative: number i has code i.
std::vector<double> numbers_of(int type) {
  std::vector<double> numbers;
  for (int code = 0; std::isfinite(value_of(type, code)); ++code) {
    numbers.push_back(value_of(type, code));
    if (type >= 17 && code == 0x7F) break;
  }
  return numbers;
}

class Narrow : public testing::TestWithParam<int> {};

// Each number, the middle between it and the next one, and the doubles beside these.
TEST_P(Narrow, RoundsToTheNearestNumberTiesToEven) {
  const FloatFormat* const format = narrow_format(GetParam());
  ASSERT_NE(format, nullptr);
  const std::vector<double> numbers = numbers_of(GetParam());
  EXPECT_EQ(numbers[1], format->step);
  EXPECT_EQ(numbers.back(), format->largest);
  for (std::size_t i = 0; i + 1 < numbers.size(); ++i) {
    const double middle = numbers[i] / 2 + numbers[i + 1] / 2;
    const double even = numbers[i % 2 == 0 ? i : i + 1];
    const double below = std::nextafter(middle, -INFINITY),
                 above = std::nextafter(middle, INFINITY);
    for (const double sign : {1.0, -1.0}) {
      EXPECT_EQ(round_to(*format, sign * numbers[i]), sign * numbers[i]);
      EXPECT_EQ(round_to(*format, sign * middle), sign * even);
      EXPECT_EQ(round_to(*format, sign * below), sign * numbers[i]);
      EXPECT_EQ(round_to(*format, sign * above), sign * numbers[i + 1]);
    }
    // What bounds of tensors count.
    const double miss = middle - numbers[i];
    EXPECT_LE(miss, std::ldexp(middle, -format->digits) + format->step / 2);
  }
  EXPECT_EQ(round_to(*format, 2 * format->largest), INFINITY);
}

INSTANTIATE_TEST_SUITE_P(Formats, Narrow,
                         testing::Values(kFloat16, kBfloat16, 17, 18, 19, 20, kFloat4));

Graph cast_of(const std::string& data, int type, int to, const std::string& more = "") {
  const std::string text = R"(ir_version: 9 opset_import { version: 19 } graph {
    node { op_type: "Cast" input: "t" output: "r" attribute { name: "to" type: INT i: )" +
                           std::to_string(to) + " } " + more + R"( }
    node { op_type: "Cast" input: "r" output: "f" attribute { name: "to" type: INT i: 1 } }
    node { op_type: "Mul" input: "x" input: "f" output: "y" }
    input { name: "x" type { tensor_type { elem_type: 1 shape { dim { dim_value: 1 } } } } }
    output { name: "y" }
    initializer { name: "t" dims: 1 data_type: )" +
                           std::to_string(type) + " " + data + " } }";
  return import_model_bytes(test::encode_model(text), "m", {}).graph;
}

double constant_cast(const std::string& data, int type, int to, const std::string& more = "") {
  return evaluate(cast_of(data, type, to, more), {{1}})[0][0];
}

std::string code_of(const std::string& data, int type, int to, const std::string& more = "") {
  try {
    cast_of(data, type, to, more);
  } catch (const CompileError& error) {
    return error.diagnostics().front().code;
  }
  return "";
}

const std::string kNotSaturated = R"(attribute { name: "saturate" type: INT i: 0 })";

TEST(Narrow, ConstantsAreRoundedOnce) {
  EXPECT_EQ(constant_cast("float_data: 2.740135", 1, kFloat16), 2.740234375);
  // In float it is the middle of two numbers.
  EXPECT_EQ(constant_cast("double_data: 1.00048828125000022", 11, kFloat16), 1.0009765625);
  EXPECT_EQ(constant_cast("double_data: 0.1", 11, 1), static_cast<double>(0.1F));
  EXPECT_EQ(constant_cast("int64_data: 2049", 7, kFloat16), 2048);
  EXPECT_EQ(constant_cast("int64_data: 16777217", 7, 1), 16777216);
  EXPECT_EQ(constant_cast("float_data: 65519", 1, kFloat16), 65504);
  EXPECT_EQ(code_of("float_data: 65520", 1, kFloat16), "BF1023");
  EXPECT_EQ(constant_cast("float_data: 1000", 1, 17), 448);
  EXPECT_EQ(code_of("float_data: 1000", 1, 17, kNotSaturated), "BF1023");
}

Graph cast_of_input(int to, const std::string& more = "") {
  const std::string text = R"(ir_version: 9 opset_import { version: 19 } graph {
    node { op_type: "Cast" input: "x" output: "r" attribute { name: "to" type: INT i: )" +
                           std::to_string(to) + " } " + more + R"( }
    node { op_type: "Cast" input: "r" output: "y" attribute { name: "to" type: INT i: 1 } }
    input { name: "x" type { tensor_type { elem_type: 1 shape { dim { dim_value: 1 } } } } }
    output { name: "y" } })";
  return import_model_bytes(test::encode_model(text), "m", {}).graph;
}

const Scale& rounding_of(const Graph& graph) {
  const auto found =
      std::ranges::find_if(graph.nodes, [](const Node& node) { return is_rounding(node.op); });
  if (found == graph.nodes.end()) throw std::runtime_error("nothing rounds");
  return std::get<Scale>(found->op);
}

// By exact arithmetic at each number, at the middles between them and beside these.
TEST_P(Narrow, TensorsOfFewBitsAreTheNearestNumber) {
  const FloatFormat& format = *narrow_format(GetParam());
  if (format.digits > 4) GTEST_SKIP() << "an error stands for the rounding";
  const Graph graph = cast_of_input(GetParam());
  const std::vector<double> numbers = numbers_of(GetParam());
  for (std::size_t i = 0; i + 1 < numbers.size(); ++i) {
    const double middle = numbers[i] / 2 + numbers[i + 1] / 2;
    for (const double x : {numbers[i], middle, std::nextafter(middle, -INFINITY),
                           std::nextafter(middle, INFINITY), 2 * format.largest})
      for (const double sign : {1.0, -1.0}) {
        const double nearest = round_to(format, sign * std::min(x, format.largest));
        EXPECT_EQ(evaluate(graph, {{sign * x}})[0][0], nearest) << sign * x;
      }
  }
}

TEST_P(Narrow, ErrorsOfTensorsHoldTheNearestNumber) {
  const FloatFormat& format = *narrow_format(GetParam());
  for (const std::string& more : {std::string(), kNotSaturated}) {
    if (more.empty() ? format.digits <= 4 : GetParam() == kFloat4) continue;
    const Graph graph = cast_of_input(GetParam(), more);
    const Scale& scale = rounding_of(graph);
    EXPECT_EQ(scale.factor.data[0], 1);
    EXPECT_LE(scale.offset.error_at(0), 0.5 * format.step * (1 + 0x1p-8) + 0x1p-58);
    const std::vector<double> numbers = numbers_of(GetParam());
    for (std::size_t i = 0; i + 1 < numbers.size(); ++i) {
      const double middle = numbers[i] / 2 + numbers[i + 1] / 2;
      const double lost = std::abs(round_to(format, middle) - middle);
      EXPECT_LE(lost, scale.factor.error_at(0) * middle + scale.offset.error_at(0));
      EXPECT_NEAR(evaluate(graph, {{middle}})[0][0], middle, lost);
    }
  }
}

TEST(Narrow, OverflowIsNoNumberUnlessSaturated) {
  const auto at = [](const Graph& graph, double x) { return evaluate(graph, {{x}})[0][0]; };
  EXPECT_TRUE(std::isfinite(at(cast_of_input(kFloat16), 65519)));
  EXPECT_FALSE(std::isfinite(at(cast_of_input(kFloat16), 65520)));
  EXPECT_FALSE(std::isfinite(at(cast_of_input(kFloat16), -65520)));
  EXPECT_FALSE(std::isfinite(at(cast_of_input(17, kNotSaturated), 500)));
  EXPECT_EQ(at(cast_of_input(17), 500), 448);
}

TEST(Narrow, HasNoDerivative) {
  const std::vector<std::size_t> first = {0};
  EXPECT_THROW(derivative_graph(cast_of_input(kFloat16), first), CompileError);
  EXPECT_THROW(derivative_graph(cast_of_input(17), first), CompileError);
}

// float16 to float, and to itself, loses nothing.
TEST(Narrow, WiderTypesHoldAllNumbers) {
  EXPECT_TRUE(holds_all_of(kFloat16, 1));
  EXPECT_TRUE(holds_all_of(17, kFloat16));
  EXPECT_TRUE(holds_all_of(2, kFloat16));
  EXPECT_FALSE(holds_all_of(kFloat16, kBfloat16));
  EXPECT_FALSE(holds_all_of(kBfloat16, kFloat16));
  EXPECT_FALSE(holds_all_of(5, kFloat16));
  EXPECT_FALSE(holds_all_of(5, kBfloat16));
}

}  // namespace
}  // namespace bf_aot
