// Verifiers of the ONNX backend tests. On the point box [x, x] of a test's input the bounds hold
// the expected output, and are hardly wider than float32 allows; on boxes around x they hold what
// the graph evaluates to at sampled points. The engine runs all of them. Generated code runs the
// first test of each operator, and one in ten of the others.
//
// BF_CONFORMANCE_LIST=1 prints what happened to each test; BF_SEED=n repeats other samples;
// BF_CONFORMANCE_ONLY=text takes tests whose names hold the text.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "frontend/evaluate/evaluate.h"
#include "frontend/passes/pipeline.h"
#include "tests/conformance/run.h"
#include "tests/soundness/verifiers.h"

namespace bf_aot::conformance {
namespace {

using soundness::Batch;
using soundness::FloatBox;
using soundness::Outcome;
using soundness::Subject;

// One test's network.
struct Network {
  const TestCase* test = nullptr;
  Graph graph;            // normalised
  std::vector<double> x;  // the test's input
  std::vector<TestTensor> expected;
};

bool list_all() {
  return std::getenv("BF_CONFORMANCE_LIST") != nullptr;
}

float below(double x) {
  const auto rounded = static_cast<float>(x);
  return rounded <= x ? rounded : std::nextafterf(rounded, -INFINITY);
}

float above(double x) {
  return -below(-x);
}

// x +- radius (1 + |x|), outward.
FloatBox box_around(const std::vector<double>& x, double radius) {
  FloatBox box;
  for (double each : x) {
    const double r = radius * (1 + std::fabs(each));
    box.lower.push_back(below(each - r));
    box.upper.push_back(above(each + r));
  }
  return box;
}

// Some tests' doubles do not.
bool fits_float(const std::vector<double>& x) {
  constexpr double kLargest = 1e30;
  return std::all_of(x.begin(), x.end(), [](double each) { return std::fabs(each) < kLargest; });
}

std::vector<double> flattened(const std::vector<std::vector<double>>& tensors) {
  std::vector<double> result;
  for (const auto& tensor : tensors) result.insert(result.end(), tensor.begin(), tensor.end());
  return result;
}

// The first attempt that is right and leaves the most inputs free.
std::optional<Attempt> best_attempt(const TestCase& test) {
  if (!exclusion(test).empty()) return std::nullopt;
  std::vector<FreeInputs> bindings = candidate_bindings(test);
  std::ranges::stable_sort(bindings, std::ranges::greater(),
                           [](const FreeInputs& free) { return std::ranges::count(free, true); });
  for (const FreeInputs& free : bindings) {
    Attempt attempt = run_attempt(test, free);
    if (attempt.result == Result::kRight) return attempt;
  }
  return std::nullopt;
}

bool has_steps(const Graph& graph) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(), [](const Node& node) {
    const auto* unary = std::get_if<Unary>(&node.op);
    if (unary == nullptr) return false;
    const FunctionKind kind = unary->function.kind;
    return (kind >= FunctionKind::kSign && kind <= FunctionKind::kIsZero) ||
           kind == FunctionKind::kThresholdedRelu || kind == FunctionKind::kShrink;
  });
}

bool sums_in_float(const Plan& plan) {
  return std::ranges::any_of(plan.entries.front().steps, [](const Step& step) {
    return std::holds_alternative<IntervalSum>(step);
  });
}

double budget(const Graph& graph, const Plan& plan) {
  constexpr double kSmooth = 1e-5;
  constexpr double kFloatSums = 1e-4;  // of convolutions under ibp: no centre is in double
  constexpr double kSteps = 8;
  return has_steps(graph) ? kSteps : sums_in_float(plan) ? kFloatSums : kSmooth;
}

// Casts to types of less precision round the bounds' ends apart, by at most an ulp of the type.
double rounding_of_casts(const TestCase& test) {
  double most = 0;
  for (const onnx::NodeProto& node : test.model.graph().node())
    if (node.op_type() == "Cast" || node.op_type() == "CastLike")
      for (const TestTensor& output : test.data.front().outputs)
        if (type_rounding(output) > 0x1p-24) most = std::max(most, 2 * type_rounding(output));
  return most;
}

