// Verdicts of the engine on random properties of random networks, against exact arithmetic: what is
// verified has no violation among exact points, and what is falsified has a witness that violates
// it exactly. Every instruction set that runs here, NAME_verify in all its forms and NAME_decide.
// BF_SEED=n repeats a run, BF_ENGINE_CASES=n takes n verdicts instead of 10000.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>
#include <optional>
#include <set>

#include "frontend/diagnostic.h"
#include "frontend/passes/pipeline.h"
#include "tests/seed.h"
#include "tests/soundness/cached.h"
#include "tests/soundness/engine_call.h"
#include "tests/soundness/executors.h"
#include "tests/soundness/general.h"
#include "tests/soundness/verdicts.h"
#include "tests/support/property_text.h"

namespace bf_aot::soundness {
namespace {

constexpr Method kDenseMethods[] = {Method::kIbp, Method::kCrownIbp, Method::kCrown,
                                    Method::kAlphaCrown, Method::kForward};
constexpr Method kGeneralMethods[] = {Method::kIbp, Method::kCrownIbp, Method::kCrown,
                                      Method::kAlphaCrown};
constexpr int kParts = static_cast<int>(std::size(kDenseMethods) + std::size(kGeneralMethods));

std::uint64_t seed() {
  return testing::seed_from_environment(20261125);
}

int cases_of_a_part() {
  const char* text = std::getenv("BF_ENGINE_CASES");
  const long all = text == nullptr ? 10000 : std::strtol(text, nullptr, 10);
  return static_cast<int>((std::max(all, 1L) + kParts - 1) / kParts);
}

class EngineVerdicts : public ::testing::TestWithParam<Method> {
 protected:
  void SetUp() override {
    const std::string name = fmt::format(
        "{}{}", ::testing::UnitTest::GetInstance()->current_test_info()->name(), seed());
    std::seed_seq sequence(name.begin(), name.end());
    random_.seed(sequence);
    std::printf("BF_SEED=%llu\n", static_cast<unsigned long long>(seed()));
    ASSERT_FALSE(targets_.empty());
  }

  PlannerConfig next_config() {
    PlannerConfig config =
        planner_config(GetParam(), Lowering::kPrebuilt,
                       targets_[static_cast<std::size_t>(networks_) % targets_.size()]);
    config.iterations = 2;
    config.decide = true;
    if (pick(random_, 0, 1) == 0) config.batch = 8;
    if (pick(random_, 0, 3) == 0) config.workers = 2;
    if (config.batch == 1 && config.workers == 1 && pick(random_, 0, 1) == 0)
      config.reuse.ibp = config.reuse.bounds = true;
    if (config.workers == 1 && pick(random_, 0, 1) == 0) config.splits = Splits::kNeurons;
    return config;
  }

  // False: the planner does not take it.
  bool start(const Graph& graph, const Property& property) {
    PlannerConfig config = next_config();
    std::shared_ptr<const Plan> made;
    try {
      made = plan_for_property(graph, config);
    } catch (const CompileError&) {
      config.workers = 1;  // there is nothing that workers could share
      config.splits = Splits::kInputs;
      try {
        made = plan_for_property(graph, config);
      } catch (const CompileError&) {
        return false;
      }
    }
    engine::EngineOptions options;
    options.property = &property;
    by_neurons_ += made->config.splits == Splits::kNeurons ? 1 : 0;
    engine_ = std::make_unique<engine::Engine>(lower(std::move(made)), options);
    ++networks_;
    return true;
  }

  // An end or the middle of each side, or anything between.
  std::vector<double> random_point(const FloatBox& box) {
    std::vector<double> x;
    for (std::size_t i = 0; i < box.lower.size(); ++i) {
      const double lower = box.lower[i], upper = box.upper[i];
      const double t = pick(random_, 0, 1) == 0 ? pick(random_, 0, 1) : pick(random_, 0, 64) / 64.0;
      x.push_back(std::clamp(lower * (1 - t) + upper * t, lower, upper));
    }
    return x;
  }

  void check(const Property& property, const FloatBox& box, const Judged& judged,
             const Values& values) {
    const auto is_violated_at = [&](const std::vector<double>& x) {
      return test::violates(property, x, values({x.begin(), x.end()}));
    };
    ASSERT_EQ(judged.status, BF_OK);
    ++verdicts_.at(judged.result.verdict);
    ++cases_;
    if (judged.result.verdict == BF_FALSIFIED) {
      for (std::size_t i = 0; i < box.lower.size(); ++i)
        ASSERT_TRUE(box.lower[i] <= judged.point[i] && judged.point[i] <= box.upper[i]);
      ASSERT_TRUE(is_violated_at({judged.point.begin(), judged.point.end()})) << "the witness";
    }
    const bool holds = judged.result.verdict == BF_VERIFIED ||
                       judged.result.verdict == BF_OUTSIDE ||
                       judged.result.verdict == BF_PARTLY_OUTSIDE;
    if (!holds) return;
    for (int k = 0; k < 6; ++k)
      ASSERT_FALSE(is_violated_at(random_point(box))) << "a violation where there is none";
  }

