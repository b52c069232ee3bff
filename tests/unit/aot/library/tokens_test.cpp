#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "aot/library/bf_aot.h"
#include "tests/paths.h"

namespace bf_aot::api {
namespace {

const std::string kText = BF_SOURCE_DIR "/models/examples/text/";
const std::vector<std::vector<std::int64_t>> kSets = {{1, 3}, {4},          {10, 11},
                                                      {14},   {18, 23, 26}, {0}};

template <class T>
std::string code(const Result<T>& result) {
  return result ? "" : result.error().code;
}

Model text_model() {
  Cut cut;
  cut.tokens["ids"] = kSets;
  return Model::load(kText + "classifier.onnx", cut).value();
}

TEST(LibraryTokens, BoundsHoldForTheirTexts) {
  const Model model = text_model();
  EXPECT_EQ(model.token_sets(), kSets);
  EXPECT_EQ(model.input_count(), 18U);
  const Verifier verifier = Verifier::make(model).value();
  const Ends all = model.box_of_ids().value();
  const Bounds bounds = verifier.bounds(all.lower, all.upper).value();
  for (const std::int64_t last : {18, 23, 26}) {
    const Ends text = model.box_of_ids({{3}, {4}, {10}, {14}, {last}, {0}}).value();
    EXPECT_EQ(text.lower, text.upper);
    const std::vector<float> scores = verifier.evaluate(text.lower).value();
    for (std::size_t j = 0; j < 2; ++j) {
      EXPECT_LE(bounds.lower[j], scores[j] + 1e-5F);
      EXPECT_GE(bounds.upper[j], scores[j] - 1e-5F);
    }
  }
}

TEST(LibraryTokens, PropertiesAreOfIds) {
  const VerifyResult result = verify(text_model(), kText + "good.vnnlib").value();
  ASSERT_EQ(result.verdict, Verdict::kFalsified);
  EXPECT_EQ(result.counterexample->input[4], 26);  // awful
  EXPECT_EQ(result.counterexample->input[1], 4);
}

TEST(LibraryTokens, WhatDoesNotFitIsRefused) {
  Cut cut;
  cut.tokens["ids"] = kSets;
  cut.fixed["ids"] = {1, 4, 10, 14, 18, 0};
  EXPECT_EQ(code(Model::load(kText + "classifier.onnx", cut)), "BF1029");
  cut.tokens.clear();  // one text
  EXPECT_EQ(code(Model::load(kText + "classifier.onnx", cut)), "");
  const Model model = text_model();
  EXPECT_EQ(code(model.box_of_ids({{1}})), "BF3021");
  Options options;
  options.method = Method::kIbp;
  EXPECT_EQ(code(Verifier::make(model, options)), "BF2117");
  EXPECT_EQ(code(Certifier::make(model)), "BF2117");
}

}  // namespace
}  // namespace bf_aot::api