// Elements of all values: what a backward pass costs.
std::int64_t extent(const Graph& graph) {
  std::int64_t count = 0;
  for (const Node& node : graph.nodes) count += element_count(graph.value(node.output).shape);
  return count;
}

// Allowed distance of what double arithmetic gives from the bounds: its own rounding.
bool holds(float lower, float upper, double value) {
  const double slack = 1e-13 * std::fabs(value);
  return lower <= value + slack && value - slack <= upper;
}

class Checker {
 public:
  Checker(const Subject& subject, std::mt19937_64& random) : subject_(subject), random_(random) {}

  void check(const Network& network) {
    SCOPED_TRACE(subject_.by);
    check_point(network);
    for (double radius : {1e-3, 0.1, 1.0}) check_box(network, box_around(network.x, radius));
  }

  double widest = 0;  // relative width at the point

 private:
  Outcome run(const Network& network, const FloatBox& box) const {
    Outcome outcome = soundness::run(subject_, box);
    EXPECT_EQ(outcome.status, BF_OK) << network.test->name;
    return outcome;
  }

  void check_point(const Network& network) {
    const Outcome outcome = run(network, box_around(network.x, 0));
    expect_inside(network, outcome, network.x, "at the point");
    std::size_t i = 0;
    widest = 0;
    for (const TestTensor& tensor : network.expected)
      for (double value : tensor.data) {
        const double slack = 1e-7 + std::max(1e-3, 2 * type_rounding(tensor)) * std::fabs(value);
        EXPECT_TRUE(outcome.lower[i] <= value + slack && value - slack <= outcome.upper[i])
            << network.test->name << " expected " << value << " in [" << outcome.lower[i] << ", "
            << outcome.upper[i] << "]";
        const double width =
            (static_cast<double>(outcome.upper[i]) - outcome.lower[i]) / (1 + std::fabs(value));
        widest = std::max(widest, std::isnan(width) ? INFINITY : width);
        ++i;
      }
    EXPECT_LE(widest, budget(network.graph, *subject_.plan) + rounding_of_casts(*network.test))
        << network.test->name;
  }

  void check_box(const Network& network, const FloatBox& box) {
    constexpr int kSamples = 6;
    const Outcome outcome = run(network, box);
    for (int sample = 0; sample < kSamples; ++sample) {
      std::vector<double> x;
      for (std::size_t i = 0; i < box.lower.size(); ++i)
        x.push_back(sample_between(box.lower[i], box.upper[i], sample < kSamples / 2));
      expect_inside(network, outcome, x, "in a box");
    }
  }

  double sample_between(double lower, double upper, bool corner) {
    if (corner) return random_() % 2 != 0 ? lower : upper;
    std::uniform_real_distribution<double> inside(lower, upper);
    return std::clamp(inside(random_), lower, upper);
  }

  // Where the network is not defined, no number must be inside.
  void expect_inside(const Network& network, const Outcome& outcome, const std::vector<double>& x,
                     const char* where) {
    const std::vector<double> y = flattened(evaluate(network.graph, {x}));
    ASSERT_EQ(y.size(), outcome.lower.size()) << network.test->name;
    for (std::size_t i = 0; i < y.size(); ++i) {
      if (!std::isfinite(y[i])) continue;
      if (holds(outcome.lower[i], outcome.upper[i], y[i])) continue;
      ADD_FAILURE() << network.test->name << " " << where << ", output " << i << ": " << y[i]
                    << " is not in [" << outcome.lower[i] << ", " << outcome.upper[i] << "]";
      return;
    }
  }

  const Subject& subject_;
  std::mt19937_64& random_;
};

struct Counts {
  int bounded = 0;
  int compiled = 0;
  int refused = 0;
};

class Suite {
 public:
  // Leaves out graphs of more elements than `largest`.
  Suite(Method method, std::int64_t largest) : method_(method), largest_(largest) {
    const char* const seed = std::getenv("BF_SEED");
    random_.seed(seed != nullptr ? std::strtoull(seed, nullptr, 10) : 1);
  }

