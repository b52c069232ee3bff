// Random networks, boxes and methods run by the engine, against exact arithmetic: every instruction
// set that runs here, boxes one by one, side by side and by several workers, outputs and rows of
// specifications. BF_SEED=n repeats a run, BF_ENGINE_CASES=n takes n cases instead of 10000: a case
// is the bounds of a network on a box by a method.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <memory>
#include <set>

#include "frontend/diagnostic.h"
#include "frontend/passes/pipeline.h"
#include "tests/seed.h"
#include "tests/soundness/cached.h"
#include "tests/soundness/checks.h"
#include "tests/soundness/engine_call.h"
#include "tests/soundness/executors.h"
#include "tests/soundness/general.h"

namespace bf_aot::soundness {
namespace {

constexpr Method kDenseMethods[] = {Method::kIbp, Method::kCrownIbp, Method::kCrown,
                                    Method::kAlphaCrown, Method::kForward};
// Lines are those of chains of dense layers.
constexpr Method kGeneralMethods[] = {Method::kIbp, Method::kCrownIbp, Method::kCrown,
                                      Method::kAlphaCrown};
constexpr int kParts = static_cast<int>(std::size(kDenseMethods) + std::size(kGeneralMethods));
constexpr int kBatch = 16;

std::uint64_t seed() {
  return testing::seed_from_environment(20261124);
}

// Of each method and kind of network.
int cases_of_a_part() {
  const char* text = std::getenv("BF_ENGINE_CASES");
  const long all = text == nullptr ? 10000 : std::strtol(text, nullptr, 10);
  return static_cast<int>((std::max(all, 1L) + kParts - 1) / kParts);
}

class EngineTest : public ::testing::TestWithParam<Method> {
 protected:
  void SetUp() override {
    const std::string name = fmt::format(
        "{}{}", ::testing::UnitTest::GetInstance()->current_test_info()->name(), seed());
    std::seed_seq sequence(name.begin(), name.end());
    random_.seed(sequence);
    std::printf("BF_SEED=%llu\n", static_cast<unsigned long long>(seed()));
    ASSERT_FALSE(targets_.empty());
  }

  // Instruction sets by turns, and ways to call.
  PlannerConfig next_config() {
    const auto n = static_cast<std::size_t>(networks_);
    PlannerConfig config =
        planner_config(GetParam(), Lowering::kPrebuilt, targets_[n % targets_.size()]);
    config.iterations = 3;
    if (pick(random_, 0, 2) == 0) config.batch = kBatch;
    if (pick(random_, 0, 3) == 0) config.workers = 2;
    if (n % 2 == 0) config.alpha = AlphaRows::kAll;
    return config;
  }

  void start(const Graph& graph, bool has_spec, PlannerConfig config) {
    engine_ = std::make_unique<engine::Engine>(lower(plan_for_engine(graph, has_spec, config)));
    ++networks_;
    seen_.insert(config.target.name);
  }

  // Bounds of all boxes, by the function of the plan that takes the most of them at once.
  std::vector<Outcome> bounds(bool spec, const std::vector<FloatBox>& boxes) {
    const Plan& plan = engine_->plan();
    const Callee callee = callee_of(*engine_);
    const SerialExecutor executor(Habit::kRandom, 2);
    const CallWith with = {nullptr, executor.get()};
    const bool batch = plan.config.batch > 1;
    Signature signature;
    signature.spec = spec;
    signature.batch = batch;
    signature.parallel = true;
    signature.parallel = has_function(plan, signature);
    ways_.insert({batch ? plan.batch.side_by_side : 0, signature.parallel});
    if (batch) return call_bounds(plan, callee, signature, boxes, with).boxes;
    std::vector<Outcome> all;
    for (const FloatBox& box : boxes)
      all.push_back(call_bounds(plan, callee, signature, {box}, with).boxes.front());
    return all;
  }

  void expect_variety() const {
    std::printf("%d cases, %d networks\n", cases_, networks_);
    EXPECT_GE(cases_, cases_of_a_part());
    if (networks_ < 40) return;
    EXPECT_EQ(seen_.size(), targets_.size());
    std::set<std::pair<bool, bool>> ways;
    for (const auto& [boxes, parallel] : ways_) ways.insert({boxes > 0, parallel});
    const bool rows = GetParam() != Method::kIbp && GetParam() != Method::kForward;
    EXPECT_EQ(ways.size(), rows ? 4U : 3U) << "some way to call does not occur";
  }

