// Networks whose ReLUs encode clauses: formulas that hold, or do not, by trying all assignments.
// BF_SEED=n repeats a run, BF_ROUNDS=n takes n times as many.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "aot/decide/neurons/clauses/conflict_search.h"
#include "aot/decide/neurons/clauses/input_functions.h"
#include "aot/decide/neurons/clauses/propagation.h"
#include "aot/decide/neurons/splitter.h"
#include "frontend/passes/passes.h"
#include "tests/soundness/engine_call.h"
#include "tests/soundness/split_nets.h"
#include "tests/soundness/split_proofs.h"

namespace bf_aot::soundness {
namespace {

using decide::ClauseTerm;
using decide::SplitNode;
using Formula = std::vector<std::vector<int>>;  // literals: k or -k of variable k >= 1

// The assignments that fulfil a formula, as bits of numbers.
std::vector<int> solutions_of(const Formula& formula, int variables) {
  std::vector<int> made;
  for (int assignment = 0; assignment < 1 << variables; ++assignment) {
    const auto holds = [&](int literal) {
      return ((assignment >> (std::abs(literal) - 1)) & 1) == (literal > 0 ? 1 : 0);
    };
    if (std::ranges::all_of(formula,
                            [&](const auto& clause) { return std::ranges::any_of(clause, holds); }))
      made.push_back(assignment);
  }
  return made;
}

// How a formula is written as a network on [0, 1]. y_0 >= 1 and y_1 <= 0 where x is an assignment
// that fulfils it.
enum class Encoding : std::uint8_t {
  kOneLayer,  // y_0 = 1 - sum of relu(1 - literals of a clause), y_1 = sum of x - relu(2 x - 1)
  kLiterals,  // the literals are a layer of their own; 1/2 - relu(1/2 - x) - relu(x - 1/2) is 0
  kSteps,     // the variables are relu(4 x - 3/2) - relu(4 x - 5/2), the sums relu(..), one row
  kPairs      // relu(relu(1 - two literals) - the others)
};
constexpr Encoding kEncodings[] = {Encoding::kOneLayer, Encoding::kLiterals, Encoding::kSteps,
                                   Encoding::kPairs};

// Layers whose weights are set one by one.
class LayeredNet {
 public:
  explicit LayeredNet(int inputs) : width_(inputs) {}

  struct Term {
    int from = 0;
    double weight = 0;
  };
  void neuron(double bias, const std::vector<Term>& terms) {
    weights_.resize(weights_.size() + static_cast<std::size_t>(width_));
    double* const row = weights_.data() + weights_.size() - width_;
    for (const auto& [from, weight] : terms) row[from] += weight;
    biases_.push_back(bias);
  }
  int neurons() const { return static_cast<int>(biases_.size()); }
  void end_layer(bool relu) {
    net.layers.push_back(with_bias(dense_layer(width_, neurons(), weights_, relu), biases_));
    width_ = neurons();
    weights_.clear();
    biases_.clear();
  }

  Net net;

