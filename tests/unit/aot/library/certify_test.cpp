#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "aot/library/bf_aot.h"
#include "aot/library/explain.h"
#include "tests/paths.h"

namespace bf_aot::api {
namespace {

const std::string kDigits = BF_SOURCE_DIR "/models/digits_64x2.onnx";
const std::string kController = BF_SOURCE_DIR "/models/collision_avoidance_6x50.onnx";

Model load(const std::string& path) {
  auto model = Model::load(path);
  if (!model) throw std::runtime_error(model.error().text());
  return *model;
}

// Random samples about a point, of which some are answered wrongly, and boxes of a radius.
struct Samples {
  Samples(const Model& model, std::size_t count, float radius) : inputs(model.input_count()) {
    std::mt19937 random(7);
    for (std::size_t i = 0; i < count * inputs; ++i) {
      const float value = static_cast<float>(random() % 1000) / 1000.0F;
      samples.push_back(value);
      lower.push_back(value - radius);
      upper.push_back(value + radius);
    }
    for (std::size_t i = 0; i < count; ++i) labels.push_back(random() % model.output_count());
  }

  SampleBoxes boxes() const { return {samples, lower, upper}; }
  std::span<const float> row(const std::vector<float>& of, std::size_t i) const {
    return std::span(of).subspan(i * inputs, inputs);
  }

