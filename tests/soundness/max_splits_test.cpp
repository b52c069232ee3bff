// Neuron splits of networks whose maxima are written as ReLUs, at exact points of the networks as
// they were: random networks, boxes, splits and choices. BF_SEED=n repeats a run, BF_ROUNDS=n takes
// n times as many.

#include <fmt/format.h>
#include <gmpxx.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <optional>
#include <utility>

#include "aot/decide/neurons/clauses/propagation.h"
#include "aot/decide/neurons/splitter.h"
#include "aot/decide/neurons/tighten.h"
#include "aot/decide/search/neuron_search.h"
#include "frontend/evaluate/evaluate_exact.h"
#include "frontend/passes/pipeline.h"
#include "tests/soundness/engine_call.h"
#include "tests/soundness/split_nets.h"
#include "tests/soundness/split_proofs.h"

namespace bf_aot::soundness {
namespace {

using decide::BoxNetwork;
using decide::ClauseTerm;
using decide::NeuronSplit;
using decide::NodeLanes;
using decide::SplitNode;
using Exact = std::vector<mpq_class>;

// What a layer adds up at a point, without rounding. Its weights are exact.
Exact layer_at(const Layer& layer, const std::vector<Exact>& tensors) {
  Exact z(static_cast<std::size_t>(layer.out));
  const auto source = [&](LayerId id) -> const Exact& {
    return tensors[static_cast<std::size_t>(id.number() + 1)];
  };
  for (std::size_t j = 0; j < z.size(); ++j) {
    if (!layer.bias.empty()) z[j] = exact(layer.bias[j]);
    if (layer.kind == LayerKind::kDense)
      for (int k = 0; k < layer.in; ++k)
        z[j] += exact(static_cast<double>(layer.weight_at(static_cast<int>(j), k))) *
                source(layer.input)[static_cast<std::size_t>(k)];
    for (const Term& term : layer.terms) {
      if (const auto* const gather = std::get_if<GatherMap>(&term.map)) {
        const auto k = gather->source.empty() ? static_cast<int>(j) : gather->source[j];
        if (k >= 0) z[j] += source(term.input)[static_cast<std::size_t>(k)];
        continue;
      }
      const auto& sparse = std::get<SparseMap>(term.map);
      for (auto e = static_cast<std::size_t>(sparse.row_start[j]);
           e < static_cast<std::size_t>(sparse.row_start[j + 1]); ++e)
        z[j] += exact(static_cast<double>(term.weight[e])) *
                source(term.input)[static_cast<std::size_t>(sparse.column[e])];
    }
  }
  return z;
}

// What the layers of a plan are before their ReLUs, in order.
std::vector<Exact> layers_at(const Plan& plan, const Exact& x) {
  std::vector<Exact> tensors = {x}, before;
  for (const Layer& layer : plan.layers) {
    before.push_back(layer_at(layer, tensors));
    tensors.push_back(before.back());
    if (layer.relu)
      for (mpq_class& each : tensors.back()) each = std::max<mpq_class>(each, 0);
  }
  return before;
}

struct Subject {
  Graph original;
  std::shared_ptr<const Plan> plan;  // without maxima
  FloatBox box;
  std::unique_ptr<const BoxNetwork> network;
};

class MaxSplits : public SplitTest {
 protected:
  double number() { return std::ldexp(static_cast<double>(pick(random_, -64, 64)), -5); }

  ValueId add(Graph& graph, Op op, ValueId x, int count) {
    const ValueId y = graph.add_value("v", {count});
    graph.nodes.push_back({std::move(op), {x}, y, "Node"});
    return y;
  }

  ValueId add_dense(Graph& graph, ValueId x, int out) {
    const std::int64_t in = element_count(graph.value(x).shape);
    Affine op{{{out, in}, {}, {}}, {{out}, {}, {}}};
    for (std::int64_t i = 0; i < in * out; ++i) op.weight.data.push_back(number() / 2);
    for (int i = 0; i < out; ++i) op.bias.data.push_back(number() / 2);
    return add(graph, std::move(op), x, out);
  }

