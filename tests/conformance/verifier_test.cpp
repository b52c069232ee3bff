// Compiled verifiers of the ONNX backend tests. On the point box [x, x] of a test's input the
// bounds hold the expected output, and are hardly wider than float32 allows; on boxes around x they
// hold what the graph evaluates to at sampled points.
//
// BF_CONFORMANCE_LIST=1 prints what happened to each test; BF_SEED=n repeats other samples;
// BF_CONFORMANCE_ONLY=text takes tests whose names hold the text.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "frontend/evaluate.h"
#include "frontend/passes/pipeline.h"
#include "tests/conformance/run.h"
#include "tests/soundness/batch.h"

namespace bf_aot::conformance {
namespace {

using soundness::Batch;
using soundness::FloatBox;
using soundness::Outcome;

// One test's verifier in a batch.
struct Verifier {
  const TestCase* test = nullptr;
  Graph graph;            // normalised
  std::vector<double> x;  // the test's input
  std::vector<TestTensor> expected;
  std::size_t number = 0;  // in the batch
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
const Attempt* best_attempt(const Report& report) {
  const Attempt* best = nullptr;
  const auto free = [](const Attempt& each) {
    return std::count(each.free.begin(), each.free.end(), true);
  };
  for (const Attempt& each : report.attempts)
    if (each.result == Result::kRight && (best == nullptr || free(each) > free(*best)))
      best = &each;
  return best;
}

// Why a test's bounds at the point need not be within the budget; empty: they must.
std::string_view excuse(const std::string& test) {
  if (test == "node/test_acosh_example")
    return "at the end of the domain, beyond which is no claim";
  if (test.starts_with("node/test_reduce_log_sum_exp_") && test.ends_with("_example") &&
      test.find("default_axes") == std::string::npos)
    return "sums of e^60 and of e^1 in one layer: one bound of the rounding for all is too much "
           "for the smaller, whose logarithm may then not exist";
  return "";
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
  Checker(const Batch& batch, std::mt19937_64& random) : batch_(batch), random_(random) {}

  void check(const Verifier& verifier) {
    check_point(verifier);
    for (double radius : {1e-3, 0.1, 1.0}) check_box(verifier, box_around(verifier.x, radius));
  }

  double widest = 0;  // relative width at the point

 private:
  Outcome run(const Verifier& verifier, const FloatBox& box) const {
    Outcome outcome = batch_.run(verifier.number, box);
    EXPECT_EQ(outcome.status, BF_OK) << verifier.test->name;
    return outcome;
  }

  void check_point(const Verifier& verifier) {
    const Outcome outcome = run(verifier, box_around(verifier.x, 0));
    expect_inside(verifier, outcome, verifier.x, "at the point");
    std::size_t i = 0;
    widest = 0;
    for (const TestTensor& tensor : verifier.expected)
      for (double value : tensor.data) {
        const double slack = 1e-7 + std::max(1e-3, 2 * type_rounding(tensor)) * std::fabs(value);
        EXPECT_TRUE(outcome.lower[i] <= value + slack && value - slack <= outcome.upper[i])
            << verifier.test->name << " expected " << value << " in [" << outcome.lower[i] << ", "
            << outcome.upper[i] << "]";
        const double width =
            (static_cast<double>(outcome.upper[i]) - outcome.lower[i]) / (1 + std::fabs(value));
        widest = std::max(widest, std::isnan(width) ? INFINITY : width);
        ++i;
      }
    const std::string_view reason = excuse(verifier.test->name);
    if (reason.empty()) {
      EXPECT_LE(widest, budget(verifier.graph, batch_.plan(verifier.number)))
          << verifier.test->name;
    } else {
      EXPECT_GT(widest, budget(verifier.graph, batch_.plan(verifier.number)))
          << verifier.test->name << " needs no excuse";
    }
  }

  void check_box(const Verifier& verifier, const FloatBox& box) {
    constexpr int kSamples = 6;
    const Outcome outcome = run(verifier, box);
    for (int sample = 0; sample < kSamples; ++sample) {
      std::vector<double> x;
      for (std::size_t i = 0; i < box.lower.size(); ++i)
        x.push_back(sample_between(box.lower[i], box.upper[i], sample < kSamples / 2));
      expect_inside(verifier, outcome, x, "in a box");
    }
  }

  double sample_between(double lower, double upper, bool corner) {
    if (corner) return random_() % 2 != 0 ? lower : upper;
    std::uniform_real_distribution<double> inside(lower, upper);
    return std::clamp(inside(random_), lower, upper);
  }

  // Where the network is not defined, no number must be inside.
  void expect_inside(const Verifier& verifier, const Outcome& outcome, const std::vector<double>& x,
                     const char* where) {
    const std::vector<double> y = flattened(evaluate(verifier.graph, {x}));
    ASSERT_EQ(y.size(), outcome.lower.size()) << verifier.test->name;
    for (std::size_t i = 0; i < y.size(); ++i) {
      if (!std::isfinite(y[i])) continue;
      if (holds(outcome.lower[i], outcome.upper[i], y[i])) continue;
      ADD_FAILURE() << verifier.test->name << " " << where << ", output " << i << ": " << y[i]
                    << " is not in [" << outcome.lower[i] << ", " << outcome.upper[i] << "]";
      return;
    }
  }

  const Batch& batch_;
  std::mt19937_64& random_;
};

struct Counts {
  int bounded = 0;
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
    const Report report = run_test(test);
    const Attempt* const attempt = best_attempt(report);
    if (attempt == nullptr || extent(attempt->normal) > largest_) return;
    Verifier verifier;
    verifier.test = &test;
    verifier.graph = attempt->normal;
    verifier.x = flattened(free_values(test.data.front(), attempt->free));
    verifier.expected = test.data.front().outputs;
    if (!fits_float(verifier.x)) return;  // a float32 box cannot hold it
    if (batch_ == nullptr) batch_ = std::make_unique<Batch>();
    try {
      verifier.number = batch_->add(
          verifier.graph, false, soundness::planner_config(method_, Lowering::kGeneric, "generic"));
    } catch (const CompileError& error) {
      ++counts_.refused;
      ADD_FAILURE() << test.name << " cannot be planned: " << error.what();
      if (list_all())
        fmt::print("refused      {:20} {:60} {}\n", test.operator_type, test.name, error.what());
      return;
    }
    verifiers_.push_back(std::move(verifier));
    constexpr std::size_t kBatch = 50;
    if (verifiers_.size() == kBatch) flush();
  }

  void flush() {
    if (verifiers_.empty()) return;
    batch_->build({"g++", {"-O0"}});
    for (const Verifier& verifier : verifiers_) {
      Checker checker(*batch_, random_);
      checker.check(verifier);
      ++counts_.bounded;
      if (list_all())
        fmt::print("bounded      {:20} {:60} {:.2e}\n", verifier.test->operator_type,
                   verifier.test->name, checker.widest);
    }
    verifiers_.clear();
    batch_ = nullptr;
  }

  const Counts& counts() const { return counts_; }

 private:
  Method method_;
  std::int64_t largest_;
  std::mt19937_64 random_;
  std::unique_ptr<Batch> batch_;
  std::vector<Verifier> verifiers_;
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
  fmt::print("{} bounded, {} refused\n", suite.counts().bounded, suite.counts().refused);
  if (only == nullptr) {
    EXPECT_GE(suite.counts().bounded, least);
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