  const std::vector<std::string> targets_ = engine_targets();
  Random random_;
  std::unique_ptr<engine::Engine> engine_;
  int cases_ = 0, networks_ = 0;
  std::set<std::string> seen_;
  std::set<std::pair<int, bool>> ways_;  // boxes side by side, 0: no batch; several workers
};

class EngineDense : public EngineTest {
 protected:
  void check_network(const Net& net);
};

void EngineDense::check_network(const Net& net) {
  const LinearSpec spec = random_spec(random_, net.outputs());
  const bool has_spec = pick(random_, 0, 1) == 0;
  try {
    start(has_spec ? graph_with_spec(net, spec) : to_graph(net), has_spec, next_config());
  } catch (const CompileError& refused) {
    // ReLUs that cancel leave a sum, through which lines do not go forward.
    if (GetParam() != Method::kForward || refused.diagnostics().at(0).code != "BF2107") throw;
    return;
  }
  std::vector<FloatBox> boxes;
  for (int kind = 0; kind < kBoxKinds; ++kind)
    boxes.push_back(random_box(random_, net.inputs(), kind));
  const ExactNet exact(net);
  const std::vector<Outcome> outputs = bounds(false, boxes);
  const std::vector<Outcome> rows = has_spec ? bounds(true, boxes) : std::vector<Outcome>();
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    SCOPED_TRACE(fmt::format("BF_SEED={}, {}, {}, box kind {}", seed(),
                             engine_->plan().config.target.name, net.label, i));
    ASSERT_EQ(outputs[i].status, BF_OK);
    ASSERT_NO_FATAL_FAILURE(check_form(net, boxes[i], outputs[i]));
    if (GetParam() == Method::kIbp && !has_spec) {  // else layers are merged, and bounds tighter
      ASSERT_NO_FATAL_FAILURE(check_intervals(exact, boxes[i], outputs[i]));
    }
    const Numbers corner = corner_of(boxes[i], random_());
    const Numbers inner = point_of(boxes[i], random_);
    ASSERT_NO_FATAL_FAILURE(check_point(exact, corner, outputs[i], "corner"));
    ASSERT_NO_FATAL_FAILURE(check_point(exact, inner, outputs[i], "inner point"));
    ASSERT_NO_FATAL_FAILURE(check_point(exact, centre_of(boxes[i]), outputs[i], "centre"));
    ++cases_;
    if (!has_spec) continue;
    ASSERT_EQ(rows[i].status, BF_OK);
    ASSERT_NO_FATAL_FAILURE(check_rows(exact, spec, corner, rows[i], "corner"));
    ASSERT_NO_FATAL_FAILURE(check_rows(exact, spec, centre_of(boxes[i]), rows[i], "centre"));
  }
}

TEST_P(EngineDense, BoundsHold) {
  for (int i = 0; cases_ < cases_of_a_part(); ++i)
    ASSERT_NO_FATAL_FAILURE(check_network(random_net(random_, static_cast<Family>(i % kFamilies))));
  expect_variety();
}

INSTANTIATE_TEST_SUITE_P(Methods, EngineDense, ::testing::ValuesIn(kDenseMethods),
                         [](const auto& test) { return test_name(to_string(test.param)); });

class EngineGeneral : public EngineTest {
 protected:
  // False: the planner does not take it; a constant output, for example.
  bool start_general(const Example& example);
  void check_network(const Example& example);

  LinearSpec spec_;
  std::set<LayerKind> kinds_;
  std::set<std::size_t> maps_;
  int finite_ = 0, bounds_ = 0;
};

bool EngineGeneral::start_general(const Example& example) {
  std::int64_t outputs = 0;
  for (const ValueId id : example.graph.outputs)
    outputs += element_count(example.graph.value(id).shape);
  Graph graph = example.graph;
  PassOptions passes;
  spec_ = random_spec(random_, static_cast<int>(outputs));
  const bool has_spec = pick(random_, 0, 1) == 0;
  if (has_spec) passes.spec = &spec_;
  try {
    normalise(graph, passes);
    start(graph, has_spec, next_config());
  } catch (const CompileError&) {
    return false;
  }
  for (const Layer& layer : engine_->plan().layers) {
    kinds_.insert(layer.kind);
    for (const Term& term : layer.terms) maps_.insert(term.map.index());
  }
  return true;
}

void EngineGeneral::check_network(const Example& example) {
  std::vector<FloatBox> boxes;
  for (int i = 0; i < 10; ++i)
    boxes.push_back(random_general_box(random_, engine_->plan().input_count));
  const bool has_spec = engine_->plan().spec_rows > 0;
  const std::vector<Outcome> outputs = bounds(false, boxes);
  const std::vector<Outcome> rows = has_spec ? bounds(true, boxes) : std::vector<Outcome>();
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    SCOPED_TRACE(fmt::format("BF_SEED={}, {}, network {}, box {}", seed(),
                             engine_->plan().config.target.name, networks_, i));
    ASSERT_EQ(outputs[i].status, BF_OK);
    ASSERT_NO_FATAL_FAILURE(check_order(outputs[i]));
    for (std::size_t j = 0; j < outputs[i].lower.size(); ++j) {
      ++bounds_;
      if (std::isfinite(outputs[i].lower[j]) && std::isfinite(outputs[i].upper[j])) ++finite_;
    }
    const Point x = random_point_of(boxes[i], random_);
    const Point y = evaluate_at(example, x);
    ASSERT_NO_FATAL_FAILURE(check_values(example, y, outputs[i]));
    ++cases_;
    if (!has_spec) continue;
    ASSERT_EQ(rows[i].status, BF_OK);
    ASSERT_NO_FATAL_FAILURE(check_order(rows[i]));
    // Coefficients are 2 at most.
    const auto terms = 2 * static_cast<double>(y.size());
    ASSERT_NO_FATAL_FAILURE(check_values(example, rows_at(spec_, y), rows[i], terms));
  }
}

TEST_P(EngineGeneral, BoundsHold) {
  for (int i = 0; cases_ < cases_of_a_part(); ++i) {
    const auto numbers = i % 3 == 0 ? testing::Numbers::kSmallIntegers : testing::Numbers::kFloats;
    const Example example = random_example(random_, numbers);
    if (example.divides || !start_general(example)) continue;
    check_network(example);
    if (HasFatalFailure()) {
      std::printf("%s\n", to_string(example.graph).c_str());
      return;
    }
  }
  expect_variety();
  std::printf("%d of %d bounds are finite\n", finite_, bounds_);
  EXPECT_GT(finite_, bounds_ * 3 / 4);
  if (networks_ < 40) return;
  EXPECT_EQ(kinds_.size(), 6U) << "some kind of layer does not occur";
  EXPECT_EQ(maps_.size(), 3U) << "some kind of term does not occur";
}

INSTANTIATE_TEST_SUITE_P(Methods, EngineGeneral, ::testing::ValuesIn(kGeneralMethods),
                         [](const auto& test) { return test_name(to_string(test.param)); });

}  // namespace
}  // namespace bf_aot::soundness