  // Candidates repeat now and then, and groups share them.
  ValueId add_maxima(Graph& graph, ValueId x) {
    const auto in = static_cast<int>(element_count(graph.value(x).shape));
    GroupMax max{{0}, {}};
    const int rows = pick(random_, 1, 4);
    for (int row = 0; row < rows; ++row) {
      const int first = pick(random_, 0, in - 1);
      for (int k = pick(random_, 1, 5); k > 0; --k)
        max.source.push_back(pick(random_, 0, 1) == 0 ? (first + k) % in
                                                      : pick(random_, 0, in - 1));
      max.row_start.push_back(static_cast<std::int64_t>(max.source.size()));
    }
    return add(graph, std::move(max), x, rows);
  }

  Graph random_graph() {
    Graph graph;
    const int inputs = pick(random_, 2, 4);
    ValueId last = graph.add_value("x", {inputs});
    graph.inputs = {last};
    if (pick(random_, 0, 4) == 0) last = add_maxima(graph, last);
    for (int blocks = pick(random_, 1, 2); blocks > 0; --blocks) {
      last = add_dense(graph, last, pick(random_, 2, 7));
      const bool relu_first = pick(random_, 0, 1) == 0;
      const auto relu = [&] {
        return add(graph, Relu{}, last, static_cast<int>(element_count(graph.value(last).shape)));
      };
      if (relu_first) last = relu();
      last = add_maxima(graph, last);
      if (!relu_first && pick(random_, 0, 1) == 0) last = relu();
    }
    last = add_dense(graph, last, 2);
    graph.outputs = {last, last};  // the rows that conditions speak of
    return graph;
  }

  std::optional<Subject> random_subject(int n) {
    Subject made;
    made.original = random_graph();
    Graph graph = made.original;
    PassOptions options;
    options.max_as_relu = true;
    normalise(graph, options);
    const std::vector<std::string> targets = engine_targets();
    PlannerConfig config =
        planner_config(n % 3 == 0 ? Method::kAlphaCrown : Method::kCrown, Lowering::kPrebuilt,
                       targets[static_cast<std::size_t>(n) % targets.size()]);
    config.iterations = 2;
    made.plan = plan_for_engine(graph, true, config);
    made.box = random_box(random_, made.plan->input_count, pick(random_, 4, 8));
    made.network = network_on(made.plan, made.box);
    if (made.network == nullptr) return std::nullopt;
    return made;
  }

  template <class Visit>
  void for_each_subject(int count, const Visit& visit) {
    for (int n = 0, made = 0; made < count * rounds(); ++n) {
      ASSERT_LT(n, 100 * count * rounds());
      const auto subject = random_subject(n);
      if (!subject) continue;
      SCOPED_TRACE(fmt::format("number {}", n));
      ++made;
      visit(*subject);
      if (HasFatalFailure()) return;
    }
  }

  Exact random_point(const FloatBox& box) {
    Exact x;
    for (std::size_t i = 0; i < box.lower.size(); ++i) {
      const mpq_class lower = exact(static_cast<double>(box.lower[i]));
      const mpq_class upper = exact(static_cast<double>(box.upper[i]));
      x.push_back(lower + (upper - lower) * pick(random_, 0, 8) / 8);
    }
    return x;
  }

  static const mpq_class& z_of(const BoxNetwork& network, const std::vector<Exact>& values,
                               std::size_t open) {
    const auto [layer, place] = network.place_of(open);
    const auto at = static_cast<std::size_t>(layer);
    return values[at][static_cast<std::size_t>(
        network.layers()[at].neurons[static_cast<std::size_t>(place)])];
  }

  // Expects that the splits and ranges of a node hold at a point.
  static void expect_to_hold(const BoxNetwork& network, const std::vector<Exact>& values,
                             const SplitNode& node) {
    for (const decide::NeuronRange& range : node.ranges) {
      const mpq_class& z = z_of(network, values, range.open);
      EXPECT_TRUE(std::isinf(range.lower) || exact(static_cast<double>(range.lower)) <= z);
      EXPECT_TRUE(std::isinf(range.upper) || exact(static_cast<double>(range.upper)) >= z);
    }
    for (const NeuronSplit& split : node.splits) {
      const mpq_class& z = z_of(network, values, split.open);
      EXPECT_TRUE(split.positive ? z >= 0 : z <= 0);
    }
  }

