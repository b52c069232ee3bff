// Semantics float32-exact: what NAME_evaluate makes of a network lies inside the bounds, and rows
// of its outputs inside those of rows; on every instruction set that runs here, with fused
// multiply-adds in its chains or without. BF_SEED=n repeats a run.

#include <fmt/format.h>
#include <gmpxx.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "frontend/diagnostic.h"
#include "frontend/passes/pipeline.h"
#include "planner/verify/verify.h"
#include "tests/property/passes_random_graph.h"
#include "tests/seed.h"
#include "tests/soundness/engine_call.h"
#include "tests/soundness/float32.h"
#include "tests/soundness/general.h"
#include "tests/soundness/random_net.h"

namespace bf_aot::soundness {
namespace {

constexpr Method kMethods[] = {Method::kIbp, Method::kCrownIbp, Method::kCrown, Method::kAlphaCrown,
                               Method::kForward};

PlannerConfig exact_config(Method method, const std::string& target) {
  PlannerConfig config = planner_config(method, Lowering::kPrebuilt, target);
  config.iterations = 3;
  config.semantics = Semantics::kFloat32Exact;
  return config;
}

// Null, and counted by its diagnostic: what this semantics or the planner does not cover.
std::shared_ptr<const Plan> plan_exact(Graph graph, const PlannerConfig& config,
                                       const LinearSpec* spec,
                                       std::map<std::string, int>* refused = nullptr) {
  PassOptions passes;
  passes.own_evaluation = config.semantics == Semantics::kFloat32Exact;
  passes.spec = spec;
  try {
    normalise(graph, passes);
    return plan_for_engine(graph, spec != nullptr, config);
  } catch (const CompileError& error) {
    if (refused != nullptr) ++(*refused)[error.diagnostics().front().code];
    return nullptr;
  }
}

LinearSpec random_spec(Random& random, int outputs) {
  LinearSpec spec;
  for (int i = 0; i < 2; ++i) {
    std::vector<double> row;
    for (int k = 0; k < outputs; ++k) row.push_back(pick(random, -3, 3));
    spec.rows.push_back(std::move(row));
    spec.offset.push_back(pick(random, -2, 2));
  }
  return spec;
}

std::vector<mpq_class> rows_of(const LinearSpec& spec, const std::vector<float>& y) {
  std::vector<mpq_class> made;
  for (std::size_t i = 0; i < spec.rows.size(); ++i) {
    mpq_class sum = -spec.offset[i];
    for (std::size_t k = 0; k < y.size(); ++k)
      sum += mpq_class(spec.rows[i][k]) * mpq_class(static_cast<double>(y[k]));
    made.push_back(std::move(sum));
  }
  return made;
}

// What code that keeps to the plan's chains may make of it, each product fused into its sum or not.
// Of plans whose evaluation is in float32 throughout.
std::vector<float> in_chains(const Plan& plan, const std::vector<float>& x, Random& random) {
  std::map<LayerId, std::vector<float>> values;
  std::vector<float> y(static_cast<std::size_t>(plan.output_count));
  const int fused = pick(random, 0, 2);
  for (const Step& each : plan.find_entry(EntryKind::kEvaluate)->steps) {
    const auto& step = std::get<EvaluateAffine>(each);
    const Layer& layer = plan.layer(step.layer);
    const int chunk = plan.kernel(step.kernel).schedule.chunk;
    const std::vector<float>& in = layer.input.is_layer() ? values.at(layer.input) : x;
    std::vector<float> out;
    for (int j = 0; j < layer.out; ++j) {
      float sum = 0;
      for (int first = 0; first < layer.in; first += chunk) {
        float part = 0;
        for (int i = first; i < std::min(layer.in, first + chunk); ++i) {
          const float w = layer.weight_at(j, i), a = in[static_cast<std::size_t>(i)];
          part = fused > 0 && pick(random, 1, fused) == 1 ? std::fma(w, a, part) : part + w * a;
        }
        sum += part;
      }
      const float z = sum + static_cast<float>(layer.bias[static_cast<std::size_t>(j)]);
      out.push_back(layer.relu && z < 0 ? 0 : z);
    }
    if (step.out == BufferId::kNone)
      std::ranges::copy(out, y.begin() + step.position);
    else
      values[step.layer] = std::move(out);
  }
  return y;
}

class Float32Exact : public ::testing::Test {
 protected:
  void SetUp() override {
    std::printf("BF_SEED=%llu\n", static_cast<unsigned long long>(seed_));
    random_.seed(seed_);
  }

