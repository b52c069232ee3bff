// Bounds of arithmetic integer are the exact image of the box, layer by layer: what exact interval
// arithmetic makes of the imported network. Every point lies inside, and they lie inside the bounds
// that floating point gives. BF_SEED=n repeats a run.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "frontend/diagnostic.h"
#include "frontend/import/file/importer.h"
#include "frontend/passes/passes.h"
#include "frontend/passes/pipeline.h"
#include "planner/planner.h"
#include "planner/reference/integer.h"
#include "tests/integer/exact_intervals.h"
#include "tests/integer/quantised_model.h"
#include "tests/seed.h"
#include "tests/soundness/batch.h"
#include "tests/soundness/engine_call.h"
#include "tests/support/model_text.h"

namespace bf_aot::integer_test {
namespace {

using soundness::FloatBox;

Graph import_text(const std::string& text) {
  const test::TempFolder folder;
  const auto path = folder.path() / "model.onnx";
  test::write_bytes(path, test::encode_model(text));
  return import_model(path).graph;
}

Graph for_integers(Graph graph) {
  PassOptions options;
  options.grids = true;
  normalise(graph, options);
  return graph;
}

PlannerConfig integer_config() {
  PlannerConfig config = soundness::planner_config(Method::kIbp, Lowering::kGeneric, "generic");
  config.arithmetic = Arithmetic::kInteger;
  return config;
}

float number(Random& random) {
  return std::uniform_real_distribution<float>(-1.2F, 1.2F)(random);
}

// Points, small boxes and large ones.
FloatBox random_box(Random& random, std::size_t inputs) {
  const float width = std::uniform_int_distribution<int>(0, 3)(random) == 0
                          ? 0.0F
                          : std::exp2(-std::uniform_real_distribution<float>(0, 9)(random));
  FloatBox box;
  for (std::size_t i = 0; i < inputs; ++i) {
    const float centre = number(random);
    box.lower.push_back(centre);
    box.upper.push_back(width == 0 ? centre : centre + width * std::abs(number(random)));
  }
  return box;
}

// Outputs that are rounded to codes have the nearest floats; sums may be a little farther out.
bool is_below(float bound, const mpq_class& exact, bool rounded) {
  if (rounded) return is_rounded_down(bound, exact);
  const mpq_class distance = exact - mpq_class(static_cast<double>(bound));
  return distance >= 0 && distance < mpq_class(1, 1 << 22);
}

void expect_images(const std::vector<Interval>& images, const std::vector<float>& lower,
                   const std::vector<float>& upper, const std::string& by, bool rounded = true) {
  ASSERT_EQ(lower.size(), images.size());
  for (std::size_t i = 0; i < images.size(); ++i) {
    EXPECT_TRUE(is_below(lower[i], images[i].low, rounded))
        << by << ": output " << i << " is at least " << images[i].low.get_d() << ", not "
        << lower[i];
    EXPECT_TRUE(is_below(-upper[i], -images[i].high, rounded))
        << by << ": output " << i << " is at most " << images[i].high.get_d() << ", not "
        << upper[i];
  }
}

// A few points of the box, as boxes of their own.
void expect_points_inside(const Graph& graph, const FloatBox& box, const std::vector<float>& lower,
                          const std::vector<float>& upper, Random& random) {
  for (int point = 0; point < 4; ++point) {
    std::vector<float> x;
    for (std::size_t i = 0; i < box.lower.size(); ++i) {
      const float share = std::uniform_real_distribution<float>(0, 1)(random);
      x.push_back(std::clamp(box.lower[i] + share * (box.upper[i] - box.lower[i]), box.lower[i],
                             box.upper[i]));
    }
    const std::vector<Interval> y = output_images(graph, box_of(x, x));
    for (std::size_t i = 0; i < y.size(); ++i) {
      EXPECT_LE(mpq_class(static_cast<double>(lower[i])), y[i].low);
      EXPECT_GE(mpq_class(static_cast<double>(upper[i])), y[i].high);
    }
  }
}

std::string kind_of(const Requantization& codes) {
  return fmt::format(" {} {}", to_string(codes.rounding), codes.multiplier_bytes);
}

// Which kinds of steps and of arithmetic the networks have.
std::set<std::string> kinds_of(const Plan& plan) {
  std::set<std::string> kinds;
  for (const IntegerStep& step : plan.integer->steps) {
    std::string kind(name_of(step));
    if (const auto* dense = std::get_if<GridDense>(&step)) kind += kind_of(dense->codes);
    if (const auto* conv = std::get_if<GridConv>(&step)) kind += kind_of(conv->codes);
    if (const auto* sparse = std::get_if<GridSparse>(&step)) kind += kind_of(sparse->codes);
    if (const auto* sum = std::get_if<GridSum>(&step))
      kind += " " + std::string(to_string(sum->rounding));
    kinds.insert(kind);
  }
  return kinds;
}

void expect_all_kinds(const soundness::Batch& batch) {
  std::set<std::string> kinds;
  for (std::size_t i = 0; i < batch.size(); ++i) kinds.merge(kinds_of(batch.plan(i)));
  for (const char* const kind :
       {"quantize", "dense floor 4", "dense half-even 4", "dense steps 4", "conv floor 4",
        "conv half-even 4", "sparse floor 4", "sparse half-even 4", "sum floor", "sum half-even",
        "max", "table", "parts", "dequantize", "dequantize-sums"})
    EXPECT_TRUE(kinds.contains(kind)) << kind;
  for (const std::string& kind : kinds) std::printf("%s; ", kind.c_str());
  std::printf("\n");
}

// A tensor beside itself: passes over floats add up what a later layer makes of both.
bool reads_twice(const Plan& plan) {
  return std::ranges::any_of(plan.integer->steps, [](const IntegerStep& step) {
    const std::vector<GridId> inputs = inputs_of(step);
    const std::set<GridId> once(inputs.begin(), inputs.end());
    return std::holds_alternative<GridParts>(step) && once.size() < inputs.size();
  });
}

TEST(Integer, BoundsAreTheExactImages) {
  const std::uint64_t seed = testing::seed_from_environment(20261125);
  std::printf("BF_SEED=%llu\n", static_cast<unsigned long long>(seed));
  Random random(seed);
  const int networks = 60 * testing::rounds_from_environment();
  std::vector<Graph> graphs;
  soundness::Batch batch;
  std::vector<std::string> texts;
  int undecided =
      0;  // the mean of 36 codes of the output's scale may be a tie, but 1/36 is no double
  while (static_cast<int>(graphs.size()) < networks) {
    const std::string text = random_model(random);
    const Graph graph = import_text(text);
    try {
      batch.add(for_integers(graph), false, integer_config());
    } catch (const CompileError& error) {
      ASSERT_EQ(error.diagnostics().front().code, "BF2115") << text << error.what();
      ++undecided;
      continue;
    }
    texts.push_back(text);
    graphs.push_back(graph);
  }
  EXPECT_LE(undecided, networks / 10);
  expect_all_kinds(batch);
  batch.build({"g++", {"-O1", "-Wall", "-Wextra", "-Wpedantic", "-Werror"}});
  for (std::size_t i = 0; i < graphs.size(); ++i) {
    const Plan& plan = batch.plan(i);
    const soundness::Callee callee = soundness::callee_of(batch, i);
    Graph normal = graphs[i];
    normalise(normal);
    const PlannerConfig ibp = soundness::planner_config(Method::kIbp, Lowering::kPrebuilt,
                                                        soundness::engine_targets()[0]);
    const engine::Engine floats(lower(soundness::plan_for_engine(normal, false, ibp)));
    for (int k = 0; k < 8; ++k) {
      const FloatBox box = random_box(random, static_cast<std::size_t>(plan.input_count));
      const std::vector<Interval> images = output_images(graphs[i], box_of(box.lower, box.upper));
      const FloatBounds reference = output_bounds(plan, bound_codes(plan, box.lower, box.upper));
      const bool rounded = std::holds_alternative<DequantizeBounds>(plan.integer->steps.back());
      expect_images(images, reference.lower, reference.upper, "the reference", rounded);
      const soundness::Outcome made = soundness::call_bounds(plan, callee, {}, {box}).boxes.front();
      ASSERT_EQ(made.status, BF_OK);
      expect_images(images, made.lower, made.upper, "generated code", rounded);
      EXPECT_EQ(made.lower, reference.lower);
      EXPECT_EQ(made.upper, reference.upper);
      expect_points_inside(graphs[i], box, made.lower, made.upper, random);
      const soundness::Outcome wide =
          soundness::call_bounds(floats.plan(), soundness::callee_of(floats), {}, {box})
              .boxes.front();
      for (std::size_t j = 0; j < made.lower.size() && !reads_twice(plan); ++j) {
        EXPECT_GE(made.lower[j], wide.lower[j]);
        EXPECT_LE(made.upper[j], wide.upper[j]);
      }
      const soundness::Outcome point = soundness::call_evaluate(plan, callee, box.lower);
      ASSERT_EQ(point.status, BF_OK);
    }
    if (::testing::Test::HasFailure()) {
      std::printf("%s\n", texts[i].c_str());
      return;
    }
  }
}

// All codes of one input, and all boxes of them: functions that turn.
TEST(Integer, TablesThatTurnHaveTheLeastAndTheLargestCode) {
  Random random(7);
  for (const char* const op : {"HardSwish", "Abs", "Sin"}) {
    QuantisedModel model(random, Scales::kAny);
    const Tensor x = model.input({1, 1});
    const std::string text = model.finish(model.unary(x, op, -1, 1));
    const Graph graph = import_text(text);
    const Plan made = plan(for_integers(graph), {}, "net", false, integer_config());
    std::vector<float> points, values;
    for (int i = -40; i <= 40; ++i) {
      points.push_back(static_cast<float>(i) / 32);
      const CodeBounds codes = bound_codes(made, {points.back()}, {points.back()});
      values.push_back(output_bounds(made, codes).lower[0]);
    }
    for (std::size_t from = 0; from < points.size(); ++from)
      for (std::size_t to = from; to < points.size(); to += 7) {
        const FloatBounds bounds =
            output_bounds(made, bound_codes(made, {points[from]}, {points[to]}));
        for (std::size_t i = from; i <= to; ++i) {
          EXPECT_LE(bounds.lower[0], values[i]);
          EXPECT_GE(bounds.upper[0], values[i]);
        }
      }
  }
}

// The floats at which codes change, and their neighbours: the float just below a threshold has the
// code below.
TEST(Integer, CodesOfTheInputChangeAtTheExactFloats) {
  Random random(11);
  for (const Scales scales : {Scales::kAny, Scales::kPowersOfTwo}) {
    QuantisedModel model(random, scales);
    const Tensor x = model.input({1, 1});
    const Graph graph = import_text(model.finish(x));
    const Plan made = plan(for_integers(graph), {}, "net", false, integer_config());
    const auto& step = std::get<QuantizeBox>(made.integer->steps.front());
    for (const std::int32_t key : step.keys.front()) {
      if (key == std::numeric_limits<std::int32_t>::max()) continue;
      if (key == std::numeric_limits<std::int32_t>::min()) continue;
      const float at = key >= 0 ? std::bit_cast<float>(key) : -std::bit_cast<float>(-key);
      for (const float near : {at, std::nextafter(at, -10.0F), std::nextafter(at, 10.0F)}) {
        const std::vector<Interval> image = output_images(graph, box_of({near}, {near}));
        const FloatBounds bounds = output_bounds(made, bound_codes(made, {near}, {near}));
        expect_images(image, bounds.lower, bounds.upper, "the reference");
      }
    }
  }
}

// ---- Semantics quantised-any: whatever codes each rounding may give, outputs lie inside

Graph normal_graph(Graph graph, bool loose, bool grids) {
  PassOptions options;
  options.loose_codes = loose;
  options.grids = grids;
  normalise(graph, options);
  return graph;
}

// The network with other codes: each rounded number is off by -1, 0 or 1, before its limits. All of
// them are off by `all`, where that is given, else each by another.
Graph deviated(const Graph& graph, Random& random, std::optional<int> all) {
  Graph made = graph;
  std::vector<std::vector<Node>> replacements(made.nodes.size());
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    const auto* const unary = std::get_if<Unary>(&node.op);
    if (unary == nullptr || unary->function.kind != FunctionKind::kQuantise) continue;
    Function wide = unary->function;
    wide.b -= 2;
    wide.c += 2;
    const Shape shape = graph.value(node.output).shape;
    Scale off{{shape, {}, {}}, {shape, {}, {}}};
    for (std::int64_t k = 0; k < element_count(shape); ++k) {
      off.factor.data.push_back(1);
      off.offset.data.push_back(all ? *all : std::uniform_int_distribution<int>(-1, 1)(random));
    }
    const ValueId rounded = made.add_value("rounded", shape);
    const ValueId moved = made.add_value("moved", shape);
    replacements[i] = {{Unary{wide}, node.inputs, rounded, node.origin},
                       {std::move(off), {rounded}, moved, node.origin},
                       {Unary{{FunctionKind::kClip, unary->function.b, unary->function.c}},
                        {moved},
                        node.output,
                        node.origin}};
  }
  std::vector<Node> nodes;
  for (std::size_t i = 0; i < made.nodes.size(); ++i) {
    if (replacements[i].empty()) {
      nodes.push_back(made.nodes[i]);
      continue;
    }
    for (Node& each : replacements[i]) nodes.push_back(std::move(each));
  }
  made.nodes = std::move(nodes);
  verify(made);
  return made;
}

FloatBox loose_box(Random& random, std::size_t inputs) {
  const float width = std::exp2(-std::uniform_real_distribution<float>(0, 9)(random));
  std::uniform_real_distribution<float> centre(-1.2F, 1.2F), share(0, 1);
  FloatBox box;
  for (std::size_t i = 0; i < inputs; ++i) {
    box.lower.push_back(centre(random));
    box.upper.push_back(box.lower.back() + width * share(random));
  }
  return box;
}

std::vector<float> random_point(const FloatBox& box, Random& random) {
  std::vector<float> x;
  for (std::size_t i = 0; i < box.lower.size(); ++i)
    x.push_back(std::clamp(box.lower[i] + std::uniform_real_distribution<float>(0, 1)(random) *
                                              (box.upper[i] - box.lower[i]),
                           box.lower[i], box.upper[i]));
  return x;
}

// How many outputs of deviated networks, at points of the box, lie outside of bounds.
int count_outside(const std::vector<std::vector<Interval>>& outputs,
                  const soundness::Outcome& bounds) {
  int outside = 0;
  for (const auto& y : outputs)
    for (std::size_t i = 0; i < y.size(); ++i)
      outside += y[i].low < mpq_class(static_cast<double>(bounds.lower[i])) ||
                         y[i].high > mpq_class(static_cast<double>(bounds.upper[i]))
                     ? 1
                     : 0;
  return outside;
}

std::vector<std::vector<Interval>> deviated_outputs(const Graph& graph, const FloatBox& box,
                                                    Random& random) {
  std::vector<std::vector<Interval>> outputs;
  for (int point = 0; point < 6; ++point) {
    const std::optional<int> all = point < 2 ? std::optional(2 * point - 1) : std::nullopt;
    const std::vector<float> x = random_point(box, random);
    outputs.push_back(output_images(deviated(graph, random, all), box_of(x, x)));
  }
  return outputs;
}

soundness::Outcome bounds_by(const Graph& graph, Method method, const FloatBox& box) {
  PlannerConfig config =
      soundness::planner_config(method, Lowering::kPrebuilt, soundness::engine_targets().back());
  config.semantics = Semantics::kQuantisedAny;
  config.iterations = 3;
  const engine::Engine engine(lower(soundness::plan_for_engine(graph, false, config)));
  return soundness::call_bounds(engine.plan(), soundness::callee_of(engine), {}, {box})
      .boxes.front();
}

TEST(LooseCodes, EveryNetworkIsInside) {
  const std::uint64_t seed = testing::seed_from_environment(20261127);
  std::printf("BF_SEED=%llu\n", static_cast<unsigned long long>(seed));
  Random random(seed);
  int outside_without = 0;
  for (int net = 0; net < 12 * testing::rounds_from_environment(); ++net) {
    const std::string text = random_model(random);
    const Graph graph = import_text(text);
    const Graph loose = normal_graph(graph, true, false);
    const Graph exact = normal_graph(graph, false, false);
    const FloatBox box = loose_box(
        random, static_cast<std::size_t>(element_count(graph.value(graph.inputs[0]).shape)));
    const auto outputs = deviated_outputs(graph, box, random);
    for (const Method method :
         {Method::kIbp, Method::kCrownIbp, Method::kCrown, Method::kAlphaCrown}) {
      const soundness::Outcome bounds = bounds_by(loose, method, box);
      ASSERT_EQ(bounds.status, BF_OK);
      ASSERT_EQ(count_outside(outputs, bounds), 0) << to_string(method) << "\n" << text;
    }
    outside_without += count_outside(outputs, bounds_by(exact, Method::kCrown, box));
  }
  EXPECT_GT(outside_without, 0) << "no code matters";
}

// Plain inference takes the codes that the file's rounding gives, also where they are limited.
TEST(LooseCodes, EvaluationRoundsAsTheFileSays) {
  Random random(3);
  QuantisedModel model(random, Scales::kPowersOfTwo);
  const Graph graph = import_text(model.finish(model.input({1, 4})));
  PlannerConfig config = soundness::planner_config(Method::kIbp, Lowering::kPrebuilt,
                                                   soundness::engine_targets().back());
  config.semantics = Semantics::kQuantisedAny;
  const engine::Engine engine(
      lower(soundness::plan_for_engine(normal_graph(graph, true, false), false, config)));
  for (const float x : {-100.0F, -1.0F, -0.3F, 0.0F, 0.7F, 100.0F}) {
    const std::vector<float> point(4, x);
    const std::vector<Interval> y = output_images(graph, box_of(point, point));
    const soundness::Outcome made =
        soundness::call_evaluate(engine.plan(), soundness::callee_of(engine), point);
    for (std::size_t i = 0; i < y.size(); ++i) EXPECT_EQ(mpq_class(made.lower[i]), y[i].low) << x;
  }
}

TEST(LooseCodes, OfIntegersAreTheExactImages) {
  const std::uint64_t seed = testing::seed_from_environment(20261127);
  Random random(seed);
  std::vector<Graph> graphs;
  soundness::Batch batch;
  PlannerConfig config = soundness::planner_config(Method::kIbp, Lowering::kGeneric, "generic");
  config.arithmetic = Arithmetic::kInteger;
  config.semantics = Semantics::kQuantisedAny;
  while (graphs.size() < 8) {
    const Graph graph = import_text(random_model(random));
    try {
      batch.add(normal_graph(graph, true, true), false, config);
    } catch (const CompileError& error) {
      ASSERT_EQ(error.diagnostics().front().code, "BF2115") << error.what();
      continue;
    }
    graphs.push_back(graph);
  }
  batch.build({"g++", {"-O1", "-Wall", "-Wextra", "-Wpedantic", "-Werror"}});
  for (std::size_t i = 0; i < graphs.size(); ++i) {
    const Plan& plan = batch.plan(i);
    const soundness::Callee callee = soundness::callee_of(batch, i);
    Graph loose = graphs[i];
    loosen_codes(loose);
    const bool rounded = std::holds_alternative<DequantizeBounds>(plan.integer->steps.back());
    for (int k = 0; k < 6; ++k) {
      const FloatBox box = loose_box(random, static_cast<std::size_t>(plan.input_count));
      const soundness::Outcome made = soundness::call_bounds(plan, callee, {}, {box}).boxes.front();
      ASSERT_EQ(made.status, BF_OK);
      EXPECT_EQ(count_outside(deviated_outputs(graphs[i], box, random), made), 0);
      const FloatBounds reference = output_bounds(plan, bound_codes(plan, box.lower, box.upper));
      EXPECT_EQ(made.lower, reference.lower);
      EXPECT_EQ(made.upper, reference.upper);
      const std::vector<Interval> images = output_images(loose, box_of(box.lower, box.upper));
      for (std::size_t j = 0; j < images.size() && rounded; ++j) {
        EXPECT_TRUE(is_rounded_down(made.lower[j], images[j].low));
        EXPECT_TRUE(is_rounded_up(made.upper[j], images[j].high));
      }
      const std::vector<Interval> point = output_images(graphs[i], box_of(box.lower, box.lower));
      const soundness::Outcome value = soundness::call_evaluate(plan, callee, box.lower);
      for (std::size_t j = 0; j < point.size() && rounded; ++j)
        EXPECT_TRUE(is_rounded_up(value.lower[j], point[j].high)) << "of NAME_evaluate";
    }
  }
}

}  // namespace
}  // namespace bf_aot::integer_test