 private:
  int width_;
  std::vector<double> weights_, biases_;
};

using Terms = std::vector<LayeredNet::Term>;

// Minus the sum of literals, where variable k is neuron k - 1 and its opposite `opposite` later.
Terms minus(const std::vector<int>& literals, int opposite) {
  Terms made;
  for (const int literal : literals)
    made.push_back({std::abs(literal) - 1 + (literal > 0 ? 0 : opposite), -1});
  return made;
}

Terms all(int first, int count, double weight) {
  Terms made;
  for (int k = 0; k < count; ++k) made.push_back({first + k, weight});
  return made;
}

Net one_layer(const Formula& formula, int variables) {
  LayeredNet made(variables);
  for (const auto& clause : formula) {
    Terms terms;
    double bias = 1;
    for (const int literal : clause) {
      terms.push_back({std::abs(literal) - 1, literal > 0 ? -1.0 : 1.0});
      bias -= literal > 0 ? 0 : 1;
    }
    made.neuron(bias, terms);
  }
  const auto clauses = static_cast<int>(formula.size());
  for (int k = 0; k < variables; ++k) made.neuron(0, {{k, 1}});
  for (int k = 0; k < variables; ++k) made.neuron(-1, {{k, 2}});
  made.end_layer(true);
  made.neuron(1, all(0, clauses, -1));
  Terms fractions = all(clauses, variables, 1);
  for (const auto& each : all(clauses + variables, variables, -1)) fractions.push_back(each);
  made.neuron(0, fractions);
  made.end_layer(false);
  return made.net;
}

Net literals(const Formula& formula, int variables) {
  LayeredNet made(variables);
  for (int k = 0; k < variables; ++k) made.neuron(0, {{k, 1}});
  for (int k = 0; k < variables; ++k) made.neuron(1, {{k, -1}});
  for (int k = 0; k < variables; ++k) made.neuron(0.5, {{k, -1}});
  for (int k = 0; k < variables; ++k) made.neuron(-0.5, {{k, 1}});
  made.end_layer(true);
  for (const auto& clause : formula) made.neuron(1, minus(clause, variables));
  for (int k = 0; k < variables; ++k)
    made.neuron(0.5, {{2 * variables + k, -1}, {3 * variables + k, -1}});
  made.end_layer(true);
  const auto clauses = static_cast<int>(formula.size());
  made.neuron(1, all(0, clauses, -1));
  made.neuron(0, all(clauses, variables, 1));
  made.end_layer(false);
  return made.net;
}

Net steps(const Formula& formula, int variables) {
  LayeredNet made(variables);
  for (int k = 0; k < variables; ++k) made.neuron(-1.5, {{k, 4}});
  for (int k = 0; k < variables; ++k) made.neuron(-2.5, {{k, 4}});
  made.end_layer(true);
  for (const auto& [factor, bias] : {std::pair(1, 0), std::pair(-1, 1), std::pair(2, -1)})
    for (int k = 0; k < variables; ++k) {
      const double weight = factor;
      made.neuron(bias, {{k, weight}, {variables + k, -weight}});
    }
  made.end_layer(true);
  for (const auto& clause : formula) made.neuron(1, minus(clause, variables));
  for (int k = 0; k < variables; ++k) made.neuron(0, {{k, 1}, {2 * variables + k, -1}});
  made.end_layer(true);
  const auto clauses = static_cast<int>(formula.size());
  made.neuron(0, all(0, clauses, 1));
  made.neuron(0, all(clauses, variables, 1));
  made.end_layer(true);
  made.neuron(1, {{0, -1}, {1, -1}});
  made.neuron(0, {});
  made.end_layer(false);
  return made.net;
}

Net pairs(const Formula& formula, int variables) {
  LayeredNet made(variables);
  for (int k = 0; k < variables; ++k) made.neuron(0, {{k, 1}});
  for (int k = 0; k < variables; ++k) made.neuron(1, {{k, -1}});
  for (int k = 0; k < variables; ++k) made.neuron(-1, {{k, 2}});
  made.end_layer(true);
  const auto clauses = static_cast<int>(formula.size());
  const auto two_of = [](const auto& clause) {
    return static_cast<std::ptrdiff_t>(std::min<std::size_t>(2, clause.size()));
  };
  for (const auto& clause : formula)
    made.neuron(1, minus({clause.begin(), clause.begin() + two_of(clause)}, variables));
  for (int k = 0; k < 2 * variables; ++k) made.neuron(0, {{k, 1}});
  for (int k = 0; k < variables; ++k) made.neuron(0, {{k, 1}, {2 * variables + k, -1}});
  made.end_layer(true);
  for (int c = 0; c < clauses; ++c) {
    const auto& clause = formula[static_cast<std::size_t>(c)];
    Terms terms = minus({clause.begin() + two_of(clause), clause.end()}, variables);
    for (LayeredNet::Term& each : terms) each.from += clauses;
    terms.push_back({c, 1});
    made.neuron(0, terms);
  }
  for (int k = 0; k < variables; ++k) made.neuron(0, {{clauses + 2 * variables + k, 1}});
  made.end_layer(true);
  made.neuron(1, all(0, clauses, -1));
  made.neuron(0, all(clauses, variables, 1));
  made.end_layer(false);
  return made.net;
}

Net net_of(const Formula& formula, int variables, Encoding encoding) {
  switch (encoding) {
    case Encoding::kOneLayer:
      return one_layer(formula, variables);
    case Encoding::kLiterals:
      return literals(formula, variables);
    case Encoding::kSteps:
      return steps(formula, variables);
    case Encoding::kPairs:
      return pairs(formula, variables);
  }
  return {};
}

// With the limits that a property has, and the thresholds of its floats.
std::vector<ClauseTerm> terms_of_formula() {
  return {{0, -1, 1 - 0x1p-24, 1.0}, {1, 1, 0x1p-149, 0.0}};
}

class Clauses : public SplitTest {
 protected:
  Formula random_formula(int variables) {
    Formula formula;
    for (int k = pick(random_, 2, 6 * variables); k > 0; --k) {
      std::vector<int> clause;
      for (int variable = 1; variable <= variables; ++variable)
        if (pick(random_, 0, variables) < 3)
          clause.push_back(pick(random_, 0, 1) == 1 ? variable : -variable);
      if (!clause.empty()) formula.push_back(clause);
    }
    return formula;
  }