  void check(const Plan& plan, const LinearSpec& spec, const FloatBox& box,
             const std::string& label) {
    const engine::Engine engine(lower(std::make_shared<const Plan>(plan)));
    const Callee callee = callee_of(engine);
    const Called called = call_bounds(plan, callee, {}, {box});
    if (called.status == BF_FLOAT32_RANGE || called.status == BF_INFINITE_BOX) {
      ++beyond_;
      return;
    }
    ASSERT_EQ(called.status, BF_OK) << label;
    Signature of_rows;
    of_rows.spec = true;
    const Called rows = call_bounds(plan, callee, of_rows, {box});
    ASSERT_EQ(rows.status, BF_OK) << label;
    ++boxes_;
    for (int i = 0; i < 12; ++i) {
      const std::vector<float> x = random_point_in(box, random_);
      const bool in_float = std::ranges::all_of(
          plan.find_entry(EntryKind::kEvaluate)->steps,
          [](const Step& step) { return std::holds_alternative<EvaluateAffine>(step); });
      in_float_ += in_float ? 1 : 0;
      const std::vector<float> y = i % 2 == 0 || !in_float ? call_evaluate(plan, callee, x).lower
                                                           : in_chains(plan, x, random_);
      ++evaluations_;
      const Outcome& bounds = called.boxes.front();
      for (std::size_t k = 0; k < y.size(); ++k)
        ASSERT_TRUE(y[k] >= bounds.lower[k] && y[k] <= bounds.upper[k])
            << fmt::format("BF_SEED={} {}: output {} is {:a}, bounds {:a} {:a}", seed_, label, k,
                           y[k], bounds.lower[k], bounds.upper[k]);
      const std::vector<mpq_class> exact = rows_of(spec, y);
      const Outcome& around = rows.boxes.front();
      for (std::size_t k = 0; k < exact.size(); ++k)
        ASSERT_TRUE((std::isinf(around.lower[k]) || exact[k] >= around.lower[k]) &&
                    (std::isinf(around.upper[k]) || exact[k] <= around.upper[k]))
            << fmt::format("BF_SEED={} {}: row {} is {:a}, bounds {:a} {:a}", seed_, label, k,
                           exact[k].get_d(), around.lower[k], around.upper[k]);
    }
  }

