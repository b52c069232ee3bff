// Networks whose ReLUs encode clauses: formulas that hold, or do not, by trying all assignments.
// BF_SEED=n repeats a run, BF_ROUNDS=n takes n times as many.

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "aot/decide/neurons/propagation.h"
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

bool is_satisfiable(const Formula& formula, int variables) {
  for (int assignment = 0; assignment < 1 << variables; ++assignment) {
    const auto holds = [&](int literal) {
      return ((assignment >> (std::abs(literal) - 1)) & 1) == (literal > 0 ? 1 : 0);
    };
    if (std::ranges::all_of(formula,
                            [&](const auto& clause) { return std::ranges::any_of(clause, holds); }))
      return true;
  }
  return false;
}

// y_0 = 1 - sum of relu(1 - its literals) over the clauses, and y_1 = sum of x_k - relu(2 x_k - 1):
// y_0 >= 1 and y_1 <= 0 on [0, 1] where x is an assignment that fulfils the formula.
Net net_of(const Formula& formula, int variables) {
  const auto clauses = static_cast<int>(formula.size());
  std::vector<double> weights, biases,
      last(static_cast<std::size_t>(2 * (clauses + 2 * variables)));
  for (const auto& clause : formula) {
    std::vector<double> row(static_cast<std::size_t>(variables));
    double bias = 1;
    for (const int literal : clause) {
      row[static_cast<std::size_t>(std::abs(literal) - 1)] += literal > 0 ? -1 : 1;
      bias -= literal > 0 ? 0 : 1;
    }
    weights.insert(weights.end(), row.begin(), row.end());
    biases.push_back(bias);
  }
  for (const double factor : {1.0, 2.0})
    for (int k = 0; k < variables; ++k) {
      for (int j = 0; j < variables; ++j) weights.push_back(j == k ? factor : 0);
      biases.push_back(1 - factor);
    }
  const auto hidden = static_cast<std::size_t>(clauses + 2 * variables);
  for (std::size_t k = 0; k < hidden; ++k) {
    const auto clause_count = static_cast<std::size_t>(clauses);
    const bool is_pass = k < clause_count + static_cast<std::size_t>(variables);
    last[k] = k < clause_count ? -1 : 0;
    last[hidden + k] = k < clause_count ? 0 : is_pass ? 1 : -1;
  }
  Net net;
  net.layers = {with_bias(dense_layer(variables, static_cast<int>(hidden), weights, true), biases),
                with_bias(dense_layer(static_cast<int>(hidden), 2, last), {1, 0})};
  return net;
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
                                                       Semantics semantics) {
    Graph graph = to_graph(net_of(formula, variables), Form::kDense);
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
  int satisfiable = 0, most = 0;
  const int count = 60 * rounds();
  for (int n = 0; n < count; ++n) {
    SCOPED_TRACE(n);
    const int variables = pick(random_, 2, 9);
    const Formula formula = random_formula(variables);
    const auto network =
        network_of(formula, variables, n % 2 == 0 ? Semantics::kReal : Semantics::kFloat32);
    if (network == nullptr) continue;
    const Tree tree = tree_of(*network);
    EXPECT_EQ(tree.closed, !is_satisfiable(formula, variables));
    satisfiable += tree.closed ? 0 : 1;
    most = std::max(most, tree.nodes);
  }
  EXPECT_GT(satisfiable, count / 8);
  EXPECT_LT(satisfiable, count * 7 / 8);
  EXPECT_LT(most, 40);
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
