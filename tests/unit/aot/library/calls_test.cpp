// Calls of many boxes that are watched, boxes of doubles, and what a model says of itself.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "aot/library/bf_aot.h"
#include "tests/paths.h"
#include "tests/support/model_text.h"

namespace bf_aot::api {
namespace {

constexpr std::size_t kBoxes = 10;

Verifier make(int batch, int threads = 1, const Specification& specification = {}) {
  const auto model = Model::load(BF_SOURCE_DIR "/models/collision_avoidance_6x50.onnx");
  if (!model) throw std::runtime_error(model.error().text());
  Options options;
  options.batch = batch;
  options.threads = threads;
  auto verifier = Verifier::make(*model, options, specification);
  if (!verifier) throw std::runtime_error(verifier.error().text());
  return *verifier;
}

const std::vector<float> kLower(kBoxes * 5, 0.1F), kUpper(kBoxes * 5, 0.125F);

TEST(LibraryCalls, a_model_says_what_it_is) {
  const auto model = Model::load(BF_SOURCE_DIR "/models/collision_avoidance_6x50.onnx");
  ASSERT_TRUE(model.ok());
  EXPECT_EQ(model->parameter_count(), 13310u);
  EXPECT_EQ(model->sha256().size(), 64u);
}

TEST(LibraryCalls, progress_is_told_after_each_group) {
  std::vector<std::size_t> told;
  Call call;
  call.progress = [&](std::size_t done) { told.push_back(done); };
  ASSERT_TRUE(make(4).bounds(kLower, kUpper, call).ok());
  EXPECT_EQ(told, (std::vector<std::size_t>{4, 8, 10}));
}

TEST(LibraryCalls, what_progress_throws_ends_the_call) {
  Call call;
  call.progress = [](std::size_t) { throw std::runtime_error("enough"); };
  for (const int threads : {1, 3}) {
    const auto bounds = make(1, threads).bounds(kLower, kUpper, call);
    ASSERT_FALSE(bounds.ok());
    EXPECT_EQ(bounds.error().code, "BF3505");
    EXPECT_EQ(bounds.error().message, "the function threw: enough");
  }
}

TEST(LibraryCalls, boxes_of_a_device_need_its_verifier) {
  const Verifier verifier = make(1);
  const DeviceBoxes boxes = {kBoxes, kLower.data(), kUpper.data()};
  for (const auto& bounds : {verifier.bounds(boxes), verifier.spec_bounds(boxes)}) {
    ASSERT_FALSE(bounds.ok());
    EXPECT_EQ(bounds.error().code, "BF3502");
  }
}

TEST(LibraryCalls, a_stop_is_an_error_and_no_bounds) {
  std::stop_source source;
  Call call;
  call.stop = source.get_token();
  call.progress = [&](std::size_t done) {
    if (done == 6) source.request_stop();
  };
  const Verifier verifier = make(2);
  const auto stopped = verifier.bounds(kLower, kUpper, call);
  ASSERT_FALSE(stopped.ok());
  EXPECT_EQ(stopped.error().code, "BF3506");
  EXPECT_EQ(stopped.error().message, "stopped after 6 of 10");
  // Asked for when all boxes are done, it ends nothing.
  Call late;
  std::stop_source done;
  late.stop = done.get_token();
  late.progress = [&](std::size_t count) {
    if (count == kBoxes) done.request_stop();
  };
  EXPECT_TRUE(verifier.bounds(kLower, kUpper, late).ok());
}

// A double between two floats: the box must reach the outer ones.
TEST(LibraryCalls, boxes_of_doubles_are_rounded_outward) {
  const Verifier verifier = make(1, 1, {{1, -1, 0, 0, 0}, {}});
  const float low = 0.1F, high = 0.125F;
  const std::vector<float> lower(5, low), upper(5, high);
  for (const double share : {0.25, 0.75}) {  // nearer to the one or to the other
    const float below = std::nextafter(low, 0.0F), above = std::nextafter(high, 1.0F);
    const std::vector<double> inner_lower(5, below + share * (double{low} - below));
    const std::vector<double> inner_upper(5, high + share * (double{above} - high));
    const std::vector<float> outer_lower(5, below), outer_upper(5, above);
    for (const bool spec : {false, true}) {
      const auto bound = [&](const auto& l, const auto& u) {
        return spec ? verifier.spec_bounds(l, u) : verifier.bounds(l, u);
      };
      const auto rounded = bound(inner_lower, inner_upper), outer = bound(outer_lower, outer_upper);
      ASSERT_TRUE(rounded.ok());
      EXPECT_EQ(rounded->lower, outer->lower);
      EXPECT_EQ(rounded->upper, outer->upper);
    }
  }
  // Floats as doubles are the same numbers.
  const std::vector<double> same_lower(lower.begin(), lower.end());
  const std::vector<double> same_upper(upper.begin(), upper.end());
  EXPECT_EQ(verifier.bounds(same_lower, same_upper)->lower, verifier.bounds(lower, upper)->lower);
}

TEST(LibraryCalls, doubles_without_a_float_are_refused) {
  const Verifier verifier = make(1);
  const auto error = [&](double low, double high) {
    std::vector<double> lower(5, 0), upper(5, 0);
    lower[2] = low;
    upper[2] = high;
    const auto result = verifier.bounds(lower, upper);
    return result ? "" : result.error().code + " " + result.error().where;
  };
  EXPECT_EQ(error(-1e300, 0), "BF3503 box 0, input 2");
  EXPECT_EQ(error(0, 1e300), "BF3503 box 0, input 2");
  EXPECT_EQ(error(std::numeric_limits<double>::quiet_NaN(), 0), "BF3503 box 0, input 2");
  EXPECT_EQ(error(1, 1), "");
  EXPECT_EQ(error(1 + 1e-12, 1), "BF3503 box 0, input 2");  // between two floats
}

TEST(LibraryCalls, many_points_are_evaluated_as_one_by_one) {
  const Verifier verifier = make(1);
  std::vector<float> x, expected;
  for (int point = 0; point < 3; ++point) {
    std::vector<float> one(5, 0.1F * static_cast<float>(point));
    x.insert(x.end(), one.begin(), one.end());
    const auto y = verifier.evaluate(one);
    ASSERT_TRUE(y.ok());
    expected.insert(expected.end(), y->begin(), y->end());
  }
  EXPECT_EQ(*verifier.evaluate(x), expected);
  x[7] = std::numeric_limits<float>::infinity();
  EXPECT_EQ(verifier.evaluate(x).error().where, "point 1, input 2");
}

// Two linear layers with a ReLU between them, a product, and a function with jumps at the values
// that these have at the points below.
std::string jumps_of(const std::string& op) {
  return R"(
  ir_version: 8
  opset_import { version: 13 }
  graph {
    name: "jumps"
    node { op_type: "MatMul" input: "x" input: "v" output: "h" }
    node { op_type: "Relu" input: "h" output: "r" }
    node { op_type: "MatMul" input: "r" input: "w" output: "m" }
    node { op_type: "Mul" input: "m" input: "m" output: "p" }
    node { op_type: "Concat" input: "m" input: "p" output: "c"
           attribute { name: "axis" type: INT i: 1 } }
    node { op_type: ")" +
         op + R"(" input: "c" output: "y" }
    initializer { name: "v" dims: 2 dims: 3 data_type: 1 float_data: [1, -1, 3, 1, 2, -1] }
    initializer { name: "w" dims: 3 dims: 2 data_type: 1 float_data: [1, 0.5, -1, 0.5, 1, -1] }
    input { name: "x" type { tensor_type { elem_type: 1
      shape { dim { dim_value: 1 } dim { dim_value: 2 } } } } }
    output { name: "y" type { tensor_type { elem_type: 1
      shape { dim { dim_value: 1 } dim { dim_value: 4 } } } } }
  })";
}

// The middle of bounds of what rounding may make would be between the values at a jump.
TEST(LibraryCalls, functions_with_jumps_are_evaluated_at_the_computed_value) {
  const std::pair<const char*, float (*)(float)> functions[] = {
      {"Floor", [](float m) { return std::floor(m); }},
      {"Ceil", [](float m) { return std::ceil(m); }},
      {"Round", [](float m) { return std::nearbyint(m); }},
      {"Sign", [](float m) { return static_cast<float>((m > 0) - (m < 0)); }}};
  for (const auto& [op, function] : functions) {
    const std::string bytes = test::encode_model(jumps_of(op));
    const auto model = Model::from_bytes(std::as_bytes(std::span(bytes)));
    ASSERT_TRUE(model.ok()) << op << ": " << model.error().text();
    for (const char* semantics : {"real", "float32"}) {
      Options options;
      options.semantics = semantics_named(semantics).value();
      const auto verifier = Verifier::make(*model, options);
      ASSERT_TRUE(verifier.ok()) << op << ": " << verifier.error().text();
      for (float a = -3; a <= 3; ++a)
        for (float b = -3; b <= 3; ++b) {
          const float r[] = {std::max(a + b, 0.0F), std::max(2 * b - a, 0.0F),
                             std::max(3 * a - b, 0.0F)};
          const float m = r[0] - r[1] + r[2], n = 0.5F * r[0] + 0.5F * r[1] - r[2];
          const auto y = verifier->evaluate(std::vector<float>{a, b});
          ASSERT_TRUE(y.ok());
          const std::vector<float> expected = {function(m), function(n), function(m * m),
                                               function(n * n)};
          EXPECT_EQ(*y, expected) << op << " of " << a << ", " << b << ", " << semantics;
        }
    }
  }
}

}  // namespace
}  // namespace bf_aot::api
