#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>

#include "frontend/algebra/linear_algebra.h"
#include "frontend/evaluate/evaluate.h"
#include "frontend/evaluate/evaluate_exact.h"
#include "frontend/passes/passes.h"
#include "frontend/passes/pipeline.h"
#include "tests/property/passes_exact.h"
#include "tests/property/passes_random_graph.h"
#include "tests/seed.h"

namespace bf_aot {
namespace {

using testing::Interval;
using testing::Numbers;
using testing::pick;
using testing::Random;

using Rationals = std::vector<std::vector<mpq_class>>;
using Intervals = std::vector<std::vector<Interval>>;

class Passes : public ::testing::Test {
 protected:
  Passes() : seed_(testing::seed_from_environment(7)), random_(seed_) {
    std::printf("BF_SEED=%llu\n", static_cast<unsigned long long>(seed_));
  }

  int random_size() { return pick(random_, 1, 14); }

  LinearSpec random_spec(Numbers numbers, std::int64_t outputs) {
    LinearSpec spec;
    for (int rows = pick(random_, 1, 4); rows > 0; --rows)
      spec.rows.push_back(testing::random_numbers(random_, numbers, outputs));
    if (pick(random_, 0, 1) == 0)
      spec.offset =
          testing::random_numbers(random_, numbers, static_cast<std::int64_t>(spec.rows.size()));
    return spec;
  }