  std::unique_ptr<const decide::BoxNetwork> network_of(const Formula& formula, int variables,
                                                       Semantics semantics,
                                                       Encoding encoding = Encoding::kOneLayer) {
    Graph graph = to_graph(net_of(formula, variables, encoding), Form::kDense);
    graph.outputs.push_back(graph.outputs.front());  // the rows that conditions speak of
    PlannerConfig config =
        planner_config(Method::kCrown, Lowering::kPrebuilt, engine_targets().back());
    config.semantics = semantics;
    if (semantics == Semantics::kFloat32) find_float32_reach(graph);
    const auto count = static_cast<std::size_t>(variables);
    const FloatBox box = {std::vector<float>(count, 0), std::vector<float>(count, 1)};
    return network_on(plan_for_engine(graph, true, config), box);
  }
};

// Expands nodes until all are closed, or one of them has nothing left to split.
struct Tree {
  bool closed = true;
  int nodes = 0;
};
Tree tree_of(const decide::BoxNetwork& network) {
  decide::NodeSplitter splitter(network, terms_of_formula());
  std::vector<SplitNode> open = {splitter.root()};
  std::vector<decide::SplitResult> results;
  Tree made;
  for (; !open.empty() && made.closed; ++made.nodes) {
    std::vector<SplitNode> node = {std::move(open.back())};
    open.pop_back();
    splitter.expand(node, results);
    if (results.front().closed) continue;
    if (results.front().halves) {
      open.push_back(results.front().halves->second);
      open.push_back(results.front().halves->first);
    }
    made.closed = results.front().halves.has_value();
  }
  return made;
}

TEST_F(Clauses, FormulasAreDecidedAsTheyAre) {
  for (const Encoding encoding : kEncodings) {
    int satisfiable = 0, most = 0;
    const int count = 40 * rounds();
    for (int n = 0; n < count; ++n) {
      SCOPED_TRACE(n);
      const int variables = pick(random_, 2, 9);
      const Formula formula = random_formula(variables);
      // In float32 a literal of its own layer is 0 up to a rounding alone, which leaves its sign
      // open: a tree that looks for no points splits it.
      const bool is_real = n % 2 == 0 || encoding != Encoding::kOneLayer;
      const auto network = network_of(formula, variables,
                                      is_real ? Semantics::kReal : Semantics::kFloat32, encoding);
      if (network == nullptr) continue;
      const Tree tree = tree_of(*network);
      EXPECT_EQ(tree.closed, solutions_of(formula, variables).empty());
      satisfiable += tree.closed ? 0 : 1;
      // With few clauses in several layers, terms leave so much that signs are not propagated.
      if (encoding == Encoding::kOneLayer) most = std::max(most, tree.nodes);
    }
    EXPECT_GT(satisfiable, count / 8);
    EXPECT_LT(satisfiable, count * 7 / 8);
    EXPECT_LT(most, 40);
  }
}

// Conflicts of formulas near the threshold of 3-SAT, with few contradictions allowed and with many.
TEST_F(Clauses, WhatIsLearnedKeepsAllAssignments) {
  int empty = 0, points = 0, spent = 0;
  for (int n = 0; n < 80 * rounds(); ++n) {
    SCOPED_TRACE(n);
    const int variables = pick(random_, 5, 11);
    Formula formula;
    for (int k = variables * pick(random_, 38, 52) / 10; k > 0; --k) {
      std::vector<int> clause;
      while (clause.size() < 3) {
        const int variable = pick(random_, 1, variables);
        if (std::ranges::none_of(clause, [&](int each) { return std::abs(each) == variable; }))
          clause.push_back(pick(random_, 0, 1) == 1 ? variable : -variable);
      }
      formula.push_back(clause);
    }
    const std::vector<int> solutions = solutions_of(formula, variables);
    const Encoding encoding = kEncodings[n % 4];
    const bool is_exact = n % 16 < 12;  // float32 may be, too
    const auto network =
        network_of(formula, variables, is_exact ? Semantics::kReal : Semantics::kFloat32, encoding);
    if (network == nullptr) continue;
    const std::vector<ClauseTerm> terms = terms_of_formula();
    const SplitNode node = decide::NodeSplitter(*network, terms).root();
    decide::Propagation propagation(*network, terms);
    if (!propagation.begin(node)) {
      EXPECT_TRUE(solutions.empty());
      continue;
    }
    decide::ConflictSearch search(propagation);
    EXPECT_TRUE(!is_exact || propagation.is_exact());
    const auto end = search.run(pick(random_, 0, 1) == 0 ? 1 : 100000);
    switch (end) {
      case decide::ConflictSearch::End::kEmpty:
        EXPECT_TRUE(solutions.empty());
        ++empty;
        continue;
      case decide::ConflictSearch::End::kPoint: {
        int assignment = 0;
        for (int k = 0; k < variables; ++k)
          if (search.point()[static_cast<std::size_t>(k)] > 0.5F) assignment |= 1 << k;
        EXPECT_TRUE(std::ranges::find(solutions, assignment) != solutions.end());
        ++points;
        break;
      }
      case decide::ConflictSearch::End::kSpent:
        ++spent;
        break;
    }
    for (const int solution : solutions)
      for (std::size_t k = 0; k < static_cast<std::size_t>(variables); ++k) {
        const double x = (solution >> k) & 1;
        EXPECT_LE(propagation.ranges().low[k], x);
        EXPECT_GE(propagation.ranges().high[k], x);
      }
  }
  EXPECT_GT(empty, 5 * rounds());
  EXPECT_GT(points, 5 * rounds());
  EXPECT_GT(spent, 2 * rounds());
}

// Neurons of one input over up to four layers, with weights of all sizes and errors of sums.
class OneInput {
 public:
  explicit OneInput(Random& random) : random_(random) {
    sums.inputs = 1;
    sums.lower = {pick(random_, -8, 0) / 8.0};
    sums.upper = {sums.lower.front() + pick(random_, 1, 16) / 8.0};
    sums.is_relu = {false};
    sums.source_start = {0};
    std::size_t before = 0;  // the first variable of the last layer
    for (int layer = pick(random_, 1, 4); layer > 0; --layer) {
      const std::size_t end = sums.is_relu.size();
      for (int k = pick(random_, 1, 4); k > 0; --k) {
        for (std::size_t from = before; from < end; ++from)
          if (pick(random_, 0, 3) > 0) sums.sources.push_back({from, weight()});
        if (sums.source_start.back() == sums.sources.size()) sums.sources.push_back({0, weight()});
        sums.source_start.push_back(sums.sources.size());
        sums.bias.push_back(weight());
        sums.room.push_back(pick(random_, 0, 3) == 0 ? 0x1p-30 : 0);
        sums.is_relu.push_back(pick(random_, 0, 4) > 0);
      }
      before = end;
    }
  }