  const std::uint64_t seed_ = testing::seed_from_environment(20261125);
  Random random_;
  std::map<std::string, int> refused_;
  int boxes_ = 0, beyond_ = 0, evaluations_ = 0, in_float_ = 0;
};

TEST_F(Float32Exact, EvaluationsOfRandomNetworksAreInside) {
  const int rounds = 2 * testing::rounds_from_environment();
  for (int round = 0; round < rounds && !HasFatalFailure(); ++round)
    for (int family = 0; family < kFamilies; ++family)
      for (const Method method : kMethods) {
        const Net net = random_net(random_, static_cast<Family>(family));
        const Graph graph = to_graph(net, static_cast<Form>(pick(random_, 0, 2)));
        const LinearSpec spec = random_spec(random_, net.outputs());
        const std::vector<std::string> targets = engine_targets();
        const auto plan = plan_exact(
            graph, exact_config(method, targets[random_() % targets.size()]), &spec, &refused_);
        if (plan == nullptr) continue;
        for (int i = 0; i < 3 && !HasFatalFailure(); ++i)
          check(*plan, spec, random_box(random_, net.inputs(), pick(random_, 0, kBoxKinds - 1)),
                fmt::format("{}, {}", net.label, to_string(method)));
      }
  for (const auto& [code, count] : refused_) std::printf("%s: %d\n", code.c_str(), count);
  std::printf("%d boxes, %d beyond, %d evaluations, %d in float32 throughout\n", boxes_, beyond_,
              evaluations_, in_float_);
  EXPECT_GT(boxes_, rounds * 60);
  EXPECT_GT(in_float_, evaluations_ / 8);
}

TEST_F(Float32Exact, EvaluationsOfRandomGraphsAreInside) {
  const int rounds = 60 * testing::rounds_from_environment();
  for (int round = 0; round < rounds && !HasFatalFailure(); ++round) {
    const Graph graph =
        testing::random_graph(random_, testing::Numbers::kFloats, pick(random_, 2, 8));
    std::int64_t outputs = 0;
    for (const ValueId id : graph.outputs) outputs += element_count(graph.value(id).shape);
    const LinearSpec spec = random_spec(random_, static_cast<int>(outputs));
    for (const Method method : kMethods) {
      const auto plan =
          plan_exact(graph, exact_config(method, engine_targets().back()), &spec, &refused_);
      if (plan == nullptr) continue;
      for (int i = 0; i < 2 && !HasFatalFailure(); ++i)
        check(*plan, spec, random_general_box(random_, plan->input_count),
              fmt::format("{}, {}", to_string(graph), to_string(method)));
    }
  }
  for (const auto& [code, count] : refused_) std::printf("%s: %d\n", code.c_str(), count);
  std::printf("%d boxes, %d beyond, %d evaluations\n", boxes_, beyond_, evaluations_);
  EXPECT_GT(boxes_, rounds / 2);
}

// ---- networks where the error term shows

// y = W x, one row; as a dense layer, or as a convolution over one position.
Graph sum_graph(const std::vector<std::vector<double>>& rows, bool dense) {
  Graph graph;
  graph.name = "sum";
  const auto in = static_cast<std::int64_t>(rows.front().size());
  const auto out = static_cast<std::int64_t>(rows.size());
  std::vector<double> weight;
  for (const std::vector<double>& row : rows) weight.insert(weight.end(), row.begin(), row.end());
  const ValueId x = graph.add_value("x", {1, in});
  const ValueId y = graph.add_value("y", {1, out});
  graph.inputs = {x};
  graph.outputs = {y};
  const Constant bias = {{out}, std::vector<double>(rows.size(), 0), {}};
  if (dense) {
    graph.nodes.push_back({Affine{{{out, in}, weight, {}}, bias}, {x}, y, "sum"});
    return graph;
  }
  Conv conv;
  ConvGeometry& g = conv.geometry;
  g.in_channels = in;
  g.out_channels = out;
  g.in = dense_layout(in, g.in_size);
  g.out = dense_layout(out, g.out_size);
  conv.weight = {{out, in, 1}, weight, {}};
  conv.bias = bias;
  graph.nodes.push_back({conv, {x}, y, "sum"});
  return graph;
}

// Whether the row's value at a point of ones lies outside of its bounds there.
bool leaves(const Graph& graph, const LinearSpec& spec, Semantics semantics,
            std::vector<std::string> dropped) {
  PlannerConfig config = exact_config(Method::kCrown, engine_targets().back());
  config.semantics = semantics;
  config.dropped_error_terms = std::move(dropped);
  const auto plan = plan_exact(graph, config, &spec);
  EXPECT_NE(plan, nullptr);
  const std::vector<float> x(static_cast<std::size_t>(plan->input_count), 1);
  const engine::Engine engine(lower(plan));
  const Callee callee = callee_of(engine);
  Signature of_rows;
  of_rows.spec = true;
  const Called called = call_bounds(*plan, callee, of_rows, {FloatBox{x, x}});
  EXPECT_EQ(called.status, BF_OK);
  const mpq_class value = rows_of(spec, call_evaluate(*plan, callee, x).lower).front();
  return value < called.boxes.front().lower.front() || value > called.boxes.front().upper.front();
}

TEST_F(Float32Exact, TheErrorTermIsNeeded) {
  // Ones after omega are lost, and omega leaves again.
  std::vector<double> lost(66, 1);
  lost[0] = kOmega;
  lost[65] = -kOmega;
  const Graph in_float = sum_graph({lost}, true);
  // Summed in double, but rounded before they are subtracted.
  const Graph in_double = sum_graph({{kOmega, 1}, {kOmega, 0}}, false);
  const LinearSpec itself{{{1}}, {0}, {}, {}}, difference{{{1, -1}}, {0}, {}, {}};
  for (const auto& [graph, spec] :
       {std::pair(in_float, itself), std::pair(in_double, difference)}) {
    EXPECT_TRUE(leaves(graph, spec, Semantics::kReal, {}));
    EXPECT_FALSE(leaves(graph, spec, Semantics::kFloat32Exact, {}));
    EXPECT_TRUE(leaves(graph, spec, Semantics::kFloat32Exact, {"evaluation"}));
  }
}

// Chains are shorter than those of an order that nobody knows, and so are errors.
TEST_F(Float32Exact, BoundsAreNarrowerThanThoseOfAnyOrder) {
  const Net net = random_net(random_, Family::kTrained, {784, 256, 10});
  const Graph graph = to_graph(net);
  const std::vector<float> x(784, 0.5F);
  const auto width = [&](Semantics semantics) {
    PlannerConfig config = exact_config(Method::kCrown, engine_targets().back());
    config.semantics = semantics;
    PassOptions passes;
    passes.own_evaluation = semantics == Semantics::kFloat32Exact;
    if (semantics == Semantics::kFloat32) passes.float32.emplace();
    Graph normal = graph;
    normalise(normal, passes);
    const auto plan = plan_for_engine(normal, false, config);
    const engine::Engine engine(lower(plan));
    const Outcome bounds =
        call_bounds(*plan, callee_of(engine), {}, {FloatBox{x, x}}).boxes.front();
    double sum = 0;
    for (std::size_t i = 0; i < bounds.lower.size(); ++i)
      sum += static_cast<double>(bounds.upper[i]) - static_cast<double>(bounds.lower[i]);
    return sum;
  };
  EXPECT_LT(8 * width(Semantics::kFloat32Exact), width(Semantics::kFloat32));
}

TEST_F(Float32Exact, OtherFunctionsAndProductsAreRefused) {
  const auto refused_for = [](Op op, std::size_t inputs) {
    Graph graph;
    graph.name = "refused";
    const ValueId x = graph.add_value("x", {1, 2});
    const ValueId y = graph.add_value("y", {1, 2});
    graph.inputs = {x};
    graph.outputs = {y};
    graph.nodes.push_back({std::move(op), std::vector<ValueId>(inputs, x), y, "node"});
    std::map<std::string, int> refused;
    EXPECT_EQ(
        plan_exact(graph, exact_config(Method::kCrown, engine_targets().back()), nullptr, &refused),
        nullptr);
    return refused.empty() ? "" : refused.begin()->first;
  };
  EXPECT_EQ(refused_for(Unary{{FunctionKind::kTanh, 0, 0}}, 1), "BF2110");
  EXPECT_EQ(refused_for(Binary{Binary::Kind::kMul}, 2), "BF2110");
  EXPECT_EQ(refused_for(LogSoftmax{{0, 2}, {0, 1}}, 1), "BF2110");
  EXPECT_EQ(refused_for(Contraction{1, 1, 2, 1, {0}, {0, 1}}, 2), "BF2110");
}

TEST_F(Float32Exact, VerifierOfPlansCountsRoundings) {
  PlannerConfig config = exact_config(Method::kCrown, engine_targets().back());
  const LinearSpec spec{{{1}}, {0}, {}, {}};
  const auto plan = plan_exact(sum_graph({std::vector<double>(66, 1)}, true), config, &spec);
  ASSERT_NE(plan, nullptr);
  EXPECT_EQ(plan->layers.front().evaluated_depth, 9 + 8 + 1);
  Plan fewer = *plan;
  fewer.layers.front().evaluated_depth = 17;
  EXPECT_DEATH(verify(fewer), "chains of 18 roundings, and errors count 17");
  Plan lost = *plan;
  lost.layers.front().errors.weight_residual = 0;
  EXPECT_DEATH(verify(lost), "its errors hold fewer roundings than 18");
}

}  // namespace
}  // namespace bf_aot::soundness