  // Every function of the property on boxes of its cases and parts of them.
  void judge(const Property& property, const FloatBox& whole, const Values& values) {
    const Plan& plan = engine_->plan();
    const Callee callee = callee_of(*engine_);
    std::vector<FloatBox> boxes = {whole};
    for (int k = 0; k < 4; ++k) {
      FloatBox box = whole;
      for (std::size_t i = 0; i < box.lower.size(); ++i) {
        const float middle =
            std::clamp(box.lower[i] / 2 + box.upper[i] / 2, box.lower[i], box.upper[i]);
        const int part = k == 3 ? 2 : pick(random_, 0, 3);
        if (part == 0 || part == 2) box.lower[i] = middle;
        if (part == 1 || part == 2) box.upper[i] = middle;
      }
      boxes.push_back(std::move(box));
    }
    const SerialExecutor executor(Habit::kRandom, 2);
    for (const ExportedFunction& function : plan.functions) {
      const Signature& s = function.signature;
      if (s.purpose != Purpose::kVerify && s.purpose != Purpose::kDecide) continue;
      functions_.insert(suffix_of(s));
      SCOPED_TRACE(fmt::format("BF_SEED={}, {}, network {}, {}", seed(), plan.config.target.name,
                               networks_, suffix_of(s)));
      std::optional<Arena> context;
      if (s.cached) context = new_context(plan, callee);
      const CallWith with = {context ? &*context : nullptr, s.parallel ? executor.get() : nullptr};
      if (s.batch) {
        const Verdicts all = call_verdicts(plan, callee, s, boxes, with);
        for (std::size_t i = 0; i < boxes.size(); ++i)
          ASSERT_NO_FATAL_FAILURE(check(property, boxes[i], all.boxes[i], values)) << "box " << i;
        continue;
      }
      for (const FloatBox& box : boxes) {
        const Verdicts one = call_verdicts(plan, callee, s, {box}, with, 60);
        ASSERT_NO_FATAL_FAILURE(check(property, box, one.boxes.front(), values));
      }
    }
  }

  void expect_variety() const {
    std::printf(
        "%d verdicts of %d networks, %d by neurons: %d verified, %d falsified, %d unknown, "
        "%d budget, %d outside, %d partly\n",
        cases_, networks_, by_neurons_, verdicts_[BF_VERIFIED], verdicts_[BF_FALSIFIED],
        verdicts_[BF_UNKNOWN], verdicts_[BF_BUDGET], verdicts_[BF_OUTSIDE],
        verdicts_[BF_PARTLY_OUTSIDE]);
    if (networks_ < 40) return;
    EXPECT_GT(verdicts_[BF_VERIFIED], cases_ / 20);
    EXPECT_GT(verdicts_[BF_FALSIFIED], cases_ / 20);
    EXPECT_GE(functions_.size(), 5U) << "some function does not occur";
  }

  const std::vector<std::string> targets_ = engine_targets();
  Random random_;
  std::unique_ptr<engine::Engine> engine_;
  int cases_ = 0, networks_ = 0, by_neurons_ = 0;
  std::array<int, BF_PARTLY_OUTSIDE + 1> verdicts_ = {};
  std::set<std::string> functions_;
};

class EngineVerdictsDense : public EngineVerdicts {};

TEST_P(EngineVerdictsDense, Hold) {
  for (int i = 0; cases_ < cases_of_a_part(); ++i) {
    const Net net = random_net(random_, static_cast<Family>(i % kFamilies));
    const ExactNet exact(net);
    const Values values = [&](const std::vector<mpq_class>& x) {
      std::vector<double> rounded;
      for (const mpq_class& each : x) rounded.push_back(each.get_d());
      const Numbers y = exact.evaluate(exact_numbers(rounded));
      std::vector<mpq_class> made;
      for (std::size_t j = 0; j < y.values.size(); ++j) made.push_back(y.rational(j));
      return made;
    };
    const FloatBox box = random_box(random_, net.inputs(), pick(random_, 0, kBoxKinds - 1));
    const Property property = random_property(random_, box, net.outputs(), values);
    if (!start(graph_with_spec(net, to_spec(property)), property)) continue;
    ASSERT_NO_FATAL_FAILURE(judge(property, box, values)) << net.label;
  }
  expect_variety();
}

INSTANTIATE_TEST_SUITE_P(Methods, EngineVerdictsDense, ::testing::ValuesIn(kDenseMethods),
                         [](const auto& test) { return test_name(to_string(test.param)); });

class EngineVerdictsGeneral : public EngineVerdicts {};

TEST_P(EngineVerdictsGeneral, Hold) {
  for (int i = 0; cases_ < cases_of_a_part(); ++i) {
    const auto numbers = i % 3 == 0 ? testing::Numbers::kSmallIntegers : testing::Numbers::kFloats;
    const Example example = random_example(random_, numbers);
    if (example.divides || !example.exact) continue;
    std::int64_t inputs = 0, outputs = 0;
    for (const ValueId id : example.graph.inputs)
      inputs += element_count(example.graph.value(id).shape);
    for (const ValueId id : example.graph.outputs)
      outputs += element_count(example.graph.value(id).shape);
    const Values values = [&](const Point& x) { return evaluate_at(example, x); };
    const FloatBox box = random_general_box(random_, static_cast<int>(inputs));
    const Property property = random_property(random_, box, static_cast<int>(outputs), values);
    const LinearSpec spec = to_spec(property);
    Graph graph = example.graph;
    PassOptions passes;
    passes.spec = &spec;
    passes.max_as_relu = i % 2 == 0;  // so that their neurons may be split
    try {
      normalise(graph, passes);
    } catch (const CompileError&) {
      continue;
    }
    if (!start(graph, property)) continue;
    ASSERT_NO_FATAL_FAILURE(judge(property, box, values)) << to_string(example.graph);
  }
  expect_variety();
}

INSTANTIATE_TEST_SUITE_P(Methods, EngineVerdictsGeneral, ::testing::ValuesIn(kGeneralMethods),
                         [](const auto& test) { return test_name(to_string(test.param)); });

}  // namespace
}  // namespace bf_aot::soundness