  std::size_t inputs;
  std::vector<float> samples, lower, upper;
  std::vector<std::size_t> labels;
};

// The labels that the network gives.
void answer_rightly(const Model& model, Samples& samples) {
  const auto verifier = Verifier::make(model);
  for (std::size_t i = 0; i < samples.labels.size(); ++i) {
    const auto y = verifier->evaluate(samples.row(samples.samples, i));
    samples.labels[i] =
        static_cast<std::size_t>(std::max_element(y->begin(), y->end()) - y->begin());
  }
}

std::vector<CertifiedSample> certify(const Model& model, const Samples& samples,
                                     const CertifyOptions& options = {}) {
  const auto certifier = Certifier::make(model, options);
  if (!certifier) throw std::runtime_error(certifier.error().text());
  auto results = certifier->certify(samples.boxes(), samples.labels);
  if (!results) throw std::runtime_error(results.error().text());
  return *results;
}

// The same from a verifier for the one label.
float margin_of(const Model& model, const Samples& samples, std::size_t i) {
  Specification specification;
  for (std::size_t j = 0; j < model.output_count(); ++j) {
    if (j == samples.labels[i]) continue;
    std::vector<double> row(model.output_count(), 0.0);
    row[samples.labels[i]] = 1;
    row[j] = -1;
    specification.rows.insert(specification.rows.end(), row.begin(), row.end());
  }
  const auto verifier = Verifier::make(model, {}, specification);
  const auto rows =
      verifier->spec_bounds(samples.row(samples.lower, i), samples.row(samples.upper, i));
  return *std::min_element(rows->lower.begin(), rows->lower.end());
}

TEST(LibraryCertify, finds_what_a_verifier_of_the_label_finds) {
  const Model model = load(kDigits);
  Samples samples(model, 40, 0.004F);
  answer_rightly(model, samples);
  std::size_t certified = 0;
  const std::vector<CertifiedSample> results = certify(model, samples);
  for (std::size_t i = 0; i < results.size(); ++i) {
    EXPECT_EQ(results[i].answer, samples.labels[i]);
    EXPECT_NEAR(results[i].margin, margin_of(model, samples, i), 1e-4) << i;
    EXPECT_EQ(results[i].robustness == Robustness::kCertified, results[i].margin > 0) << i;
    certified += results[i].robustness == Robustness::kCertified;
  }
  EXPECT_GT(certified, 0U);
  EXPECT_LT(certified, results.size());
}

TEST(LibraryCertify, threads_and_batches_change_nothing) {
  const Model model = load(kDigits);
  const Samples samples(model, 50, 0.01F);
  const std::vector<CertifiedSample> one = certify(model, samples);
  CertifyOptions options;
  options.bounds.threads = 3;
  options.bounds.batch = 8;
  const std::vector<CertifiedSample> many = certify(model, samples, options);
  for (std::size_t i = 0; i < one.size(); ++i) {
    EXPECT_EQ(one[i].robustness, many[i].robustness);
    EXPECT_EQ(one[i].answer, many[i].answer);
    if (one[i].robustness == Robustness::kWrong) {
      EXPECT_LE(one[i].margin, 0);
    }
  }
}

// What is falsified has its counterexample in the inner box, and the network answers another class
// there; what is certified is not contradicted by points of the box.
TEST(LibraryCertify, decides_with_proofs) {
  const Model model = load(kController);
  Samples samples(model, 12, 0.03F);
  answer_rightly(model, samples);
  std::vector<double> inner_lower(samples.lower.begin(), samples.lower.end());
  std::vector<double> inner_upper(samples.upper.begin(), samples.upper.end());
  for (double& end : inner_lower) end += 0.001;
  for (double& end : inner_upper) end -= 0.001;
  CertifyOptions options;
  options.decide = true;
  options.decide_seconds = 60;
  const auto certifier = Certifier::make(model, options);
  SampleBoxes boxes = samples.boxes();
  boxes.inner_lower = inner_lower;
  boxes.inner_upper = inner_upper;
  const auto results = certifier->certify(boxes, samples.labels);
  ASSERT_TRUE(results) << results.error().text();
  const auto verifier = Verifier::make(model);
  std::mt19937 random(3);
  std::size_t falsified = 0, certified = 0;
  for (std::size_t i = 0; i < results->size(); ++i) {
    const CertifiedSample& found = (*results)[i];
    if (found.robustness == Robustness::kFalsified) {
      ++falsified;
      ASSERT_EQ(found.counterexample.size(), samples.inputs);
      std::vector<float> x;
      for (std::size_t k = 0; k < samples.inputs; ++k) {
        EXPECT_GE(found.counterexample[k], inner_lower[i * samples.inputs + k]);
        EXPECT_LE(found.counterexample[k], inner_upper[i * samples.inputs + k]);
        x.push_back(static_cast<float>(found.counterexample[k]));
      }
      const auto y = verifier->evaluate(x);
      EXPECT_GE((*y)[found.rival], (*y)[samples.labels[i]] - 1e-4F);
    } else if (found.robustness == Robustness::kCertified) {
      ++certified;
      for (int trial = 0; trial < 200; ++trial) {
        std::vector<float> x;
        for (std::size_t k = 0; k < samples.inputs; ++k) {
          const std::size_t at = i * samples.inputs + k;
          x.push_back(random() % 2 == 0 ? samples.lower[at] : samples.upper[at]);
        }
        const auto y = verifier->evaluate(x);
        for (std::size_t j = 0; j < y->size(); ++j)
          EXPECT_LE((*y)[j], (*y)[samples.labels[i]] + 1e-5F);
      }
    }
  }
  EXPECT_GT(falsified, 0U);
  EXPECT_GT(certified, 0U);
}

TEST(LibraryCertify, decides_by_stages) {
  const Model model = load(kController);
  Samples samples(model, 24, 0.03F);
  answer_rightly(model, samples);
  samples.labels[0] = (samples.labels[0] + 1) % model.output_count();
  CertifyOptions options;
  options.decide_seconds = 60;
  options.bounds.threads = 2;
  options.decide = true;
  const auto plain = Certifier::make(model, options);
  const auto expected = plain->certify(samples.boxes(), samples.labels);
  ASSERT_TRUE(expected) << expected.error().text();
  options.stages = complete_stages();
  const auto certifier = Certifier::make(model, options);
  std::size_t told = 0, asked = 0;
  CertifyCall call;
  call.timeout_seconds = 600;
  call.decided = [&](std::size_t i, const CertifiedSample& found) {
    ++told;
    EXPECT_EQ(found.robustness, (*expected)[i].robustness) << i;
  };
  call.wanted = [&](std::size_t) { return ++asked > 0; };
  const auto results = certifier->certify(samples.boxes(), samples.labels, call);
  ASSERT_TRUE(results) << results.error().text();
  EXPECT_EQ(told, results->size());
  EXPECT_GT(asked, 0U);
  EXPECT_EQ((*results)[0].stage, Stage::kSample);
  for (const CertifiedSample& found : *results) {
    EXPECT_GT(found.seconds[static_cast<std::size_t>(found.stage)], 0);
    EXPECT_EQ(stage_named(to_string(found.stage)), found.stage);
  }
  call = {};
  call.wanted = [](std::size_t) { return false; };
  const auto bounded = certifier->certify(samples.boxes(), samples.labels, call);
  ASSERT_TRUE(bounded) << bounded.error().text();
  for (const CertifiedSample& found : *bounded)
    EXPECT_LT(found.stage, Stage::kSplit) << to_string(found.stage);
  EXPECT_FALSE(stage_named("none"));
}

// A thousand slopes of each sample take minutes in all.
TEST(LibraryCertify, a_stage_of_bounds_ends_when_the_time_is_over) {
  const Model model = load(kController);
  Samples samples(model, 60, 0.3F);
  answer_rightly(model, samples);
  CertifyOptions options;
  options.bounds.iterations = 1000;
  options.decide_seconds = 1e6;
  options.stages = {Stage::kAlphaCrown};
  CertifyCall call;
  call.timeout_seconds = 0.3;
  const auto certifier = Certifier::make(model, options);
  const auto results = certifier->certify(samples.boxes(), samples.labels, call);
  ASSERT_TRUE(results) << results.error().text();
  std::size_t left = 0;
  for (const CertifiedSample& found : *results) {
    if (found.stage != Stage::kSample) continue;
    ++left;
    EXPECT_EQ(found.robustness, Robustness::kUnknown);
    EXPECT_EQ(found.margin, -std::numeric_limits<float>::infinity());
  }
  EXPECT_GT(left, 0U);
}

TEST(LibraryCertify, nothing_is_falsified_without_an_inner_box) {
  const Model model = load(kController);
  Samples samples(model, 4, 0.3F);
  answer_rightly(model, samples);
  const std::vector<double> inner_lower(samples.upper.begin(), samples.upper.end());
  const std::vector<double> inner_upper(samples.lower.begin(), samples.lower.end());
  CertifyOptions options;
  options.decide = true;
  const auto certifier = Certifier::make(model, options);
  SampleBoxes boxes = samples.boxes();
  boxes.inner_lower = inner_lower;
  boxes.inner_upper = inner_upper;
  const auto results = certifier->certify(boxes, samples.labels);
  ASSERT_TRUE(results) << results.error().text();
  for (const CertifiedSample& found : *results) EXPECT_EQ(found.robustness, Robustness::kUnknown);
}

TEST(LibraryCertify, boxes_are_widened_to_hold_their_balls) {
  const std::vector<float> low = {0.1F, -2, 3, 3}, high = {0.2F, -1, 3, 4};
  for (const Norm norm : {Norm::kL1, Norm::kL2}) {
    std::vector<float> lower = low, upper = high;
    hold_balls(lower, upper, 2, norm);
    for (std::size_t i = 0; i < low.size(); ++i) {
      const bool point = low[i] == high[i];
      EXPECT_EQ(lower[i] < low[i], !point) << i;
      EXPECT_EQ(upper[i] > high[i], !point) << i;
      EXPECT_NEAR(lower[i], low[i], 1e-2);
    }
  }
  std::vector<float> lower = low, upper = high;
  hold_balls(lower, upper, 2, Norm::kLinf);
  EXPECT_EQ(lower, low);
  EXPECT_EQ(upper, high);
}

TEST(LibraryCertify, refuses_what_does_not_fit) {
  const Model model = load(kDigits);
  const Samples good(model, 2, 0.1F);
  const auto certifier = Certifier::make(model);
  const auto code = [&](const Samples& samples, const std::vector<std::size_t>& labels) {
    const auto results = certifier->certify(samples.boxes(), labels);
    return results ? std::string() : results.error().code;
  };
  EXPECT_EQ(code(good, good.labels), "");
  EXPECT_EQ(code(good, {1}), "BF3502");
  EXPECT_EQ(code(good, {1, 10}), "BF3503");
  Samples outside = good;
  outside.samples[3] = 7;
  EXPECT_EQ(code(outside, good.labels), "BF3503");
  Samples no_number = good;
  no_number.lower[3] = NAN;
  EXPECT_EQ(code(no_number, good.labels), "BF3503");

  CertifyOptions options;
  options.decide_seconds = 0;
  EXPECT_EQ(Certifier::make(model, options).error().code, "BF3501");
}

// What a question leaves unknown, one about a larger box may tell.
TEST(LibraryExplain, a_set_is_minimal_where_no_smaller_one_keeps_the_answer) {
  const std::vector<float> samples(3, 0), lower(3, -1), upper(3, 1);
  // Input 0 alone leaves the answer unknown where it is free, 1 or 2 keeps it, any two do not.
  const auto ask = [](const SampleBoxes& boxes) {
    std::vector<CertifiedSample> found(boxes.samples.size() / 3);
    for (std::size_t i = 0; i < found.size(); ++i) {
      std::size_t free = 0;
      for (std::size_t k = 0; k < 3; ++k) free += boxes.lower[3 * i + k] < 0 ? 1 : 0;
      found[i].robustness = free > 1                 ? Robustness::kFalsified
                            : boxes.lower[3 * i] < 0 ? Robustness::kUnknown
                                                     : Robustness::kCertified;
    }
    return found;
  };
  const Explanation found = explain_sample({samples, lower, upper}, ask);
  EXPECT_EQ(found.fixed, (std::vector<std::size_t>{0, 2}));
  EXPECT_TRUE(found.smallest);
  EXPECT_TRUE(found.minimal);
}

}  // namespace
}  // namespace bf_aot::api
