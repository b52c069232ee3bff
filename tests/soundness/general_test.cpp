// Random graphs of all operators (sums of convolutions and sparse maps, products, maxima,
// functions, values with several readers) against exact arithmetic on the graph as imported: what
// the passes, the planner, the emitter and the runtime make of it together. BF_SEED=n repeats a
// run, BF_ROUNDS=n takes n times as many networks.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ostream>
#include <set>

#include "aot/host/library.h"
#include "frontend/diagnostic.h"
#include "frontend/evaluate_exact.h"
#include "frontend/passes/pipeline.h"
#include "tests/property/passes_random_graph.h"
#include "tests/seed.h"
#include "tests/soundness/batch.h"

namespace bf_aot::soundness {
namespace {

using testing::Numbers;

struct Configuration {
  const char* name;
  Method method;
  Lowering lowering;
  const char* target;
  const char* compiler;
  std::vector<std::string> flags;
  bool float_sums = false;  // networks whose intervals go through sums and maxima in float32
};

std::ostream& operator<<(std::ostream& out, const Configuration& configuration) {
  return out << configuration.name;
}

const Configuration kConfigurations[] = {
    {"ibp_generic_gcc", Method::kIbp, Lowering::kGeneric, "generic", "g++", {"-O1"}},
    {"ibp_host_clang", Method::kIbp, Lowering::kVector, "host", "clang++", {"-O1"}},
    {"float_ibp_generic_gcc",
     Method::kIbp,
     Lowering::kGeneric,
     "generic",
     "g++",
     {"-O1", "-ffp-contract=off"},
     true},
    {"float_ibp_v3_gcc", Method::kIbp, Lowering::kVector, "x86-64-v3", "g++", {"-O2"}, true},
    {"float_ibp_host_clang", Method::kIbp, Lowering::kVector, "host", "clang++", {"-O1"}, true},
    {"float_ibp_host_gcc",
     Method::kIbp,
     Lowering::kVector,
     "host",
     "g++",
     {"-O2", "-ffp-contract=fast"},
     true},
    {"crown_ibp_v3_gcc", Method::kCrownIbp, Lowering::kVector, "x86-64-v3", "g++", {"-O1"}},
    {"crown_ibp_generic_clang",
     Method::kCrownIbp,
     Lowering::kGeneric,
     "generic",
     "clang++",
     {"-O1", "-ffp-contract=off"}},
    {"crown_host_gcc",
     Method::kCrown,
     Lowering::kVector,
     "host",
     "g++",
     {"-O2", "-ffp-contract=fast"}},
    {"crown_generic_gcc", Method::kCrown, Lowering::kGeneric, "generic", "g++", {"-O1"}},
    {"crown_tuned_host_gcc", Method::kCrown, Lowering::kTuned, "host", "g++", {"-O2"}},
    {"crown_tuned_sse_gcc", Method::kCrown, Lowering::kTuned, "x86-64", "g++", {"-O1"}},
    {"crown_prebuilt_v3_gcc", Method::kCrown, Lowering::kPrebuilt, "x86-64-v3", "g++", {"-O1"}},
    {"alpha_crown_host_gcc",
     Method::kAlphaCrown,
     Lowering::kVector,
     "host",
     "g++",
     {"-O2", "-ffp-contract=fast"}},
    {"alpha_crown_generic_clang",
     Method::kAlphaCrown,
     Lowering::kGeneric,
     "generic",
     "clang++",
     {"-O1", "-ffp-contract=off"}},
    {"auto_host_gcc",
     Method::kAuto,
     Lowering::kVector,
     "host",
     "g++",
     {"-O2", "-ffp-contract=fast"}},
    {"auto_generic_clang",
     Method::kAuto,
     Lowering::kGeneric,
     "generic",
     "clang++",
     {"-O1", "-ffp-contract=off"}},
};

using Point = std::vector<mpq_class>;

bool has_float_sums(const Plan& plan) {
  return std::ranges::any_of(plan.entries.front().steps, [](const Step& step) {
    return std::holds_alternative<IntervalSum>(step);
  });
}

// The imported graph and its inputs' sizes.
struct Example {
  Graph graph;
  std::string text;
  bool exact = true;  // no smooth function: values are exact
};

bool is_smooth(const Node& node) {
  const auto* unary = std::get_if<Unary>(&node.op);
  return unary != nullptr && !is_piecewise_linear(unary->function.kind);
}

// What functions with poles or of a restricted domain make is not checked here.
Point evaluate_at(const Example& example, const Point& x) {
  std::vector<Point> inputs;
  auto next = x.begin();
  for (const ValueId id : example.graph.inputs) {
    const auto size = element_count(example.graph.value(id).shape);
    inputs.emplace_back(next, next + size);
    next += size;
  }
  Point y;
  for (const Point& output : bf_aot::evaluate_exact(example.graph, inputs))
    y.insert(y.end(), output.begin(), output.end());
  return y;
}

class GeneralNetworks : public ::testing::TestWithParam<Configuration> {
 protected:
  void SetUp() override {
    const Configuration& configuration = GetParam();
    if (!has_compiler(configuration.compiler))
      GTEST_SKIP() << configuration.compiler << " is not installed";
    const PlannerConfig config =
        planner_config(configuration.method, configuration.lowering, configuration.target);
    if (!cli::runs_here(config.target)) GTEST_SKIP() << "no " << config.target.name << " processor";
    const std::uint64_t seed = testing::seed_from_environment(20261120);
    std::string name = configuration.name;  // each configuration has networks of its own
    name += std::to_string(seed);
    std::seed_seq sequence(name.begin(), name.end());
    random_.seed(sequence);
    std::printf("BF_SEED=%llu\n", static_cast<unsigned long long>(seed));
    while (examples_.size() < nets_) add_network(config);
    batch_.build({configuration.compiler, configuration.flags});
  }

