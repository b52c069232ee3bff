#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "aot/library/bf_aot.h"
#include "tests/paths.h"
#include "tests/support/model_text.h"

namespace bf_aot::api {
namespace {

// The classes' scores are the sum of a picture of 2 x 2 and 1, so that class 0 wins where the sum
// is above 1.
constexpr char kSum[] = R"(
  ir_version: 8
  opset_import { version: 13 }
  graph {
    name: "sum"
    node { op_type: "Flatten" input: "x" output: "f" }
    node { op_type: "MatMul" input: "f" input: "w" output: "m" }
    node { op_type: "Add" input: "m" input: "b" output: "y" }
    initializer { name: "w" dims: 4 dims: 2 data_type: 1
                  float_data: [1, 0, 1, 0, 1, 0, 1, 0] }
    initializer { name: "b" dims: 2 data_type: 1 float_data: [0, 1] }
    input { name: "x" type { tensor_type { elem_type: 1
      shape { dim { dim_value: 1 } dim { dim_value: 1 } dim { dim_value: 2 } dim { dim_value: 2 } } } } }
    output { name: "y" type { tensor_type { elem_type: 1
      shape { dim { dim_value: 1 } dim { dim_value: 2 } } } } }
  })";

Model sum_model() {
  const std::string bytes = test::encode_model(kSum);
  return Model::from_bytes(std::as_bytes(std::span(bytes))).value();
}

DisturbOptions options_of(const std::vector<std::string>& disturbances) {
  DisturbOptions options;
  options.disturbances = disturbances;
  options.height = options.width = 2;
  options.seconds = 1;
  return options;
}

DisturbedSample certify(const std::vector<double>& picture, const DisturbOptions& options) {
  const auto certifier = DisturbanceCertifier::make(sum_model(), options);
  if (!certifier) throw std::runtime_error(certifier.error().text());
  const std::vector<std::size_t> label = {0};
  const auto found = certifier->certify(picture, label);
  if (!found) throw std::runtime_error(found.error().text());
  return (*found)[0];
}

std::string error_of(const DisturbOptions& options) {
  const auto certifier = DisturbanceCertifier::make(sum_model(), options);
  return certifier ? "" : certifier.error().code + " " + certifier.error().where;
}

// The sum of the disturbed picture is known: the verdicts are those of exact ends.
TEST(Disturb, DecidesAtExactEnds) {
  const std::vector<double> picture = {0.5, 0.5, 0.5, 0.5};  // of sum 2
  // 2 + 4 b > 1 for b > -1/4: at the end itself it is a tie, which answers no class.
  EXPECT_EQ(certify(picture, options_of({"brightness=-0.2499..1"})).robustness,
            Robustness::kCertified);
  EXPECT_NE(certify(picture, options_of({"brightness=-1/4..1"})).robustness,
            Robustness::kCertified);
  const DisturbedSample beyond = certify(picture, options_of({"brightness=-5/16..1"}));
  EXPECT_EQ(beyond.robustness, Robustness::kFalsified);
  ASSERT_EQ(beyond.parameters.size(), 1U);
  EXPECT_EQ(beyond.parameters[0], -0.3125);
  ASSERT_EQ(beyond.counterexample.size(), 4U);
  EXPECT_NEAR(beyond.counterexample[0], 0.1875, 1e-12);
  EXPECT_EQ(certify(picture, options_of({"contrast=0.51..2"})).robustness, Robustness::kCertified);
  EXPECT_EQ(certify(picture, options_of({"contrast=0.49..2"})).robustness, Robustness::kFalsified);
  // A square of 0 takes 1/2 of the sum, or all.
  EXPECT_EQ(certify(picture, options_of({"occlusion=1"})).robustness, Robustness::kCertified);
  EXPECT_EQ(certify(picture, options_of({"occlusion=2"})).robustness, Robustness::kFalsified);
  // Both: 1.5 c > 1.
  EXPECT_EQ(certify(picture, options_of({"occlusion=1", "contrast=0.7..1"})).robustness,
            Robustness::kCertified);
  EXPECT_EQ(certify(picture, options_of({"occlusion=1", "contrast=0.6..1"})).robustness,
            Robustness::kFalsified);
}

TEST(Disturb, PatchesHaveAnyNumbers) {
  DisturbOptions options = options_of({"patch=1"});
  options.clip = {"0", "1"};
  const DisturbedSample safe = certify({0.5, 0.5, 0.5, 0.5}, options);
  EXPECT_EQ(safe.robustness, Robustness::kCertified);
  EXPECT_EQ(safe.certified, 1);
  const DisturbedSample open = certify({0.9, 0.1, 0.1, 0.1}, options);
  EXPECT_EQ(open.robustness, Robustness::kFalsified);
  ASSERT_EQ(open.counterexample.size(), 4U);
  double sum = 0;
  for (const double each : open.counterexample) {
    EXPECT_GE(each, 0);
    EXPECT_LE(each, 1);
    sum += each;
  }
  EXPECT_LE(sum, 1);
  EXPECT_EQ(open.parameters, (std::vector<double>{0, 0}));
}

// A rotation by 90 degrees about the centre moves the pixels of a picture of 2 x 2,
// counterclockwise.
TEST(Disturb, RotatesCounterclockwise) {
  const DisturbedSample found = certify({0, 1, 0, 0.001}, [] {
    DisturbOptions options = options_of({"rotation=90..90", "contrast=0.5..0.5"});
    return options;
  }());
  EXPECT_EQ(found.robustness, Robustness::kFalsified);
  ASSERT_EQ(found.counterexample.size(), 4U);
  EXPECT_NEAR(found.counterexample[0], 0.5, 1e-9);  // the upper right one is the upper left one
  EXPECT_NEAR(found.counterexample[1], 0.0005, 1e-9);
  EXPECT_NEAR(found.counterexample[2], 0, 1e-9);
}

TEST(Disturb, WrongAndUnknown) {
  EXPECT_EQ(certify({0.1, 0.1, 0.1, 0.1}, options_of({"fog=0..1"})).robustness, Robustness::kWrong);
  // The sum comes down to 1 + 1e-9 only: no bounds by float32 decide that.
  DisturbOptions options = options_of({"brightness=-0.24999999999..0"});
  options.seconds = 0.05;
  const DisturbedSample open = certify({0.5, 0.5, 0.5, 0.5}, options);
  EXPECT_EQ(open.robustness, Robustness::kUnknown);
  EXPECT_GT(open.certified, 0.9);
  EXPECT_LT(open.certified, 1);
}

TEST(Disturb, NamesWhatIsWrong) {
  const auto of = [](const char* text) { return error_of(options_of({text})); };
  for (const char* const text :
       {"rotate=1..2", "rotation", "rotation=5", "rotation=a..b", "rotation=5..-5", "fog=0..2",
        "occlusion=3", "occlusion=0", "occlusion=1..2"})
    EXPECT_EQ(of(text), "BF3013 disturbances") << text;
  EXPECT_EQ(error_of(options_of({"fog=0..1", "fog=0..0.5"})), "BF3013 disturbances");
  EXPECT_EQ(error_of(options_of({"translation=0..1", "occlusion=1"})), "BF3013 disturbances");
  EXPECT_EQ(error_of(options_of({"patch=1", "fog=0..1"})), "BF3013 disturbances");
  EXPECT_EQ(error_of(options_of({})), "BF3501 disturbances");
  EXPECT_EQ(of("patch=1"), "BF3501 clip");
  DisturbOptions options = options_of({"fog=0..1"});
  options.bounds.semantics = Semantics::kFloat32;
  EXPECT_EQ(error_of(options), "BF3501 semantics");
  options = options_of({"fog=0..1"});
  options.bounds.norm = Norm::kL2;
  EXPECT_EQ(error_of(options), "BF3501 norm");
  options = options_of({"fog=0..1"});
  options.height = 3;
  EXPECT_EQ(error_of(options), "BF3501 height");
  options = options_of({"fog=0..1"});
  options.mean = {"0", "1"};
  EXPECT_EQ(error_of(options), "BF3501 mean");
  options = options_of({"fog=0..1"});
  options.clip = {"1", "0"};
  EXPECT_EQ(error_of(options), "BF3501 clip");
}

}  // namespace
}  // namespace bf_aot::api
