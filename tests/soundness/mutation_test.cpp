// Every error term is needed: without it, some verifier claims a bound that exact arithmetic
// refutes; with all of them, the same verifier is right. One family of networks and boxes per way
// in which rounding can go wrong, made so that little else is in the way.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "planner/network/error_terms.h"
#include "tests/soundness/batch.h"
#include "tests/soundness/engine_call.h"
#include "tests/soundness/on_device.h"
#include "tests/soundness/random_net.h"

namespace bf_aot::soundness {
namespace {

struct Case {
  Net net;
  FloatBox box;
};

struct Exposure {
  const char* term;
  Method method;
  Case (*make)(Random& random, int variant);
};

float random_in(Random& random, double low, double high) {
  return static_cast<float>(std::uniform_real_distribution<double>(low, high)(random));
}

FloatBox point(std::vector<float> x) {
  return {x, x};
}

FloatBox around_zero(const std::vector<float>& radius) {
  FloatBox box{{}, radius};
  for (const float r : radius) box.lower.push_back(-r);
  return box;
}

// 1 + tiny - 1: a sum that loses what is left of it.
Case cancelling_sum(Random& random, int variant) {
  const float tiny = (variant % 2 == 0 ? 0x1p-27F : -0x1p-26F) * random_in(random, 1, 2);
  return {{"cancelling sum", {dense_layer(3, 1, {1, 1, -1})}}, point({1, tiny, 1})};
}

// A sum at a point.
Case long_sum(Random& random, int /*variant*/) {
  const int n = pick(random, 8, 64);
  std::vector<double> weight;
  std::vector<float> x;
  for (int i = 0; i < n; ++i) {
    weight.push_back(random_in(random, -1, 1));
    x.push_back(random_in(random, -1, 1));
  }
  return {{"long sum", {dense_layer(n, 1, weight)}}, point(x)};
}

// One large radius, then many that a float sum drops one by one.
Case dropped_radii(Random& random, int /*variant*/) {
  const int n = pick(random, 40, 64);
  std::vector<float> radius(static_cast<std::size_t>(n), 0x1.f8p-25F);
  radius[0] = 1;
  return {{"dropped radii", {dense_layer(n, 1, std::vector<double>(radius.size(), 1))}},
          around_zero(radius)};
}

// A bias far larger than the product that it is added to.
Case large_bias(Random& random, int /*variant*/) {
  Case made{{"large bias", {dense_layer(1, 1, {0x1p-10 * random_in(random, 1, 2)})}},
            point({random_in(random, 1, 2)})};
  made.net.layers[0].bias = {random_in(random, 1, 2)};
  return made;
}

// Weights that are known up to an error of their own size.
Case inexact_weights(Random& random, int variant) {
  Case made = long_sum(random, variant);
  NetLayer& affine = made.net.layers[0];
  for (std::size_t i = 0; i < affine.weight.size(); ++i) {
    affine.weight_error.push_back(0x1p-4 * std::abs(affine.weight[i]));
    const bool up = made.box.lower[i] > 0;
    affine.weight_shift.push_back(up ? affine.weight_error.back() : -affine.weight_error.back());
  }
  return made;
}

// Folded weights that float32 holds but to a few bits.
Case subnormal_weights(Random& random, int /*variant*/) {
  return {{"subnormal weights",
           {dense_layer(1, 1, {0x1p-147 * static_cast<double>(random_in(random, 1, 2))})}},
          point({0x1p100F})};
}

Case inexact_bias(Random& random, int variant) {
  Case made = large_bias(random, variant);
  made.net.layers[0].bias_error = {0x1p-8};
  made.net.layers[0].bias_shift = {variant % 2 == 0 ? 0x1p-8 : -0x1p-8};
  return made;
}

// 1 + tiny - 1 in double.
Case cancelling_centre(Random& random, int /*variant*/) {
  const float tiny = 0x1p-60F * random_in(random, 1, 2);
  return {{"cancelling centre", {dense_layer(3, 1, {1, 1, -1})}}, point({1, tiny, 1})};
}

// The product of two layers' weights is 1 + tiny - 1.
Case cancelling_product(Random& random, int variant) {
  const double tiny =
      (variant % 2 == 0 ? 0x1p-30 : 0x1p-60) * static_cast<double>(random_in(random, 1, 2));
  return {{"cancelling product", {dense_layer(1, 3, {1, tiny, 1}), dense_layer(3, 1, {1, 1, -1})}},
          around_zero({1})};
}

// Products below the normal range.
Case tiny_products(Random& random, int /*variant*/) {
  return {{"tiny products",
           {dense_layer(1, 1, {0x1p-75 * static_cast<double>(random_in(random, 1, 2))})}},
          point({0x1p-75F * random_in(random, 1, 2)})};
}

// The same at a box around zero.
Case tiny_radii(Random& random, int variant) {
  Case made = tiny_products(random, variant);
  made.box = around_zero(made.box.upper);
  return made;
}

// Makes the bounds of the last layer those of a hidden one: its neurons become unstable ones that
// an identity reads.
Case hidden(Case made) {
  NetLayer& last = made.net.layers.back();
  last.relu = true;
  std::vector<double> identity(static_cast<std::size_t>(last.out * last.out), 0);
  for (int i = 0; i < last.out; ++i) identity[static_cast<std::size_t>(i * (last.out + 1))] = 1;
  const int out = last.out;
  made.net.layers.push_back(dense_layer(out, out, identity));
  made.net.label += ", hidden";
  return made;
}

Case hidden_product(Random& random, int variant) {
  return hidden(cancelling_product(random, variant));
}

// Identities in front of a network of one input: sums of products in double serve heads that are
// three layers deep or deeper.
Case deeper(Case made, int layers) {
  std::vector<NetLayer>& all = made.net.layers;
  all.insert(all.begin(), static_cast<std::size_t>(layers), dense_layer(1, 1, {1}));
  return made;
}

// A sum of two weights that rounds, times another layer's weights that cancel what is left.
Case cancelling_store(Random& random, int /*variant*/) {
  const double lost = 0x1p-24 * static_cast<double>(random_in(random, 0.5F, 0.99F));
  return deeper({{"cancelling store",
                  {dense_layer(1, 2, {1, 1}), dense_layer(2, 2, {1, -1, lost, 0}),
                   dense_layer(2, 1, {1, 1})}},
                 around_zero({1})},
                1);
}

// Neurons relu(g (x - 1/2)), bounded below by 0: the offsets of these lines are one large number,
// then many that a float sum drops one by one. All neurons are 0 at the left end.
Case dropped_offsets(Random& random, int /*variant*/) {
  const int n = pick(random, 40, 64);
  std::vector<double> gain(static_cast<std::size_t>(n), 0x1.f8p-25);
  gain[0] = 1;
  Case made{
      {"dropped offsets",
       {dense_layer(1, n, gain, true), dense_layer(n, 1, std::vector<double>(gain.size(), 1))}},
      around_zero({1})};
  for (std::size_t i = 0; i < gain.size(); ++i) made.net.layers[0].bias[i] = -0.5 * gain[i];
  return deeper(std::move(made), 2);
}

// The radii of dropped_radii behind an affine layer, so that the head's bounds come from backward
// rows.
Case dropped_spreads(Random& random, int variant) {
  Case made = dropped_radii(random, variant);
  made.net.label = "dropped spreads";
  made.net.layers.push_back(dense_layer(1, 1, {1}));
  return made;
}

// Offsets that pay one large price, then many that a float sum drops one by one; the true weights
// lie at the ends of their errors, so that the prices are what the network really deviates by.
Case dropped_prices(Random& random, int /*variant*/) {
  const int n = pick(random, 40, 64);
  std::vector<double> first(static_cast<std::size_t>(n), 0x1.f8p-25);
  first[0] = 1;
  Case made{{"dropped prices",
             {dense_layer(1, n, first), dense_layer(n, 1, std::vector<double>(first.size(), 1))}},
            around_zero({1})};
  for (const double w : first) made.net.layers[0].weight_error.push_back(0x1p10 * w);
  made.net.layers[0].weight_shift = made.net.layers[0].weight_error;
  return made;
}

Case hidden_prices(Random& random, int variant) {
  return hidden(dropped_prices(random, variant));
}

// Lines of many inputs, whose coefficients a layer takes below half of the least float.
Case vanishing_lines(Random& random, int /*variant*/) {
  const int n = pick(random, 24, 40);
  std::vector<double> identity(static_cast<std::size_t>(n * n), 0);
  for (int i = 0; i < n; ++i) identity[static_cast<std::size_t>(i * (n + 1))] = 1;
  const float radius = 0x1p-75F * random_in(random, 0.5, 0.99);
  return {{"vanishing lines",
           {dense_layer(n, n, identity),
            dense_layer(n, 1, std::vector<double>(static_cast<std::size_t>(n), 0x1p-75))}},
          around_zero(std::vector<float>(static_cast<std::size_t>(n), radius))};
}

// |x| as relu(x) + relu(-x), whose lines are level: only their spread is left. It goes on to many
// neurons, one with a large factor and others that a float sum drops one by one. Their sum takes
// its least value in the middle of the box and its largest at the ends.
Case dropped_line_spreads(Random& /*random*/, int /*variant*/) {
  constexpr int kNeurons = 64;
  std::vector<double> gain(2 * kNeurons, 0x1.f8p-25);
  gain[0] = gain[1] = 1;
  return {{"dropped spreads of lines",
           {dense_layer(1, 2, {1, -1}, true), dense_layer(2, kNeurons, gain),
            dense_layer(kNeurons, 1, std::vector<double>(kNeurons, 1))}},
          around_zero({1})};
}

constexpr Method kIbp = Method::kIbp;
constexpr Method kCrown = Method::kCrown;
constexpr Method kAlpha = Method::kAlphaCrown;
constexpr Method kForward = Method::kForward;

const Exposure kExposures[] = {
    {"summation", kIbp, cancelling_sum},
    {"radius-summation", kIbp, dropped_radii},
    {"radius-summation", kCrown, dropped_radii},
    {"scalar", kIbp, large_bias},
    {"weight-rounding", kIbp, inexact_weights},
    {"weight-rounding", kIbp, subnormal_weights},
    {"weight-rounding", kCrown, inexact_weights},
    {"weight-rounding", kCrown, dropped_prices},
    {"bias-rounding", kIbp, inexact_bias},
    {"bias-rounding", kCrown, inexact_bias},
    {"centre", kCrown, cancelling_centre},
    {"product", kCrown, cancelling_product},
    {"product", kCrown, hidden_product},
    {"coefficient", kCrown, cancelling_store},
    {"offset", kCrown, dropped_offsets},
    {"offset", kCrown, dropped_prices},
    {"offset", kCrown, hidden_prices},
    {"concretize", kCrown, dropped_spreads},
    {"underflow", kIbp, tiny_products},
    {"underflow", kIbp, tiny_radii},
    {"product", kAlpha, hidden_product},
    {"offset", kAlpha, dropped_offsets},
    {"offset", kAlpha, hidden_prices},
    {"radius-summation", kForward, dropped_line_spreads},
    {"weight-rounding", kForward, dropped_prices},
    {"product", kForward, cancelling_product},
    {"concretize", kForward, dropped_spreads},
    {"underflow", kCrown, vanishing_lines},
    {"underflow", kForward, vanishing_lines},
};

// The same networks as convolutions and as compressed rows: their routines make other errors. But
// for convolutions under ibp, sums of radii and offsets are in double there, so that other
// terms are enough for those.
struct TermExposure {
  Exposure exposure;
  Form form;
};

const TermExposure kTermExposures[] = {
    {{"weight-rounding", kCrown, inexact_weights}, Form::kConv},
    {{"weight-rounding", kIbp, inexact_weights}, Form::kConv},
    {{"weight-rounding", kCrown, dropped_prices}, Form::kSparse},
    {{"bias-rounding", kCrown, inexact_bias}, Form::kConv},
    {{"bias-rounding", kIbp, inexact_bias}, Form::kSparse},
    {{"centre", kCrown, cancelling_centre}, Form::kConv},
    {{"centre", kIbp, cancelling_centre}, Form::kSparse},
    {{"product", kCrown, cancelling_product}, Form::kConv},
    {{"product", kCrown, hidden_product}, Form::kSparse},
    {{"coefficient", kCrown, cancelling_store}, Form::kConv},
    {{"concretize", kCrown, dropped_spreads}, Form::kConv},
    {{"summation", kIbp, cancelling_sum}, Form::kConv},
    {{"radius-summation", kIbp, dropped_radii}, Form::kConv},
    {{"scalar", kIbp, large_bias}, Form::kConv},
    {{"bias-rounding", kIbp, inexact_bias}, Form::kConv},
    {{"underflow", kIbp, tiny_products}, Form::kConv},
};

// Corners where affine outputs take their extremes: each coordinate goes where the first output
// falls (or rises). And the centre, where ReLUs of opposite signs meet.
std::vector<Numbers> extreme_points(const ExactNet& exact, const FloatBox& box) {
  FloatBox down = box;
  FloatBox up = box;
  down.upper = up.upper = box.lower;
  const mpq_class base = exact.evaluate(exact_numbers(box.lower)).rational(0);
  for (std::size_t i = 0; i < box.lower.size(); ++i) {
    std::vector<float> x = box.lower;
    x[i] = box.upper[i];
    const bool rises = exact.evaluate(exact_numbers(x)).rational(0) > base;
    (rises ? up : down).upper[i] = box.upper[i];
  }
  return {exact_numbers(down.upper), exact_numbers(up.upper), centre_of(box)};
}

// How far the bounds miss a value of the network; nothing when they hold.
std::optional<std::string> refuted(const ExactNet& exact, const FloatBox& box,
                                   const Outcome& outcome) {
  for (const Numbers& x : extreme_points(exact, box)) {
    const Numbers y = exact.evaluate(x);
    for (std::size_t j = 0; j < outcome.lower.size(); ++j)
      if (compare(outcome.lower[j], y, j) > 0 || compare(outcome.upper[j], y, j) < 0)
        return fmt::format("value {:a} outside [{:a}, {:a}]", y.rational(j).get_d(),
                           outcome.lower[j], outcome.upper[j]);
  }
  return std::nullopt;
}

constexpr int kVariants = 4;

PlannerConfig without(PlannerConfig config, const std::string& term) {
  config.dropped_error_terms = {term};
  return config;
}

Outcome run(const Graph& graph, const PlannerConfig& config, const FloatBox& box) {
  const engine::Engine engine(lower(plan_for_engine(graph, false, config)));
  return call_bounds(engine.plan(), callee_of(engine), {}, {box}).boxes.front();
}

// All variants by the engine, with all terms and without this one: says whether bounds are wrong
// without it. `layers`: of this kind alone.
bool exposes(const Exposure& exposure, Form form, Random& random,
             std::optional<LayerKind> layers = {}) {
  const PlannerConfig config =
      planner_config(exposure.method, Lowering::kPrebuilt, engine_targets().front());
  bool exposed = false;
  for (int variant = 0; variant < kVariants; ++variant) {
    const Case made = exposure.make(random, variant);
    const Graph graph = to_graph(made.net, form);
    if (layers) {
      for (const Layer& layer : plan_for_engine(graph, false, config)->layers)
        EXPECT_EQ(layer.kind, *layers);
    }
    const ExactNet exact(made.net);
    const auto whole = refuted(exact, made.box, run(graph, config, made.box));
    EXPECT_FALSE(whole.has_value()) << made.net.label << ": " << whole.value_or("");
    const auto mutant =
        refuted(exact, made.box, run(graph, without(config, exposure.term), made.box));
    if (!mutant) continue;
    exposed = true;
    std::printf("%s: %s\n", made.net.label.c_str(), mutant->c_str());
  }
  return exposed;
}

class ErrorTerms : public ::testing::TestWithParam<std::string> {};

TEST_P(ErrorTerms, IsNeeded) {
  Random random{1};
  int exposures = 0;
  for (const Exposure& exposure : kExposures) {
    if (exposure.term != GetParam()) continue;
    ++exposures;
    EXPECT_TRUE(exposes(exposure, Form::kDense, random))
        << "dropping '" << GetParam() << "' goes unnoticed by exposure " << exposures << " ("
        << to_string(exposure.method) << ")";
  }
  EXPECT_GT(exposures, 0) << "no test exposes error term '" << GetParam() << "'";
}

class TermErrors : public ::testing::TestWithParam<int> {};

TEST_P(TermErrors, AreNeeded) {
  const TermExposure& given = kTermExposures[GetParam()];
  Random random{1};
  EXPECT_TRUE(exposes(given.exposure, given.form, random, LayerKind::kSum))
      << "dropping '" << given.exposure.term << "' goes unnoticed";
}

// One exposure of each term in generated code, whose loops are not those of the engine.
TEST(GeneratedCode, NeedsErrorTerms) {
  Random random{1};
  std::vector<const Exposure*> exposures;
  std::vector<Case> cases;
  Batch batch;
  for (const Exposure& exposure : kExposures) {
    const bool again = std::ranges::any_of(exposures, [&](const Exposure* other) {
      return std::string_view(other->term) == exposure.term;
    });
    if (again) continue;
    exposures.push_back(&exposure);
    const PlannerConfig config = planner_config(exposure.method, Lowering::kGeneric, "generic");
    for (int variant = 0; variant < kVariants; ++variant) {
      cases.push_back(exposure.make(random, variant));
      batch.add(cases.back().net, config);
      batch.add(cases.back().net, without(config, exposure.term));
    }
  }
  EXPECT_EQ(exposures.size(), error_term_names().size());
  batch.build({"g++", {"-O0"}});
  std::vector<bool> exposed(exposures.size(), false);
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const ExactNet exact(cases[i].net);
    const auto whole = refuted(exact, cases[i].box, batch.run(2 * i, cases[i].box));
    EXPECT_FALSE(whole.has_value()) << cases[i].net.label << ": " << whole.value_or("");
    if (refuted(exact, cases[i].box, batch.run(2 * i + 1, cases[i].box)))
      exposed[i / kVariants] = true;
  }
  for (std::size_t i = 0; i < exposed.size(); ++i)
    EXPECT_TRUE(exposed[i]) << "dropping '" << exposures[i]->term << "' goes unnoticed";
}

// One exposure of each term by an OpenCL device, and those of rows that choose slopes.
TEST(OnDevice, NeedsErrorTerms) {
  if (const std::optional<std::string> missing = missing_device())
    GTEST_SKIP() << "no OpenCL device (pocl-opencl-icd makes one): " << *missing;
  Random random{1};
  std::vector<std::string> terms;
  for (const Exposure& exposure : kExposures) {
    const bool again = std::ranges::find(terms, exposure.term) != terms.end();
    if (again && exposure.method != kAlpha) continue;
    if (!again) terms.emplace_back(exposure.term);
    bool exposed = false;
    for (int variant = 0; variant < kVariants && !exposed; ++variant) {
      const Case made = exposure.make(random, variant);
      const Graph graph = to_graph(made.net);
      const ExactNet exact(made.net);
      const auto bounds = [&](const std::vector<std::string>& without) {
        const engine::Device device(planned(graph, exposure.method, 1, without), {"opencl", 0},
                                    kExact);
        return on_device(device, {made.box}).front();
      };
      exposed = refuted(exact, made.box, bounds({exposure.term})).has_value();
      if (!exposed) continue;
      const auto whole = refuted(exact, made.box, bounds({}));
      EXPECT_FALSE(whole.has_value()) << made.net.label << ": " << whole.value_or("");
    }
    EXPECT_TRUE(exposed) << "dropping '" << exposure.term << "' goes unnoticed";
  }
  EXPECT_EQ(terms.size(), error_term_names().size());
}

INSTANTIATE_TEST_SUITE_P(Forms, TermErrors,
                         ::testing::Range(0, static_cast<int>(std::size(kTermExposures))),
                         [](const auto& test) {
                           const TermExposure& given = kTermExposures[test.param];
                           return test_name(fmt::format(
                               "{}_{}_{}", given.exposure.term, to_string(given.exposure.method),
                               given.form == Form::kConv ? "conv" : "sparse"));
                         });

std::vector<std::string> all_terms() {
  std::vector<std::string> names;
  for (const std::string_view name : error_term_names()) names.emplace_back(name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(Terms, ErrorTerms, ::testing::ValuesIn(all_terms()),
                         [](const auto& test) { return test_name(test.param); });

}  // namespace
}  // namespace bf_aot::soundness