  // A graph that the planner takes; those with a constant output are left out, for example.
  void add_network(const PlannerConfig& config) {
    const Numbers numbers = examples_.size() % 3 == 0 ? Numbers::kSmallIntegers : Numbers::kFloats;
    const int size = testing::pick(random_, 2, 12);
    Example example{testing::random_graph(random_, numbers, size), {}, true};
    for (const Node& node : example.graph.nodes) {
      example.exact = example.exact && !is_smooth(node);
      const auto* binary = std::get_if<Binary>(&node.op);
      if (binary != nullptr && binary->kind == Binary::Kind::kDiv) return;
    }
    Graph graph = example.graph;
    try {
      normalise(graph);
      const bool tuned = config.lowering == Lowering::kTuned;
      if (GetParam().float_sums && !has_float_sums(plan(graph, {}, "net", false, config))) return;
      batch_.add(graph, false, tuned ? with_random_schedules(graph, config, random_) : config);
    } catch (const CompileError& error) {
      ++refused_[error.diagnostics().front().code];
      return;
    }
    const Plan& plan = batch_.plan(batch_.size() - 1);
    for (const Layer& layer : plan.layers) {
      kinds_.insert(static_cast<int>(layer.kind));
      for (const Term& term : layer.terms) maps_.insert(static_cast<int>(term.map.index()));
    }
    examples_.push_back(std::move(example));
  }

  FloatBox random_box(int inputs) {
    const double radii[] = {0, 0x1p-30, 0x1p-8, 0.25, 1, 4};
    const double radius = radii[testing::pick(random_, 0, 5)];
    std::uniform_real_distribution<double> unit(-1, 1);
    FloatBox box;
    for (int i = 0; i < inputs; ++i) {
      const double centre = std::round(unit(random_) * 64) / 32;
      const double width = testing::pick(random_, 0, 3) == 0 ? 0 : radius;
      box.lower.push_back(static_cast<float>(centre - width));
      box.upper.push_back(static_cast<float>(centre + width));
    }
    return box;
  }

  Point random_point(const FloatBox& box) {
    Point x;
    const bool corner = testing::pick(random_, 0, 1) == 0;
    for (std::size_t i = 0; i < box.lower.size(); ++i) {
      const mpq_class lower = static_cast<double>(box.lower[i]);
      const mpq_class upper = static_cast<double>(box.upper[i]);
      const int step = corner ? 16 * testing::pick(random_, 0, 1) : testing::pick(random_, 0, 16);
      x.push_back(lower + (upper - lower) * step / 16);
    }
    return x;
  }

  void check_box(std::size_t net, const FloatBox& box);

  const std::size_t nets_ = 20 * static_cast<std::size_t>(testing::rounds_from_environment());
  std::mt19937_64 random_;
  std::vector<Example> examples_;
  std::map<std::string, int> refused_;
  std::set<int> kinds_, maps_;
  Batch batch_;
  int finite_ = 0, bounds_ = 0;
};

void GeneralNetworks::check_box(std::size_t net, const FloatBox& box) {
  const Outcome outcome = batch_.run(net, box);
  ASSERT_EQ(outcome.status, BF_OK);
  for (std::size_t j = 0; j < outcome.lower.size(); ++j) {
    ASSERT_LE(outcome.lower[j], outcome.upper[j]) << "output " << j;  // also: no NaN
    ++bounds_;
    finite_ += std::isfinite(outcome.lower[j]) && std::isfinite(outcome.upper[j]) ? 1 : 0;
  }
  for (int i = 0; i < 6; ++i) {
    const Point y = evaluate_at(examples_[net], random_point(box));
    ASSERT_EQ(y.size(), outcome.lower.size());
    for (std::size_t j = 0; j < y.size(); ++j) {
      const mpq_class slack = examples_[net].exact ? mpq_class(0) : mpq_class(0x1p-120);
      const auto lower = static_cast<double>(outcome.lower[j]);
      const auto upper = static_cast<double>(outcome.upper[j]);
      ASSERT_TRUE(std::isinf(lower) || mpq_class(lower) <= y[j] + slack)
          << fmt::format("output {} is {:a}, lower bound {:a}", j, y[j].get_d(), lower);
      ASSERT_TRUE(std::isinf(upper) || mpq_class(upper) >= y[j] - slack)
          << fmt::format("output {} is {:a}, upper bound {:a}", j, y[j].get_d(), upper);
    }
  }
}

TEST_P(GeneralNetworks, BoundsHold) {
  for (std::size_t net = 0; net < examples_.size(); ++net)
    for (int i = 0; i < 6; ++i) {
      SCOPED_TRACE(fmt::format("net {}, box {}", net, i));
      check_box(net, random_box(batch_.plan(net).input_count));
      if (HasFatalFailure()) {
        std::printf("%s\n", to_string(examples_[net].graph).c_str());
        return;
      }
    }
  for (const auto& [code, count] : refused_) std::printf("%s: %d graphs\n", code.c_str(), count);
  std::printf("%d of %d bounds are finite\n", finite_, bounds_);
  EXPECT_GT(finite_, bounds_ * 3 / 4);
  EXPECT_EQ(kinds_.size(), GetParam().float_sums ? 3U : 4U) << "some kind of layer does not occur";
  EXPECT_EQ(maps_.size(), 3U) << "some kind of term does not occur";
}

INSTANTIATE_TEST_SUITE_P(Configurations, GeneralNetworks, ::testing::ValuesIn(kConfigurations),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace bf_aot::soundness