  void add(const TestCase& test) {
    const std::optional<Attempt> attempt = best_attempt(test);
    if (!attempt || extent(attempt->normal) > largest_) return;
    Network network;
    network.test = &test;
    network.graph = attempt->normal;
    network.x = flattened(free_values(test.data.front(), attempt->free));
    network.expected = test.data.front().outputs;
    if (!fits_float(network.x)) return;  // a float32 box cannot hold it
    try {
      soundness::Verifiers engine;
      engine.add(network.graph, false,
                 soundness::planner_config(method_, Lowering::kPrebuilt, "host"));
      check(network, engine.subjects(0).front(), counts_.bounded);
      if (is_sampled(test)) add_compiled(std::move(network));
    } catch (const CompileError& error) {
      ++counts_.refused;
      ADD_FAILURE() << test.name << " cannot be planned: " << error.what();
      if (list_all())
        fmt::print("refused      {:20} {:60} {}\n", test.operator_type, test.name, error.what());
    }
  }

  // What has not been compiled yet.
  void flush() {
    if (networks_.empty()) return;
    batch_->build({"g++", {"-O0"}});
    for (std::size_t i = 0; i < networks_.size(); ++i)
      check(networks_[i],
            {&batch_->plan(i), soundness::callee_of(*batch_, i), "generated code", true, i},
            counts_.compiled);
    networks_.clear();
    batch_ = nullptr;
  }

  const Counts& counts() const { return counts_; }

 private:
  void check(const Network& network, const Subject& subject, int& count) {
    Checker checker(subject, random_);
    checker.check(network);
    ++count;
    if (list_all())
      fmt::print("{:12} {:20} {:60} {:.2e}\n", subject.compiled ? "compiled" : "bounded",
                 network.test->operator_type, network.test->name, checker.widest);
  }

  bool is_sampled(const TestCase& test) {
    constexpr int kEvery = 10;
    return operators_.insert(test.operator_type).second || counts_.bounded % kEvery == 0;
  }

  void add_compiled(Network network) {
    if (batch_ == nullptr) batch_ = std::make_unique<Batch>();
    batch_->add(network.graph, false,
                soundness::planner_config(method_, Lowering::kGeneric, "generic"));
    networks_.push_back(std::move(network));
    constexpr std::size_t kBatch = 50;
    if (networks_.size() == kBatch) flush();
  }

  Method method_;
  std::int64_t largest_;
  std::mt19937_64 random_;
  std::set<std::string> operators_;  // of tests that have been compiled
  std::unique_ptr<Batch> batch_;
  std::vector<Network> networks_;  // in the batch
  Counts counts_;
};

void run_suite(Method method, std::int64_t largest, int least) {
  const auto folder = suite_folder();
  if (!folder) GTEST_SKIP() << "no ONNX backend tests: install libonnx-testdata";
  const char* const only = std::getenv("BF_CONFORMANCE_ONLY");
  const std::vector<TestCase> tests = load_suite(*folder);
  Suite suite(method, largest);
  for (const TestCase& test : tests)
    if (only == nullptr || test.name.find(only) != std::string::npos) suite.add(test);
  suite.flush();
  const Counts& counts = suite.counts();
  fmt::print("{} bounded, {} of them in generated code, too; {} refused\n", counts.bounded,
             counts.compiled, counts.refused);
  if (only == nullptr) {
    EXPECT_GE(counts.bounded, least);
    EXPECT_GE(10 * counts.compiled, counts.bounded);
  }
}

TEST(ConformanceVerifiers, IbpHoldsExpectedOutputs) {
  run_suite(Method::kIbp, std::numeric_limits<std::int64_t>::max(), 800);
}

TEST(ConformanceVerifiers, CrownHoldsExpectedOutputs) {
  constexpr std::int64_t kFew = 200;
  run_suite(Method::kCrown, kFew, 400);
}

}  // namespace
}  // namespace bf_aot::conformance
