#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "frontend/algebra/affine_algebra.h"
#include "frontend/diagnostic.h"
#include "frontend/numbers/exact_arithmetic.h"
#include "frontend/passes/pipeline.h"
#include "tests/seed.h"
#include "tests/soundness/engine_call.h"
#include "tests/soundness/general.h"
#include "tests/soundness/random_net.h"

// Evaluation in float32 as implementations may do it, and networks to try it on.

namespace bf_aot::soundness {

constexpr double kOmega = 0x1p24;  // omega + 1 is omega in float32

inline std::vector<double> ones(int count, double x = 1) {
  return std::vector<double>(static_cast<std::size_t>(count), x);
}

inline std::uint64_t float32_seed() {
  return testing::seed_from_environment(20261125);
}

// The outputs at x of a graph as it was imported. Sums run in a random order, products are fused
// into some of them, functions of the library are off by up to `ulps`. flush: subnormal numbers are
// taken for zero always, sometimes, or by the processor.
std::vector<float> evaluate_once(const Graph& graph, const std::vector<float>& x, Random& random,
                                 int ulps = 3, bool flush = false);

// Float32 points, ends of the box more often than others.
std::vector<float> random_point_in(const FloatBox& box, Random& random);

inline PlannerConfig float32_config(Method method) {
  PlannerConfig config = planner_config(method, Lowering::kPrebuilt, engine_targets().back());
  config.iterations = 3;
  config.semantics = Semantics::kFloat32;
  return config;
}

// A network of one input tensor, operator by operator.
class Builder {
 public:
  explicit Builder(int inputs) {
    graph_.name = "float32";
    last_ = graph_.add_value("x", {1, inputs});
    graph_.inputs = {last_};
  }

  ValueId literal(Shape shape, std::vector<double> numbers) {
    return node(Literal{{shape, std::move(numbers), {}}}, {}, shape);
  }
  // Of the last value.
  Builder& matmul(int out, std::vector<double> weight) {
    const Shape& in = graph_.value(last_).shape;
    const ValueId w = literal({in[1], out}, std::move(weight));
    last_ = node(MatMul{}, {last_, w}, {1, out});
    return *this;
  }
  Builder& binary(Binary::Kind kind, std::vector<double> constant) {
    const Shape shape = graph_.value(last_).shape;
    const ValueId c = literal(shape, std::move(constant));
    last_ = node(Binary{kind}, {last_, c}, shape);
    return *this;
  }
  Builder& binary(Binary::Kind kind, ValueId other) {
    last_ = node(Binary{kind}, {last_, other}, graph_.value(last_).shape);
    return *this;
  }
  Builder& unary(Function function) {
    last_ = node(Unary{function}, {last_}, graph_.value(last_).shape);
    return *this;
  }
  Builder& scale(double factor, Bounded offset) {
    const Shape shape = graph_.value(last_).shape;
    Constant moved = filled(shape, offset.value);
    moved.error.assign(moved.data.size(), offset.error);
    last_ = node(Scale{filled(shape, factor), std::move(moved)}, {last_}, shape);
    return *this;
  }
  Builder& relu() {
    last_ = node(Relu{}, {last_}, graph_.value(last_).shape);
    return *this;
  }
  Builder& pick(int element) {
    last_ = node(IndexMap{{element}}, {last_}, {1, 1});
    return *this;
  }
  ValueId last() const { return last_; }
  ValueId node(Op op, std::vector<ValueId> inputs, Shape shape) {
    const ValueId id = graph_.add_value("v", std::move(shape));
    graph_.nodes.push_back({std::move(op), std::move(inputs), id, "node"});
    return id;
  }
  Builder& back_to(ValueId value) {
    last_ = value;
    return *this;
  }
  Graph done() const {
    Graph made = graph_;
    made.outputs = {last_};
    return made;
  }