  // With splits that hold at a point, and any choices.
  SplitNode random_node(const BoxNetwork& network, const std::vector<Exact>& values,
                        std::size_t terms) {
    SplitNode node;
    const int share = pick(random_, 0, 2) * 40;
    for (std::size_t open = 0; open < network.open(); ++open) {
      node.slopes.push_back(static_cast<std::uint8_t>(pick(random_, 0, 255)));
      if (pick(random_, 0, 99) >= share) continue;
      const mpq_class& z = z_of(network, values, open);
      const bool positive = z > 0 || (z == 0 && pick(random_, 0, 1) == 0);
      const float multiplier = pick(random_, 0, 3) == 0
                                   ? 0
                                   : std::ldexp(static_cast<float>(pick(random_, 1, 1 << 10)), -8);
      node.splits.push_back({static_cast<std::uint32_t>(open), positive, multiplier, 0});
    }
    for (std::size_t t = 0; t < terms; ++t)
      node.weights.push_back(std::ldexp(static_cast<float>(pick(random_, 0, 1 << 10)), -10));
    node.weights.front() += 0.125F;
    return node;
  }

  std::vector<ClauseTerm> random_terms() {
    std::vector<ClauseTerm> terms;
    for (int t = pick(random_, 1, 3); t > 0; --t)
      terms.push_back({pick(random_, 0, 1), pick(random_, 0, 1) == 1 ? 1.0F : -1.0F, 0});
    return terms;
  }

  // Such that a point is a violation, a little or by much.
  void violate(std::vector<ClauseTerm>& terms, const Exact& rows) {
    for (ClauseTerm& term : terms)
      term.threshold = rows[static_cast<std::size_t>(term.row)].get_d() +
                       static_cast<double>(term.sign) * std::ldexp(1, pick(random_, -30, 0));
  }