  std::uint64_t seed_;
  Random random_;
};

bool has_errors(const Constant& constant) {
  return !constant.is_exact();
}

bool is_exact(const Graph& graph) {
  for (const Node& node : graph.nodes) {
    if (const auto* op = std::get_if<Affine>(&node.op))
      if (has_errors(op->weight) || has_errors(op->bias)) return false;
    if (const auto* op = std::get_if<Scale>(&node.op))
      if (has_errors(op->factor) || has_errors(op->offset)) return false;
    if (const auto* op = std::get_if<Literal>(&node.op))
      if (has_errors(op->value)) return false;
    if (const auto* op = std::get_if<Conv>(&node.op))
      if (has_errors(op->weight) || has_errors(op->bias)) return false;
    if (const auto* op = std::get_if<SparseAffine>(&node.op))
      if (has_errors(op->value) || has_errors(op->bias)) return false;
  }
  return true;
}

Intervals to_intervals(const std::vector<std::vector<double>>& point) {
  Intervals result;
  for (const std::vector<double>& tensor : point) {
    result.emplace_back();
    for (double x : tensor) result.back().push_back({mpq_class(x), mpq_class(x)});
  }
  return result;
}

// Names and shapes of inputs and outputs are the same, but for an output that was an input.
void expect_same_interface(const Graph& before, const Graph& after) {
  std::vector<Value> inputs;
  for (ValueId id : before.inputs) inputs.push_back(before.value(id));
  if (after.input_parts.empty()) {
    EXPECT_EQ(before.inputs, after.inputs);
  } else {
    EXPECT_EQ(inputs, after.input_parts);
    EXPECT_EQ(after.inputs.size(), 1U);
  }
  EXPECT_EQ(before.outputs, after.outputs);
  for (ValueId id : before.outputs) EXPECT_EQ(before.value(id), after.value(id));
}

// The point as the graph takes it, whose inputs may have been joined.
template <class Number>
std::vector<std::vector<Number>> for_inputs_of(const Graph& graph,
                                               const std::vector<std::vector<Number>>& point) {
  if (graph.inputs.size() == point.size()) return point;
  std::vector<std::vector<Number>> joined(1);
  for (const std::vector<Number>& part : point)
    joined[0].insert(joined[0].end(), part.begin(), part.end());
  return joined;
}

Rationals evaluate_at(const Graph& graph, const std::vector<std::vector<double>>& point) {
  return evaluate_exact(graph, for_inputs_of(graph, point));
}

Intervals evaluate_over(const Graph& graph, const Intervals& box) {
  return testing::evaluate_intervals(graph, for_inputs_of(graph, box));
}

void expect_contained(const Rationals& exact, const Intervals& bounds, const std::string& what) {
  ASSERT_EQ(exact.size(), bounds.size());
  for (std::size_t i = 0; i < exact.size(); ++i) {
    ASSERT_EQ(exact[i].size(), bounds[i].size());
    for (std::size_t j = 0; j < exact[i].size(); ++j)
      ASSERT_TRUE(bounds[i][j].contains(exact[i][j])) << what << ": output " << i << ", " << j;
  }
}

// Without the passes that compute the same function by other numbers.
PassOptions with_same_numbers() {
  PassOptions options;
  for (const Pass& pass : normalisation_passes())
    if (pass.traits.regroups) options.disabled.emplace_back(pass.name);
  return options;
}

// All readers, maps, several outputs: nothing may change, pass by pass.
TEST_F(Passes, KeepIntegerGraphsExactly) {
  for (int i = 0; i < 3000; ++i) {
    const Graph original = testing::random_graph(random_, Numbers::kSmallIntegers, random_size());
    verify(original);
    const auto point = testing::random_point(random_, Numbers::kSmallIntegers, original);
    const Rationals expected = evaluate_at(original, point);
    PassOptions options = with_same_numbers();
    options.max_as_relu = i % 2 == 0;
    options.after_pass = [&](std::string_view pass, const Graph& graph, double) {
      ASSERT_TRUE(is_exact(graph)) << pass;
      ASSERT_EQ(expected, evaluate_at(graph, point)) << pass << "\n"
                                                     << to_string(original) << to_string(graph);
      expect_same_interface(original, graph);
    };
    Graph graph = original;
    normalise(graph, options);
    if (HasFailure()) FAIL() << "case " << i << "\n" << to_string(original);
  }
}

// Each pass alone, on graphs as imported: no pass may rely on an earlier one for being right.
TEST_F(Passes, EachAloneKeepsIntegerGraphs) {
  for (int i = 0; i < 1000; ++i) {
    const Graph original = testing::random_graph(random_, Numbers::kSmallIntegers, random_size());
    const auto point = testing::random_point(random_, Numbers::kSmallIntegers, original);
    const Rationals expected = evaluate_at(original, point);
    for (const Pass& pass : normalisation_passes()) {
      // What makes another function of the graph, or none of it, is about evaluation in float32.
      if (pass.traits.of == PassTraits::Of::kFloat32 || pass.traits.of == PassTraits::Of::kOwn ||
          pass.traits.regroups)
        continue;
      Graph graph = original;
      PassOptions options;
      options.max_as_relu = true;
      pass.run(graph, options);
      verify(graph);
      ASSERT_EQ(expected, evaluate_at(graph, point)) << pass.name << "\n"
                                                     << to_string(original) << to_string(graph);
      expect_same_interface(original, graph);
      ASSERT_FALSE(HasFailure()) << pass.name << "\n" << to_string(original);
    }
  }
}

// The exact argument of a function of restricted domain lies in its limits. It is known up to
// 2^-190 where smooth functions come before.
TEST_F(Passes, ArgumentsNeverLeaveTheirLimits) {
  const FunctionKind kinds[] = {FunctionKind::kSqrt, FunctionKind::kLog, FunctionKind::kReciprocal,
                                FunctionKind::kAcos, FunctionKind::kAcosh};
  int limits = 0, touched = 0;
  for (int i = 0; i < 3000; ++i) {
    const Numbers numbers = i % 3 == 0 ? Numbers::kSmallIntegers : Numbers::kFloats;
    Graph graph = testing::random_graph(random_, numbers, random_size());
    normalise(graph);
    Graph limited = graph;
    for (const ValueId output : graph.outputs) {
      const ValueId made = limited.add_value("limited", graph.value(output).shape);
      limited.nodes.push_back({Unary{{kinds[pick(random_, 0, 4)]}}, {output}, made, {}});
    }
    bound_arguments(limited);
    for (int k = 0; k < 4; ++k) {
      const auto point = testing::random_point(random_, numbers, graph);
      const Intervals arguments = evaluate_over(graph, to_intervals(point));
      for (std::size_t o = 0; o < arguments.size(); ++o) {
        const Node& node = limited.nodes[graph.nodes.size() + o];
        const Function& f = std::get<Unary>(node.op).function;
        limits += k == 0 && has_limits(f) ? 1 : 0;
        for (const Interval& x : arguments[o]) {
          const std::string what = to_string(f) + "\n" + to_string(graph);
          if (std::isfinite(f.least)) {
            ASSERT_GE(x.upper, mpq_class(f.least)) << what;
            touched += x.lower <= mpq_class(std::nextafter(f.least, INFINITY)) ? 1 : 0;
          }
          if (std::isfinite(f.most)) {
            ASSERT_LE(x.lower, mpq_class(f.most)) << what;
            touched += x.upper >= mpq_class(std::nextafter(f.most, -INFINITY)) ? 1 : 0;
          }
        }
      }
    }
  }
  EXPECT_GT(limits, 300);
  EXPECT_GT(touched, 300);
}

std::int64_t cost_of(const Graph& graph) {
  std::int64_t cost = 0;
  for (const Node& node : graph.nodes)
    if (is_linear(node.op))
      cost += cost_of(node.op, element_count(graph.value(node.inputs[0]).shape));
  return cost;
}

// Elements that functions are evaluated on.
std::int64_t functions_of(const Graph& graph) {
  std::int64_t count = 0;
  for (const Node& node : graph.nodes)
    if (std::holds_alternative<Relu>(node.op) || std::holds_alternative<Unary>(node.op))
      count += element_count(graph.value(node.output).shape);
  return count;
}

// A normal graph stays one, and nearly always the same: which rewrite comes first may matter. More
// nodes have fewer elements that functions are evaluated on. Passes that regroup are left out: they
// take more nodes where bounds are better.
TEST_F(Passes, AgainIsNoWorse) {
  int changed = 0;
  for (int i = 0; i < 500; ++i) {
    Graph graph = testing::random_graph(random_, Numbers::kSmallIntegers, random_size());
    normalise(graph, with_same_numbers());
    Graph again = graph;
    normalise(again, with_same_numbers());
    changed += to_string(graph) == to_string(again) ? 0 : 1;
    if (functions_of(again) >= functions_of(graph)) {
      ASSERT_LE(again.nodes.size(), graph.nodes.size()) << to_string(graph) << to_string(again);
    }
    ASSERT_LE(cost_of(again), cost_of(graph)) << to_string(graph) << to_string(again);
  }
  EXPECT_LT(changed, 25);
}

// What one round of the rewrites leaves, more rounds may fold: fewer layers, or functions of fewer
// elements, behind each of which goes a map that repeats them.
TEST_F(Passes, SettleLeavesFewerLayers) {
  int fewer = 0;
  for (int i = 0; i < 2000; ++i) {
    Graph with = testing::random_graph(random_, Numbers::kSmallIntegers, random_size());
    Graph without = with;
    normalise(with);
    PassOptions options;
    options.disabled = {"settle"};
    normalise(without, options);
    if (functions_of(with) >= functions_of(without)) {
      ASSERT_LE(with.nodes.size(), without.nodes.size()) << to_string(with) << to_string(without);
    }
    fewer += with.nodes.size() < without.nodes.size() ? 1 : 0;
  }
  EXPECT_GT(fewer, 20);
}

// What folding rounds, the constants' error bounds cover: the original's exact outputs lie in the
// outputs of the folded graph evaluated over all constants that it may stand for.
TEST_F(Passes, CarryRigorousErrorBounds) {
  int inexact = 0;
  for (int i = 0; i < 1500; ++i) {
    const Numbers numbers = i % 2 == 0 ? Numbers::kFloats : Numbers::kWild;
    const Graph original = testing::random_graph(random_, numbers, random_size());
    const auto point = testing::random_point(random_, numbers, original);
    const Rationals exact = evaluate_at(original, point);
    PassOptions options;
    options.after_pass = [&](std::string_view pass, const Graph& graph, double) {
      expect_contained(exact, evaluate_over(graph, to_intervals(point)), std::string(pass));
    };
    Graph graph = original;
    normalise(graph, options);
    inexact += is_exact(graph) ? 0 : 1;
    ASSERT_FALSE(HasFailure()) << "case " << i << "\n" << to_string(original) << to_string(graph);
  }
  EXPECT_GT(inexact, 500);  // else nothing was tested
}

TEST_F(Passes, FoldedSpecificationIsExactForIntegers) {
  for (int i = 0; i < 2000; ++i) {
    const Graph original = testing::random_chain(random_, Numbers::kSmallIntegers, random_size());
    const auto point = testing::random_point(random_, Numbers::kSmallIntegers, original);
    const std::vector<mpq_class> y = evaluate_at(original, point)[0];
    const LinearSpec spec =
        random_spec(Numbers::kSmallIntegers, static_cast<std::int64_t>(y.size()));
    std::vector<mpq_class> expected;
    for (std::size_t row = 0; row < spec.rows.size(); ++row) {
      mpq_class sum;
      for (std::size_t j = 0; j < y.size(); ++j) sum += mpq_class(spec.rows[row][j]) * y[j];
      if (!spec.offset.empty()) sum -= mpq_class(spec.offset[row]);
      expected.push_back(sum);
    }
    Graph graph = original;
    PassOptions options = with_same_numbers();
    options.spec = &spec;
    normalise(graph, options);
    ASSERT_EQ(graph.outputs.size(), 2U);
    ASSERT_EQ(graph.value(graph.outputs[1]).shape,
              (Shape{1, static_cast<std::int64_t>(spec.rows.size())}));
    ASSERT_EQ(y, evaluate_at(graph, point)[0]) << to_string(original) << to_string(graph);
    ASSERT_EQ(expected, evaluate_at(graph, point)[1]) << to_string(original) << to_string(graph);
  }
}

Intervals random_box(Random& random, const Graph& graph) {
  Intervals box;
  for (ValueId id : graph.inputs) {
    box.emplace_back();
    for (std::int64_t i = element_count(graph.value(id).shape); i > 0; --i) {
      const int lower = pick(random, -4, 4);
      box.back().push_back({mpq_class(lower), mpq_class(lower + pick(random, 0, 4))});
    }
  }
  return box;
}

std::vector<Interval> apply_spec(const LinearSpec& spec, const std::vector<Interval>& y) {
  std::vector<Interval> result;
  for (std::size_t row = 0; row < spec.rows.size(); ++row) {
    testing::IntervalArithmetic::Accumulator sum;
    for (std::size_t j = 0; j < y.size(); ++j)
      sum.add_product(testing::IntervalArithmetic::number(spec.rows[row][j]), y[j]);
    if (!spec.offset.empty()) sum.add(testing::IntervalArithmetic::number(-spec.offset[row]));
    result.push_back(sum.result());
  }
  return result;
}

// Interval bounds in exact arithmetic, of the same network with and without folding.
TEST_F(Passes, FoldedSpecificationIsNeverLooser) {
  int tighter = 0;
  for (int i = 0; i < 1500; ++i) {
    const Graph original = testing::random_chain(random_, Numbers::kSmallIntegers, random_size());
    const LinearSpec spec = random_spec(Numbers::kSmallIntegers,
                                        element_count(original.value(original.outputs[0]).shape));
    const Intervals box = random_box(random_, original);
    Graph plain = original;
    normalise(plain, with_same_numbers());
    Graph folded = original;
    PassOptions options = with_same_numbers();
    options.spec = &spec;
    normalise(folded, options);
    const auto loose = apply_spec(spec, evaluate_over(plain, box)[0]);
    const auto tight = evaluate_over(folded, box)[1];
    ASSERT_EQ(loose.size(), tight.size());
    for (std::size_t row = 0; row < loose.size(); ++row) {
      ASSERT_TRUE(loose[row].contains(tight[row])) << to_string(plain) << to_string(folded);
      tighter += loose[row].upper > tight[row].upper ? 1 : 0;
    }
  }
  EXPECT_GT(tighter, 300);
}

// Interval bounds of the whole normalisation: never looser than the imported graph's, operator by
// operator.
TEST_F(Passes, NormalisationIsNeverLooserByIntervals) {
  for (int i = 0; i < 1000; ++i) {
    const Graph original = testing::random_graph(random_, Numbers::kSmallIntegers, random_size());
    const Intervals box = random_box(random_, original);
    Graph graph = original;
    normalise(graph, with_same_numbers());
    const Intervals loose = evaluate_over(original, box);
    const Intervals tight = evaluate_over(graph, box);
    for (std::size_t out = 0; out < loose.size(); ++out)
      for (std::size_t j = 0; j < loose[out].size(); ++j)
        ASSERT_TRUE(loose[out][j].contains(tight[out][j]))
            << to_string(original) << to_string(graph);
  }
}

// Node by node, up to the first that needs more bits than a double has.
TEST_F(Passes, AgreeWithDoubleEvaluationOnIntegers) {
  int compared = 0;
  for (int i = 0; i < 500; ++i) {
    Graph graph = testing::random_graph(random_, Numbers::kSmallIntegers, random_size());
    const auto point = testing::random_point(random_, Numbers::kSmallIntegers, graph);
    graph.outputs.clear();
    for (const Node& node : graph.nodes) graph.outputs.push_back(node.output);
    const Rationals exact = evaluate_exact(graph, point);
    const std::vector<std::vector<double>> rounded = evaluate(graph, point);
    const auto is_short = [](const mpq_class& x) {
      return abs(x) < mpq_class(0x1p30) && x.get_den() <= 0x1p10;
    };
    for (std::size_t out = 0; out < exact.size(); ++out) {
      if (!std::all_of(exact[out].begin(), exact[out].end(), is_short)) break;
      for (std::size_t j = 0; j < exact[out].size(); ++j)
        ASSERT_EQ(exact[out][j], mpq_class(rounded[out][j])) << to_string(graph);
      ++compared;
    }
  }
  EXPECT_GT(compared, 1000);
}

}  // namespace
}  // namespace bf_aot