 private:
  Graph graph_;
  ValueId last_ = {};
};

// Null, and counted by its diagnostic: what float32 semantics or the planner does not cover.
inline std::shared_ptr<const Plan> plan_float32(Graph graph, Method method,
                                                std::map<std::string, int>* refused,
                                                Semantics semantics = Semantics::kFloat32,
                                                const Float32Semantics& float32 = {}) {
  PassOptions passes;
  if (semantics == Semantics::kFloat32) passes.float32 = float32;
  PlannerConfig config = float32_config(method);
  config.semantics = semantics;
  try {
    normalise(graph, passes);
    return plan_for_engine(graph, false, config);
  } catch (const CompileError& error) {
    if (refused != nullptr) ++(*refused)[error.diagnostics().front().code];
    return nullptr;
  }
}

inline bool is_inside(const std::vector<float>& y, const Outcome& bounds, std::size_t* where) {
  for (std::size_t i = 0; i < y.size(); ++i)
    if (!(y[i] >= bounds.lower[i] && y[i] <= bounds.upper[i])) {
      *where = i;
      return false;
    }
  return true;
}

class Float32 : public ::testing::Test {
 protected:
  void SetUp() override {
    std::printf("BF_SEED=%llu\n", static_cast<unsigned long long>(float32_seed()));
    random_.seed(float32_seed());
  }

  // Evaluations of points of the box, all inside; `graph` as it was imported.
  void check(const Graph& graph, const Plan& plan, const FloatBox& box, const std::string& label) {
    const engine::Engine engine(lower(std::make_shared<const Plan>(plan)));
    check(graph, plan, engine, box, label);
  }
  void check(const Graph& graph, const Plan& plan, const engine::Engine& engine,
             const FloatBox& box, const std::string& label) {
    const Called called = call_bounds(plan, callee_of(engine), {}, {box});
    if (called.status == BF_FLOAT32_RANGE || called.status == BF_INFINITE_BOX) {
      ++beyond_;
      return;
    }
    ASSERT_EQ(called.status, BF_OK) << label;
    ++boxes_;
    for (int i = 0; i < 20; ++i) {
      const std::vector<float> x = random_point_in(box, random_);
      const std::vector<float> y = evaluate_once(graph, x, random_, 3, flush_);
      std::size_t where = 0;
      ++evaluations_;
      if (!is_inside(y, called.boxes.front(), &where))
        FAIL() << fmt::format("BF_SEED={} {}: output {} is {:a}, bounds {:a} {:a}", float32_seed(),
                              label, where, y[where], called.boxes.front().lower[where],
                              called.boxes.front().upper[where]);
    }
  }

  Random random_;
  std::map<std::string, int> refused_;
  bool flush_ = false;  // evaluations may
  int boxes_ = 0, beyond_ = 0, evaluations_ = 0;
};

// Operators as import has them, of n elements, and what usual code makes of them at x: of a softmax
// with the largest element subtracted or not, by quotients or by products with an inverse, ...
Graph softmax_graph(int n);
std::vector<float> softmax_once(const std::vector<float>& x, Random& random);
Graph log_softmax_graph(int n);
std::vector<float> log_softmax_once(const std::vector<float>& x, Random& random);
Graph log_sum_graph(int n);  // ln sum e^x
std::vector<float> log_sum_once(const std::vector<float>& x, Random& random);
Graph sum_graph(int n);  // one operator of n operands
std::vector<float> sum_once(const std::vector<float>& x, Random& random);

// (x - mean) / sqrt(variance + epsilon); x / sqrt(mean square + epsilon); x / |x| in the p-norm.
Graph normalised_graph(int n, double epsilon);
std::vector<float> normalised_once(const std::vector<float>& x, float epsilon, Random& random);
Graph root_mean_square_graph(int n, double epsilon);
std::vector<float> root_mean_square_once(const std::vector<float>& x, float epsilon,
                                         Random& random);
Graph norm_graph(int n, int p);
std::vector<float> norm_once(const std::vector<float>& x, int p, Random& random);

// `graph` times scale plus bias; and that of normalised_graph(), as x s + (bias - mean s).
Graph scaled_graph(Graph graph, double scale, double bias);
std::vector<float> shifted_once(const std::vector<float>& x, float epsilon, float scale, float bias,
                                Random& random);

}  // namespace bf_aot::soundness
