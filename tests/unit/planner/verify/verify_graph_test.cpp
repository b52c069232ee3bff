#include "tests/unit/planner/verify/verify_graph.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "planner/verify/verify.h"

// Each test breaks one layer or step of a good plan and expects verify() to name it.
namespace bf_aot {
namespace {

using namespace bf_aot::testing;

TEST(PlanVerifyGraph, AcceptsGoodPlans) {
  for (Method method : {Method::kIbp, Method::kCrownIbp, Method::kCrown})
    verify(graph_plan(method));
  for (unsigned seed = 0; seed < 100; ++seed) {
    std::mt19937 random(seed);
    verify(
        toy_graph_plan(Method::kCrown, 2, random_graph(2, 6, RandomActivations::kSmooth, random)));
  }
}

// ---- Layers

void expect_bad_layer(int index, const std::function<void(Layer&)>& break_it,
                      const std::string& message) {
  expect_death([&](Plan& plan) { break_it(plan.layers[static_cast<std::size_t>(index)]); },
               message);
}

TEST(PlanVerifyGraph, CatchesTermsThatReadWhatIsNotThere) {
  expect_bad_layer(
      kSumLayer, [](Layer& l) { l.terms[0].input = kSumLayer; }, "is not before it");
  expect_bad_layer(
      kSumLayer, [](Layer& l) { l.terms[0].input = -2; }, "is not before it");
  expect_bad_layer(
      kSumLayer, [](Layer& l) { l.terms[1].in = 3; }, "reads 3 numbers of 2");
  expect_bad_layer(
      kSumLayer, [](Layer& l) { l.terms.clear(); }, "no terms");
}

TEST(PlanVerifyGraph, CatchesFieldsOfAnotherKind) {
  expect_bad_layer(
      kSumLayer, [](Layer& l) { l.weight = {1}; }, "has fields of a dense one");
  expect_bad_layer(
      kDenseLayer, [](Layer& l) { l.terms = {identity(-1, 4)}; }, "dense, with terms");
  expect_bad_layer(
      kProductLayer,
      [](Layer& l) {
        l.bias = {0, 0, 0};
      },
      "3 biases");
  expect_bad_layer(
      kSumLayer, [](Layer& l) { l.bias.pop_back(); }, "3 biases");
  expect_bad_layer(
      kProductLayer, [](Layer& l) { l.relu = true; }, "an activation");
  expect_bad_layer(
      kMaxLayer, [](Layer& l) { l.function = Function{}; }, "an activation");
  expect_bad_layer(
      kSumLayer, [](Layer& l) { l.relu = true; }, "relu and leaky_relu");
  expect_bad_layer(
      kSumLayer, [](Layer& l) { l.function->a = std::nan(""); }, "parameters of");
}

TEST(PlanVerifyGraph, CatchesMalformedConvolutions) {
  const auto bad = [](const std::function<void(Term&, ConvGeometry&)>& break_it,
                      const std::string& message) {
    expect_bad_layer(
        kConvLayer,
        [&](Layer& l) { break_it(l.terms[0], std::get<ConvMap>(l.terms[0].map).geometry); },
        message);
  };
  bad([](Term&, ConvGeometry& g) { g.groups = 2; }, "groups");
  bad([](Term&, ConvGeometry& g) { g.in_channels = 0; }, "channels");
  bad([](Term&, ConvGeometry& g) { g.stride[2] = 0; }, "extents");
  bad([](Term&, ConvGeometry& g) { g.out_size[2] = 3; }, "image sizes");
  bad([](Term&, ConvGeometry& g) { g.in.spatial[2] = 2; }, "input layout");
  bad([](Term&, ConvGeometry& g) { g.out.channel = 1; }, "output layout");
  bad([](Term& t, ConvGeometry&) { t.weight.pop_back(); }, "weights");
  bad([](Term& t, ConvGeometry&) { t.residual = {1}; }, "residuals");
  bad([](Term& t, ConvGeometry&) { t.weight[0] = std::numeric_limits<float>::infinity(); },
      "one is not finite");
  bad([](Term& t, ConvGeometry&) { t.row_norm = 2.5; }, "row_norm: a row exceeds it");
  bad([](Term& t, ConvGeometry&) { t.row_entries = 1; }, "row_entries: a row has more");
  bad([](Term& t, ConvGeometry&) { t.column_entries = 1; }, "column_entries: a column has more");
}

TEST(PlanVerifyGraph, CatchesMalformedSparseMaps) {
  const auto bad = [](const std::function<void(Term&, SparseMap&)>& break_it,
                      const std::string& message) {
    expect_bad_layer(
        kSumLayer, [&](Layer& l) { break_it(l.terms[2], std::get<SparseMap>(l.terms[2].map)); },
        message);
  };
  bad([](Term&, SparseMap& m) { m.row_start.pop_back(); }, "row_start");
  bad([](Term&, SparseMap& m) { m.row_start[1] = 5; }, "row_start falls");
  bad([](Term&, SparseMap& m) { m.row_start[0] = 1; }, "row_start");
  bad([](Term&, SparseMap& m) { m.column[0] = 4; }, "a column is out of range");
  bad([](Term&, SparseMap& m) { m.column[1] = 0; }, "columns do not rise");
  bad([](Term& t, SparseMap&) { t.weight.pop_back(); }, "weights");
  bad([](Term& t, SparseMap&) { t.row_norm = 2.99; }, "row_norm: a row exceeds it");
  bad([](Term& t, SparseMap&) { t.row_norm = -1; }, "row_norm");
  bad([](Term& t, SparseMap&) { t.row_entries = 1; }, "row_entries: a row has more");
  bad([](Term& t, SparseMap&) { t.column_entries = 0; }, "column_entries: a column has more");
}

TEST(PlanVerifyGraph, CatchesMalformedGathers) {
  const auto bad = [](const std::function<void(Term&, GatherMap&)>& break_it,
                      const std::string& message) {
    expect_bad_layer(
        kSumLayer, [&](Layer& l) { break_it(l.terms[1], std::get<GatherMap>(l.terms[1].map)); },
        message);
  };
  bad([](Term&, GatherMap& m) { m.source[0] = 2; }, "a source is out of range");
  bad([](Term&, GatherMap& m) { m.source[0] = -2; }, "a source is out of range");
  bad([](Term&, GatherMap& m) { m.source.pop_back(); }, "source");
  bad([](Term&, GatherMap& m) { m.source.clear(); }, "an identity of another size");
  bad([](Term& t, GatherMap&) { t.weight = {1}; }, "weights");
  bad([](Term& t, GatherMap&) { t.column_entries = 1; }, "column_entries: a column has more");
}

TEST(PlanVerifyGraph, CatchesMalformedProductsAndMaxima) {
  expect_bad_layer(
      kProductLayer, [](Layer& l) { l.terms.pop_back(); }, "a product of 1 factors");
  expect_bad_layer(
      kProductLayer, [](Layer& l) { std::get<GatherMap>(l.terms[0].map).source[0] = -1; },
      "a factor misses an element");
  expect_bad_layer(
      kProductLayer,
      [](Layer& l) {
        l.terms[0] = candidates(kFactors, 4, {{0}, {1}, {2}});
        l.terms[0].row_entries = l.terms[0].column_entries = 1;
      },
      "a factor is no gather");
  expect_bad_layer(
      kMaxLayer, [](Layer& l) { l.terms.push_back(l.terms[0]); }, "a maximum over 2 terms");
  expect_bad_layer(
      kMaxLayer,
      [](Layer& l) {
        l.terms[0] = gather(kProductLayer, 3, {0, 1});
        l.terms[0].row_norm = l.terms[0].row_entries = l.terms[0].column_entries = 1;
      },
      "its candidates are no sparse map");
  expect_bad_layer(
      kMaxLayer,
      [](Layer& l) {
        std::get<SparseMap>(l.terms[0].map) = {{0, 0, 2}, {0, 1}};
      },
      "0 has no candidate");
  expect_bad_layer(
      kMaxLayer,
      [](Layer& l) {
        l.terms[0].weight = {1, 1, 1, 1};
      },
      "weights");
}

TEST(PlanVerifyGraph, CatchesAHeadThatIsNoAffineLayer) {
  expect_death([](Plan& plan) { plan.output_heads = {kMaxLayer}; }, "is neither dense nor a sum");
  expect_bad_layer(
      kHead, [](Layer& l) { l.function = Function{}; }, "or has a function");
}

// ---- Steps

TEST(PlanVerifyGraph, CatchesMalformedSteps) {
  expect_death([](Plan& p) { step_of<CentreSum>(p, kSumLayer).parts.pop_back(); },
               "parts.size\\(\\) == layer.terms.size\\(\\)");
  expect_death([](Plan& p) { step_of<CentreSum>(p, kSumLayer).layer = kDenseLayer; },
               "kind == LayerKind::kSum");
  expect_death([](Plan& p) { step_of<CentreSum>(p, kSumLayer).inflate = -1; }, "term >= 0");
  expect_death([](Plan& p) { step_of<CentreAffine>(p, kDenseLayer).layer = kSumLayer; },
               "kind == LayerKind::kDense");
  expect_death([](Plan& p) { step_of<Relax>(p, kSumLayer).layer = kMaxLayer; }, "is_affine");
  expect_death([](Plan& p) { step_of<RelaxProduct>(p, kProductLayer).layer = kMaxLayer; },
               "kind == LayerKind::kProduct");
  expect_death([](Plan& p) { step_of<RelaxMax>(p, kMaxLayer).layer = kProductLayer; },
               "kind == LayerKind::kMax");
  expect_death([](Plan& p) { step_of<RelaxProduct>(p, kProductLayer).slack = BufferId::kNone; },
               "step.slack == BufferId::kNone");
  expect_death([](Plan& p) { step_of<RelaxMax>(p, kMaxLayer).choice = BufferId::kNone; },
               "step.choice != BufferId::kNone");
  expect_death([](Plan& p) { step_of<RelaxMax>(p, kMaxLayer).product = std::nan(""); }, "isfinite");
  expect_death(
      [](Plan& p) {
        step_of<CentreSum>(p, kSumLayer).parts[0].kernel =
            step_of<CentreSum>(p, kSumLayer).parts[1].kernel;
      },
      "kernel.in == in");
}

TEST(PlanVerifyGraph, CatchesBoxesOfAnotherTensor) {
  expect_death(
      [](Plan& p) {
        auto& step = step_of<CentreSum>(p, kHead);
        std::swap(step.parts[0].centre_in, step.parts[2].centre_in);
      },
      "which holds something else");
  expect_death(
      [](Plan& p) {
        auto& step = step_of<RelaxProduct>(p, kProductLayer);
        step.centre_x = step_of<RelaxMax>(p, kMaxLayer).centre_in;
      },
      "before it is written|holds 3");
}

TEST(PlanVerifyGraph, CatchesAResultInAnOperandsBuffer) {
  expect_death(
      [](Plan& p) {
        auto& step = step_of<RelaxMax>(p, kMaxLayer);
        step.centre_out = step.centre_in;
      },
      "serves two ends");
  expect_death(
      [](Plan& p) {
        BackwardRows& rows = head_rows(p);
        rows.starts[0].coefficients = rows.links[0].coefficients_in = rows.radius;
        Buffer& radius = p.entries[0].buffers[static_cast<std::size_t>(rows.radius)];
        radius.count = 8;
        radius.bytes = 32;
      },
      "serves two ends");
}

TEST(PlanVerifyGraph, CatchesValuesOutsideOfEvaluation) {
  expect_death([](Plan& p) { p.entries[1].steps.back() = p.entries[0].steps.back(); },
               "entry.kind != EntryKind::kEvaluate");
  expect_death([](Plan& p) { p.entries[0].steps.back() = p.entries[1].steps.back(); },
               "entry.kind == EntryKind::kEvaluate");
}

}  // namespace
}  // namespace bf_aot