  // The activations at x, with any errors that sums may have.
  std::vector<mpq_class> activations_at(double x) {
    std::vector<mpq_class> made = {exact(x)};
    for (std::size_t n = 0; n < sums.neurons(); ++n) {
      mpq_class z = exact(sums.bias[n]) + exact(sums.room[n] * pick(random_, -1, 1));
      for (const auto& [variable, factor] : sums.sources_of(n)) z += exact(factor) * made[variable];
      made.push_back(sums.is_relu[made.size()] && z < 0 ? mpq_class(0) : z);
    }
    return made;
  }

  double weight() {
    const double third = pick(random_, 0, 1) == 0 ? 1 : 3;
    return pick(random_, -8, 8) / (4 * third) + (pick(random_, 0, 3) == 0 ? 0x1p-40 : 0);
  }

  // Returns a point of the first input's range.
  double point() {
    const double share = pick(random_, 0, 1 << 20) * 0x1p-20;
    return sums.lower.front() + share * (sums.upper.front() - sums.lower.front());
  }

  decide::Sums sums;

 private:
  Random& random_;
};

TEST_F(Clauses, FunctionsOfAnInputAreBoundedAtEveryPoint) {
  int narrow = 0, gaps = 0;
  for (int n = 0; n < 300 * rounds(); ++n) {
    SCOPED_TRACE(n);
    OneInput one(random_);
    decide::InputFunctions functions(one.sums);
    std::vector<decide::SumSource> sources;
    for (std::size_t variable = 0; variable < one.sums.is_relu.size(); ++variable)
      if (pick(random_, 0, 1) == 1) sources.push_back({variable, one.weight()});
    if (sources.empty()) sources.push_back({0, 1});
    const std::size_t number = functions.add(sources);
    const auto value_at = [&](double x) {
      const std::vector<mpq_class> activations = one.activations_at(x);
      mpq_class sum = 0;
      for (const auto& [variable, factor] : sources) sum += exact(factor) * activations[variable];
      return sum;
    };
    for (int k = 0; k < 20; ++k) {
      std::vector<double> x = {one.point(), one.point(), one.point()};
      std::ranges::sort(x);
      const mpq_class value = value_at(x[1]);
      const auto [least, largest] = functions.range(number, x[0], x[2]);
      EXPECT_LE(exact(least), value);
      EXPECT_GE(exact(largest), value);
      const bool is_upper = pick(random_, 0, 1) == 1;
      // A limit that the value keeps, and reaches about.
      const double off = std::ldexp(1.0, -pick(random_, 0, 60));
      double limit = value.get_d() + (is_upper ? off : -off);
      while (is_upper ? exact(limit) < value : exact(limit) > value)
        limit = std::nextafter(limit, is_upper ? INFINITY : -INFINITY);
      const auto part = functions.part_of(number, x[0], x[2], limit, is_upper);
      ASSERT_TRUE(part);
      EXPECT_LE(part->first, x[1]);
      EXPECT_GE(part->second, x[1]);
      narrow += part->second - part->first < x[2] - x[0] ? 1 : 0;
      const auto parts = functions.parts_of(number, limit, is_upper);
      EXPECT_TRUE(std::ranges::any_of(
          parts, [&](const auto& each) { return each.first <= x[1] && x[1] <= each.second; }));
      gaps += parts.size() > 1 ? 1 : 0;
    }
  }
  EXPECT_GT(narrow, 100);
  EXPECT_GT(gaps, 10);
}

TEST_F(Clauses, FunctionsOfAnInputAreExactWhereTheirNumbersAre) {
  decide::Sums sums;
  sums.inputs = 1;
  sums.lower = {0};
  sums.upper = {1};
  sums.is_relu = {false, true, true, true};
  sums.source_start = {0, 1, 2, 3};
  sums.sources = {{0, 1}, {0, 4}, {0, -2}};
  sums.bias = {0, -1, 1};
  sums.room = {0, 0, 0};
  decide::InputFunctions functions(sums);
  // 3/2 x - relu(4 x - 1) / 2 + 3/4 relu(1 - 2 x) is 3/4 at 0 and 1/4, 1/4 at 1/2, 0 at 1.
  const std::vector<decide::SumSource> sources = {{1, 1.5}, {2, -0.5}, {3, 0.75}};
  const std::size_t number = functions.add(sources);
  EXPECT_EQ(functions.range(number, 0, 1), std::pair(0.0, 0.75));
  EXPECT_EQ(functions.range(number, 0.5, 1), std::pair(0.0, 0.25));
  EXPECT_EQ(functions.range(number, 0.75, 0.75), std::pair(0.125, 0.125));
  EXPECT_EQ(functions.part_of(number, 0, 1, 0.125, true), std::pair(0.75, 1.0));
  EXPECT_FALSE(functions.part_of(number, 0, 1, 1, false));
  const auto parts = functions.parts_of(number, 0.25, false);
  ASSERT_EQ(parts.size(), 1U);
  EXPECT_EQ(parts.front(), std::pair(0.0, 0.5));
}

// The contradiction x_1 and not x_1 is widened: a clause becomes two, with a new variable and its
// opposite, until there are 200. The root's relaxation excludes nothing of it, and a tree needs as
// many leaves as there are clauses, at most.
TEST_F(Clauses, WidenedContradictionsAreRefutedByFewSplits) {
  constexpr int kVariables = 40;
  Formula formula = {{1}, {-1}};
  while (formula.size() < 200) {
    const auto at =
        static_cast<std::size_t>(pick(random_, 0, static_cast<int>(formula.size()) - 1));
    const int variable = pick(random_, 2, kVariables);
    std::vector<int> clause = formula[at];
    if (clause.size() > 8 ||
        std::ranges::any_of(clause, [&](int literal) { return std::abs(literal) == variable; }))
      continue;
    clause.push_back(-variable);
    formula[at].push_back(variable);
    formula.push_back(clause);
  }
  const auto network = network_of(formula, kVariables, Semantics::kReal);
  ASSERT_NE(network, nullptr);
  const Tree tree = tree_of(*network);
  EXPECT_TRUE(tree.closed);
  EXPECT_LT(tree.nodes, 400);
}

// (x_1 or x_2), x_1 split to be false: x_2 follows, and with (not x_2) nothing is left.
TEST_F(Clauses, ASignFollowsFromTheOthersOfItsClause) {
  for (const Formula& formula : {Formula{{1, 2}, {1, -2, 3}}, Formula{{1, 2}, {1, -2}, {1, 3}}}) {
    const auto network = network_of(formula, 3, Semantics::kReal);
    ASSERT_NE(network, nullptr);
    const std::vector<ClauseTerm> terms = terms_of_formula();
    decide::Propagation propagation(*network, terms);
    SplitNode node = decide::NodeSplitter(*network, terms).root();
    const std::size_t first = network->open() - 3;  // relu(2 x_1 - 1), the clauses' are before
    node.splits.push_back({static_cast<std::uint32_t>(first), false, 0, 0});
    if (formula.size() == 3) {
      EXPECT_FALSE(propagation.begin(node));
      EXPECT_TRUE(propagation.is_empty());
      continue;
    }
    EXPECT_LT(propagation.share_of(node), 0.5);
    ASSERT_TRUE(propagation.begin(node));
    propagation.store(node);
    for (const std::size_t variable : {std::size_t{1}, std::size_t{2}})
      EXPECT_TRUE(std::ranges::any_of(node.splits, [&](const decide::NeuronSplit& split) {
        return split.open == first + variable && split.positive;
      })) << variable;
    EXPECT_FALSE(propagation.choose()) << "all signs are known";
    EXPECT_FALSE(propagation.is_empty());
  }
}

}  // namespace
}  // namespace bf_aot::soundness