  std::vector<float> random_scales(const BoxNetwork& network) {
    std::vector<float> scales;
    for (std::size_t i = 0; i < network.layers().size(); ++i)
      scales.push_back(std::ldexp(1.0F, pick(random_, -4, 4)));
    return scales;
  }
};

// Nothing is rounded on the way to the plan: it is the network, for every point.
TEST_F(MaxSplits, ThePlanWithoutMaximaIsTheNetworkExactly) {
  for_each_subject(100, [&](const Subject& subject) {
    for (const Layer& layer : subject.plan->layers) {
      EXPECT_NE(layer.kind, LayerKind::kMax);
      EXPECT_EQ(layer.errors.weight_relative, 0);
      EXPECT_EQ(layer.errors.bias_double, 0);
    }
    for (int k = 0; k < 4; ++k) {
      const Exact x = random_point(subject.box);
      const auto values = layers_at(*subject.plan, x);
      ASSERT_EQ(subject.plan->spec_heads.size(), 1U);
      EXPECT_EQ(values[static_cast<std::size_t>(subject.plan->spec_heads.front().number())],
                evaluate_exact(subject.original, {x}).back());
    }
  });
}

TEST_F(MaxSplits, WhatIsProvenHoldsAtExactPointsOfTheNode) {
  int checked = 0;
  for_each_subject(100, [&](const Subject& subject) {
    const BoxNetwork& network = *subject.network;
    const Exact x = random_point(subject.box);
    const Exact rows = evaluate_exact(subject.original, {x}).back();
    std::vector<ClauseTerm> terms = random_terms();
    const SplitNode node = random_node(network, layers_at(*subject.plan, x), terms.size());
    const auto last =
        last_proven(network, terms, random_scales(network), node, rows.front().get_d());
    if (!last) return;
    ++checked;
    terms.front().threshold = *last;
    mpq_class sum = 0;
    for (std::size_t t = 0; t < terms.size(); ++t)
      sum += exact(static_cast<double>(node.weights[t] * terms[t].sign)) *
             (rows[static_cast<std::size_t>(terms[t].row)] - exact(terms[t].threshold));
    EXPECT_TRUE(sum >= 0) << "the bound does not hold at a point: " << sum.get_d();
  });
  EXPECT_GT(checked, 60 * rounds());
}

TEST_F(MaxSplits, RangesHoldAtViolations) {
  int tightened = 0;
  for_each_subject(100, [&](const Subject& subject) {
    const BoxNetwork& network = *subject.network;
    const auto values = layers_at(*subject.plan, random_point(subject.box));
    std::vector<ClauseTerm> terms = random_terms();
    violate(terms, values[static_cast<std::size_t>(subject.plan->spec_heads.front().number())]);
    SplitNode node = random_node(network, values, terms.size());
    NodeLanes lanes(network, terms);
    lanes.nodes.scales = random_scales(network);
    NodeLanes others(network, terms);
    others.nodes.scales = lanes.nodes.scales;
    NodeLanes* const two[] = {&lanes, &others};
    const decide::TightenSettings settings = {static_cast<std::size_t>(pick(random_, 1, 40)),
                                              pick(random_, 0, 3), pick(random_, 0, 1) == 1};
    SplitNode alone = node;
    EXPECT_TRUE(decide::tighten_ranges(network, two, node, settings));
    EXPECT_TRUE(decide::tighten_ranges(network, std::span(two).first(1), alone, settings));
    EXPECT_EQ(alone.ranges, node.ranges) << "workers made other ranges";
    EXPECT_EQ(alone.splits, node.splits);
    tightened += static_cast<int>(node.ranges.size());
    expect_to_hold(network, values, node);
  });
  EXPECT_GT(tightened, 50 * rounds());
}

// Whatever conditions imply in a node holds at a violation that is in it.
TEST_F(MaxSplits, WhatIsPropagatedHoldsAtViolations) {
  int narrowed = 0, chosen = 0;
  for_each_subject(300, [&](const Subject& subject) {
    const BoxNetwork& network = *subject.network;
    const auto values = layers_at(*subject.plan, random_point(subject.box));
    const Exact& rows = values[static_cast<std::size_t>(subject.plan->spec_heads.front().number())];
    std::vector<ClauseTerm> terms = random_terms();
    violate(terms, rows);
    for (ClauseTerm& term : terms) {
      const double row = rows[static_cast<std::size_t>(term.row)].get_d();
      if (exact(row) == rows[static_cast<std::size_t>(term.row)] && pick(random_, 0, 1) == 1)
        term.limit = row;
    }
    SplitNode node = random_node(network, values, terms.size());
    const std::size_t splits = node.splits.size();
    decide::Propagation propagation(network, terms);
    ASSERT_TRUE(propagation.begin(node)) << "a node with a violation is closed";
    if (pick(random_, 0, 1) == 1) chosen += propagation.choose() ? 1 : 0;
    ASSERT_FALSE(propagation.is_empty()) << "a node with a violation is closed";
    propagation.store(node);
    narrowed += static_cast<int>(node.splits.size() - splits + node.ranges.size());
    expect_to_hold(network, values, node);
  });
  EXPECT_GT(narrowed, 100 * rounds());
  EXPECT_GT(chosen, 30 * rounds());
}

// From the root to a leaf, always into the half that has the violation: none is closed.
TEST_F(MaxSplits, NoNodeWithAViolationIsClosed) {
  int halves = 0;
  for_each_subject(100, [&](const Subject& subject) {
    const BoxNetwork& network = *subject.network;
    const auto values = layers_at(*subject.plan, random_point(subject.box));
    std::vector<ClauseTerm> terms = random_terms();
    violate(terms, values[static_cast<std::size_t>(subject.plan->spec_heads.front().number())]);
    decide::NeuronPlanes planes(network);
    decide::NodeSplitter splitter(network, terms, {}, 1,
                                  decide::NeuronPlanes::covers(network) ? &planes : nullptr);
    std::vector<SplitNode> node = {splitter.root()};
    std::vector<decide::SplitResult> results;
    for (std::size_t depth = 0; depth <= network.open(); ++depth) {
      splitter.expand(node, results);
      ASSERT_FALSE(results.front().closed) << "a node with a violation is closed";
      if (!results.front().halves) return;
      ++halves;
      const auto& [first, second] = *results.front().halves;
      const NeuronSplit& split = first.splits.back();
      const bool positive = z_of(network, values, split.open) >= 0;
      node = {split.positive == positive ? first : second};
    }
    FAIL() << "more splits than neurons";
  });
  EXPECT_GT(halves, 50 * rounds());
}

}  // namespace
}  // namespace bf_aot::soundness
