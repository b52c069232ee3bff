// Bounds of nodes whose neurons are functions, and of where neurons lie, at exact points: random
// networks, boxes, splits and choices. BF_SEED=n repeats a run, BF_ROUNDS=n takes n times as many.

#include <fmt/format.h>
#include <gmpxx.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <optional>

#include "aot/decide/neurons/tighten.h"
#include "frontend/evaluate/evaluate.h"
#include "frontend/evaluate/evaluate_exact.h"
#include "frontend/passes/pipeline.h"
#include "tests/soundness/emitted_node.h"
#include "tests/soundness/engine_call.h"
#include "tests/soundness/split_nets.h"
#include "tests/soundness/split_proofs.h"
#include "tests/soundness/verdicts.h"
#include "tests/support/property_text.h"

namespace bf_aot::soundness {
namespace {

using decide::BoxNetwork;
using decide::ClauseTerm;
using decide::kLanes;
using decide::NeuronRange;
using decide::NeuronSplit;
using decide::NodeLanes;
using decide::RowObjective;
using decide::SplitNode;
using Values = std::vector<std::vector<mpq_class>>;

// Defined everywhere, but for floor, ceiling and rounding.
std::vector<Function> functions() {
  using enum FunctionKind;
  std::vector<Function> all = {{kLeakyRelu, 0.01, 0},
                               {kLeakyRelu, -0.25, 0},
                               {kClip, -0.5, 0.75},
                               {kClip, 0, 6},
                               {kHardSigmoid, 0.25, 0.5},
                               {kShrink, 0.5, 0},
                               {kElu, 1, 0},
                               {kPower, 2, 0},
                               {kPower, 3, 0}};
  for (const FunctionKind kind :
       {kAbs, kThresholdedRelu, kSign, kStep, kSigmoid, kTanh, kSoftplus, kSoftsign, kHardSwish,
        kGelu, kMish, kErf, kExp, kSin, kCos, kAtan})
    all.push_back({kind, 0, 0});
  return all;
}

// Dense layers and products on a box, whose neurons are ReLUs or functions.
struct Subject {
  Graph values;  // whose outputs are what the layers are before them, in order
  std::shared_ptr<const Plan> plan;
  FloatBox box;
  std::unique_ptr<const BoxNetwork> network;

  Values at(const std::vector<mpq_class>& x) const { return evaluate_exact(values, {x}); }
};

class FunctionSplits : public SplitTest {
 protected:
  float number() { return std::ldexp(static_cast<float>(pick(random_, -64, 64)), -5); }

  void add_dense(Graph& graph, ValueId& last, int in, int out, int number_of_layer) {
    std::vector<double> weight, bias;
    for (int i = 0; i < in * out; ++i) weight.push_back(static_cast<double>(number()) / 2);
    for (int i = 0; i < out; ++i) bias.push_back(static_cast<double>(number()) / 2);
    NetLayer layer = dense_layer(in, out, std::move(weight));
    layer.bias = std::move(bias);
    Net net;
    net.layers = {layer};
    const Graph one = to_graph(net);
    const ValueId z = graph.add_value(fmt::format("z{}", number_of_layer), {out});
    Node node = one.nodes.front();
    node.inputs = {last};
    node.output = z;
    graph.nodes.push_back(std::move(node));
    last = z;
    graph.outputs.push_back(z);
  }

  // a times a dense layer of what its own layer reads.
  ValueId add_product(Graph& graph, ValueId before, ValueId a, int in, int out,
                      int number_of_layer) {
    add_dense(graph, before, in, out, 10 + number_of_layer);
    const ValueId p = graph.add_value(fmt::format("p{}", number_of_layer), {out});
    graph.nodes.push_back({Binary{Binary::Kind::kMul}, {a, before}, p, "Mul"});
    graph.outputs.push_back(p);
    return p;
  }

  // Whether the plan's layers are what the outputs of `values` are, one by one.
  static bool is_layer_by_layer(const Plan& plan, const Graph& values) {
    if (plan.layers.size() < values.outputs.size()) return false;
    const auto makers = producers(values);
    for (std::size_t i = 0; i < values.outputs.size(); ++i) {
      const Layer& layer = plan.layers[LayerId(static_cast<int>(i))];
      const auto maker = static_cast<std::size_t>(makers[index_of(values.outputs[i])]);
      if (layer.out != element_count(values.value(values.outputs[i]).shape) ||
          std::holds_alternative<Binary>(values.nodes[maker].op) !=
              (layer.kind == LayerKind::kProduct))
        return false;
    }
    return true;
  }

  std::optional<Subject> random_subject(int n) {
    const std::vector<Function> all = functions();
    Subject made;
    const int inputs = pick(random_, 1, 4), hidden = pick(random_, 1, 2);
    ValueId last = made.values.add_value("x", {inputs});
    made.values.inputs = {last};
    int width = inputs;
    for (int i = 0; i < hidden; ++i) {
      const int out = pick(random_, 1, 6);
      const ValueId before = last;
      add_dense(made.values, last, width, out, i);
      const ValueId a = made.values.add_value(fmt::format("a{}", i), {out});
      if (pick(random_, 0, 3) == 0)
        made.values.nodes.push_back({Relu{}, {last}, a, "Relu"});
      else
        made.values.nodes.push_back(
            {Unary{all[static_cast<std::size_t>(n + i) % all.size()]}, {last}, a, "Unary"});
      last = a;
      if (pick(random_, 0, 1) == 0) last = add_product(made.values, before, a, width, out, i);
      width = out;
    }
    add_dense(made.values, last, width, 2, hidden);
    Graph graph = made.values;
    graph.outputs = {last, last};
    const std::vector<std::string> targets = engine_targets();
    made.plan =
        plan_for_engine(graph, true,
                        planner_config(Method::kCrown, Lowering::kPrebuilt,
                                       targets[static_cast<std::size_t>(n) % targets.size()]));
    if (!is_layer_by_layer(*made.plan, made.values)) return std::nullopt;
    made.box = random_box(random_, inputs, pick(random_, 4, 8));
    made.network = network_on(made.plan, made.box);
    if (made.network == nullptr) return std::nullopt;
    return made;
  }

  // visit(subject, values at a point of its box), values of a size that the oracle has.
  template <class Visit>
  void for_each_subject(int count, const Visit& visit) {
    for (int n = 0, made = 0; made < count * rounds(); ++n) {
      ASSERT_LT(n, 100 * count * rounds());
      const auto subject = random_subject(n);
      if (!subject) continue;
      const std::vector<mpq_class> x = random_point(subject->box);
      if (!has_moderate_values(*subject, x)) continue;
      const Values values = subject->at(x);
      if (oracle_error(values) > 1) continue;
      SCOPED_TRACE(fmt::format("number {}", n));
      ++made;
      visit(*subject, values);
      if (HasFatalFailure()) return;
    }
  }

  // The oracle has no numbers like e^(10^18).
  static bool has_moderate_values(const Subject& subject, const std::vector<mpq_class>& x) {
    std::vector<double> point;
    for (const mpq_class& each : x) point.push_back(each.get_d());
    for (const auto& layer : evaluate(subject.values, {point}))
      for (const double each : layer)
        if (!(std::fabs(each) < 1e9)) return false;
    return true;
  }

  std::vector<mpq_class> random_point(const FloatBox& box) {
    std::vector<mpq_class> x;
    for (std::size_t i = 0; i < box.lower.size(); ++i) {
      const mpq_class lower = exact(static_cast<double>(box.lower[i]));
      const mpq_class upper = exact(static_cast<double>(box.upper[i]));
      x.push_back(lower + (upper - lower) * pick(random_, 0, 8) / 8);
    }
    return x;
  }

  static const mpq_class& z_of(const BoxNetwork& network, const Values& values, std::size_t open) {
    const auto [layer, place] = network.place_of(open);
    const auto at = static_cast<std::size_t>(layer);
    return values[at][static_cast<std::size_t>(
        network.layers()[at].neurons[static_cast<std::size_t>(place)])];
  }

  // With splits and ranges that hold at a point, and any choices.
  SplitNode random_node(const BoxNetwork& network, const Values& values, std::size_t terms) {
    SplitNode node;
    const int share = pick(random_, 0, 2) * 40;
    for (std::size_t open = 0; open < network.open(); ++open) {
      const double z = z_of(network, values, open).get_d();
      const bool function = network.is_function()[open];
      node.slopes.push_back(static_cast<std::uint8_t>(pick(random_, 0, 255)));
      const auto id = static_cast<std::uint32_t>(open);
      const float multiplier = pick(random_, 0, 3) == 0 ? 0 : std::fabs(number());
      for (int side = 0; side < 2; ++side) {
        if (pick(random_, 0, 99) >= share) continue;
        // Less than the oracle's error away is no side.
        const double away = (side == 0 ? -1 : 1) * std::fabs(static_cast<double>(number()));
        // Beside a large number it may be lost.
        const bool holds = side == 0 ? exact(z + away) < z_of(network, values, open)
                                     : exact(z + away) > z_of(network, values, open);
        if (function && holds)
          node.splits.push_back({id, side == 0, multiplier, z + away});
        else if (!function && side == 0 && std::fabs(z) > 1e-9)
          node.splits.push_back({id, z > 0, multiplier, 0});
      }
      // More than the roundings of large numbers to float.
      const float room = 0.01F + static_cast<float>(std::fabs(z)) * 0x1p-20F;
      if (!function && pick(random_, 0, 99) < share)
        node.ranges.push_back(
            {id, std::min(-0.01F, static_cast<float>(z) - std::fabs(number())) - room,
             std::max(0.01F, static_cast<float>(z) + std::fabs(number())) + room});
    }
    const NodeLanes lanes(network, {});
    for (const decide::SlopeRange& best : lanes.nodes.slopes_on_box())
      for (const float slope : {best.lower, best.upper})
        node.lines.push_back(pick(random_, 0, 2) == 0 ? number() : slope);
    for (std::size_t k = 0; k < 2 * network.products(); ++k)
      node.planes.push_back(static_cast<std::uint8_t>(51 * pick(random_, 0, 5)));
    for (std::size_t t = 0; t < terms; ++t)
      node.weights.push_back(std::ldexp(static_cast<float>(pick(random_, 0, 1 << 10)), -10));
    node.weights.front() += 0.125F;
    return node;
  }

  std::vector<ClauseTerm> random_terms(const BoxNetwork& network) {
    std::vector<ClauseTerm> terms;
    for (int t = pick(random_, 1, 3); t > 0; --t)
      terms.push_back({pick(random_, 0, static_cast<int>(network.rows().size()) - 1),
                       pick(random_, 0, 1) == 1 ? 1.0F : -1.0F, 0});
    return terms;
  }

  std::vector<float> random_scales(const BoxNetwork& network) {
    std::vector<float> scales;
    for (std::size_t i = 0; i < network.layers().size(); ++i)
      scales.push_back(std::ldexp(1.0F, pick(random_, -4, 4)));
    return scales;
  }

  // sign (row - threshold) of a term at a point.
  static mpq_class height_of(const ClauseTerm& term, const Values& values) {
    return exact(static_cast<double>(term.sign)) *
           (values.back()[static_cast<std::size_t>(term.row)] - exact(term.threshold));
  }

  // What the oracle's values may be off by.
  static mpq_class oracle_error(const Values& values) {
    mpq_class most = 1;
    for (const auto& layer : values)
      for (const mpq_class& each : layer) most = std::max<mpq_class>(most, abs(each));
    return most * exact(0x1p-120);
  }
};

// The largest of some counts.
double most_of(const std::map<std::size_t, double>& counts) {
  double most = 0;
  for (const auto& [place, count] : counts) most = std::max(most, count);
  return most;
}

// Roundings that proofs on a box pay for, counted by what is there.
double roundings_of(const BoxNetwork& network) {
  double count = 64 + static_cast<double>(3 * network.inputs() + network.rows().size());
  for (const BoxNetwork::BoxLayer& layer : network.layers()) {
    const double of_neuron = layer.is_product ? 12 : layer.function != nullptr ? 8 : 3;
    count += of_neuron * static_cast<double>(layer.size());
    for (const std::size_t k : {0U, 1U}) {
      std::map<std::size_t, double> reads;
      for (const auto& factors : layer.factors) ++reads[factors.at(k).place];
      count += most_of(reads);
    }
    for (const BoxNetwork::Part& part : layer.parts) {
      std::map<std::size_t, double> reads;
      part.forward.for_each_product(
          [&](std::size_t, std::size_t column, float) { ++reads[column]; });
      count += most_of(reads) + 4;
    }
  }
  return count;
}

TEST_F(FunctionSplits, RoundingsOfWhatIsLeftOnABoxArePaidFor) {
  for_each_subject(200, [&](const Subject& subject, const Values&) {
    const BoxNetwork& network = *subject.network;
    EXPECT_GE(network.roundings(), roundings_of(network));
    EXPECT_EQ(network.errors().coefficient, 0x1p-52 * network.roundings());
    EXPECT_EQ(network.errors().row, network.errors().coefficient);
    EXPECT_EQ(network.errors().sum, network.errors().coefficient);
    EXPECT_GT(network.errors().underflow, 0);
  });
}

TEST_F(FunctionSplits, WhatIsProvenHoldsAtExactPointsOfTheNode) {
  int checked = 0, of_products = 0;
  for_each_subject(400, [&](const Subject& subject, const Values& values) {
    const BoxNetwork& network = *subject.network;
    std::vector<ClauseTerm> terms = random_terms(network);
    const SplitNode node = random_node(network, values, terms.size());
    const auto last =
        last_proven(network, terms, random_scales(network), node, values.back().front().get_d());
    if (!last) return;
    ++checked;
    of_products += network.products() > 0 ? 1 : 0;
    terms.front().threshold = *last;
    mpq_class sum = oracle_error(values);
    for (std::size_t t = 0; t < terms.size(); ++t)
      sum += exact(static_cast<double>(node.weights[t])) * height_of(terms[t], values);
    EXPECT_TRUE(sum >= 0) << "the bound does not hold at a point: " << sum.get_d();
  });
  EXPECT_GT(checked, 300 * rounds());
  EXPECT_GT(of_products, 100 * rounds());
}

// ---- the same by the runtime, as generated verifiers do

class EmittedFunctionSplits : public FunctionSplits {
 protected:
  // Null where the planner splits no neurons of it.
  static std::unique_ptr<EmittedNode> node_of(const Subject& subject) {
    PlannerConfig config = subject.plan->config;
    config.decide = true;
    config.splits = Splits::kNeurons;
    Graph graph = subject.values;
    graph.outputs = {subject.values.outputs.back(), subject.values.outputs.back()};
    auto made = std::make_unique<EmittedNode>(plan_for_engine(graph, true, config), subject.box);
    return made->is_ready ? std::move(made) : nullptr;
  }

  // Splits that hold at a point, and any choices, weights and scales.
  void choose(EmittedNode& node, const Values& values) {
    bf::SplitBounds& b = node.bounds();
    std::vector<bf::SplitTerm> terms;
    std::vector<float> weights;
    for (int t = pick(random_, 1, 2); t > 0; --t) {
      const int row = pick(random_, 0, node.plan().spec_rows - 1);
      terms.push_back({node.neuron_of_row(row), pick(random_, 0, 1) == 1 ? 1.0F : -1.0F, 0});
      weights.push_back(std::ldexp(static_cast<float>(pick(random_, 1, 1 << 10)), -10));
    }
    node.set_terms(terms, weights);
    bf::set_choices(b);
    for (std::int32_t i = 0; i < b.network->choices; ++i)
      if (pick(random_, 0, 2) > 0)
        b.choice[i] = std::ldexp(static_cast<float>(pick(random_, 0, 1 << 12)), -11);
    for (std::int32_t i = 0; i < b.network->count; ++i)
      b.scale[i] = std::ldexp(1.0F, pick(random_, -4, 4));
    bf::load_phases(node.search, 0);
    const int share = pick(random_, 0, 2) * 40;
    for (std::uint32_t i = 0; i < node.search.open_count; ++i)
      if (pick(random_, 0, 99) < share) split(b, node.search.open[i], values);
    bf::bend_curves(b);
  }

  static FloatBox middle_of(FloatBox box) {
    for (std::size_t i = 0; i < box.lower.size(); ++i) {
      const float low = box.lower[i], high = box.upper[i];
      box.lower[i] = std::clamp(0.75F * low + 0.25F * high, low, high);
      box.upper[i] = std::clamp(0.25F * low + 0.75F * high, box.lower[i], high);
    }
    return box;
  }

  std::vector<double> inside(const FloatBox& box) {
    std::vector<double> x;
    for (const mpq_class& each : random_point(box)) x.push_back(each.get_d());
    for (std::size_t i = 0; i < x.size(); ++i)
      x[i] = std::clamp<double>(x[i], box.lower[i], box.upper[i]);
    return x;
  }

  void split(bf::SplitBounds& b, std::uint32_t neuron, const Values& values) {
    const auto& layers = b.network->layers;
    const bf::SplitLayer& layer = bf::layer_of(*b.network, neuron);
    const mpq_class& z = values[static_cast<std::size_t>(&layer - layers)]
                               [neuron - static_cast<std::uint32_t>(layer.first)];
    const bool curve = bf::is_curved(layer.role);
    for (const bool upper : {false, true}) {
      const float away = (upper ? -1.0F : 1.0F) * std::fabs(number());
      const float point = curve ? static_cast<float>(z.get_d()) + away : 0;
      const mpq_class at = exact(static_cast<double>(point));
      // Less than the oracle's error away is no side.
      if (upper ? at < z : at > z) bf::split_neuron(b, neuron, upper, point);
    }
  }
};

TEST_F(EmittedFunctionSplits, WhatIsProvenHoldsAtExactPointsOfTheNode) {
  int checked = 0, of_products = 0, split = 0;
  for_each_subject(400, [&](const Subject& subject, const Values& values) {
    const auto node = node_of(subject);
    if (node == nullptr) return;
    choose(*node, values);
    const float last = node->last_proven();
    if (!std::isfinite(last)) return;
    ++checked;
    bf::SplitBounds& b = node->bounds();
    of_products += b.network->multiplies ? 1 : 0;
    for (std::int32_t n = 0; n < b.network->neurons; ++n)
      split += b.phase[n] == bf::SplitPhase::kPositive ? 1 : 0;
    b.terms[0].threshold = last;
    mpq_class sum = oracle_error(values);
    for (std::uint32_t t = 0; t < b.term_count; ++t) {
      const auto row = b.terms[t].neuron - node->neuron_of_row(0);
      sum += exact(static_cast<double>(b.weights[t])) *
             exact(static_cast<double>(b.terms[t].sign)) *
             (values.back()[row] - exact(static_cast<double>(b.terms[t].threshold)));
    }
    EXPECT_TRUE(sum >= 0) << "the bound does not hold at a point: " << sum.get_d();
  });
  EXPECT_GT(checked, 300 * rounds());
  EXPECT_GT(of_products, 100 * rounds());
  EXPECT_GT(split, 0);
}

TEST_F(EmittedFunctionSplits, VerdictsHoldAtExactPointsOfTheBox) {
  std::map<bf_verdict, int> verdicts;
  for_each_subject(120, [&](const Subject& subject, const Values&) {
    const soundness::Values values = [&](const std::vector<mpq_class>& x) {
      return subject.at(x).back();
    };
    const Property property = random_property(random_, subject.box, 2, values);
    const LinearSpec spec = to_spec(property);
    Graph graph = subject.values;
    graph.outputs = {graph.outputs.back()};
    PassOptions passes;
    passes.spec = &spec;
    normalise(graph, passes);
    PlannerConfig config = subject.plan->config;
    config.decide = true;
    config.splits = Splits::kNeurons;
    engine::EngineOptions options;
    options.property = &property;
    const engine::Engine engine(lower(plan_for_property(graph, config)), options);
    const Signature decide = {.purpose = Purpose::kDecide};
    const auto violates = [&](const std::vector<double>& x) {
      return test::violates(property, x, values({x.begin(), x.end()}));
    };
    for (const FloatBox& box : {subject.box, middle_of(subject.box)}) {
      const Judged judged =
          call_verdicts(engine.plan(), callee_of(engine), decide, {box}, {}, 300).boxes.front();
      ASSERT_EQ(judged.status, BF_OK);
      ++verdicts[judged.result.verdict];
      if (judged.result.verdict == BF_FALSIFIED) {
        EXPECT_TRUE(violates({judged.point.begin(), judged.point.end()}));
      } else if (judged.result.verdict != BF_BUDGET && judged.result.verdict != BF_UNKNOWN) {
        for (int k = 0; k < 20; ++k) EXPECT_FALSE(violates(inside(box)));
      }
    }
  });
  EXPECT_GT(verdicts[BF_VERIFIED], 20 * rounds());
  EXPECT_GT(verdicts[BF_FALSIFIED], 40 * rounds());
}

TEST_F(FunctionSplits, BoundsOfRowsHoldAtExactPointsOfTheNode) {
  int checked = 0;
  for_each_subject(200, [&](const Subject& subject, const Values& values) {
    const BoxNetwork& network = *subject.network;
    const std::vector<ClauseTerm> terms = random_terms(network);
    const SplitNode node = random_node(network, values, terms.size());
    NodeLanes lanes(network, terms);
    lanes.nodes.scales = random_scales(network);
    std::array<std::size_t, kLanes> neurons;
    std::array<float, kLanes> factors, times;
    for (std::size_t p = 0; p < kLanes; ++p) {
      neurons[p] = static_cast<std::size_t>(pick(random_, 0, static_cast<int>(network.open()) - 1));
      factors[p] = std::ldexp(pick(random_, 0, 1) == 1 ? 1.0F : -1.0F, pick(random_, -3, 3));
      times[p] = pick(random_, 0, 1) == 0 ? 0 : std::fabs(number());
      const auto [layer, place] = network.place_of(neurons[p]);
      lanes.nodes.load_row(
          p, node, {static_cast<std::size_t>(layer), static_cast<std::size_t>(place), factors[p]});
      lanes.nodes.add_clause(p, node, times[p]);
    }
    const auto bounds = lanes.proof.proven_bounds();
    for (std::size_t p = 0; p < kLanes; ++p) {
      if (!std::isfinite(bounds[p])) continue;
      ++checked;
      mpq_class sum = oracle_error(values) - exact(bounds[p]) +
                      exact(static_cast<double>(factors[p])) * z_of(network, values, neurons[p]);
      for (std::size_t t = 0; t < terms.size(); ++t)
        sum += exact(static_cast<double>(times[p] * node.weights[t])) * height_of(terms[t], values);
      EXPECT_TRUE(sum >= 0) << "the bound does not hold at a point: " << sum.get_d();
    }
  });
  EXPECT_GT(checked, 1000 * rounds());
}

// Thresholds are such that a point of the node is a violation.
TEST_F(FunctionSplits, RangesHoldAtViolations) {
  int tightened = 0;
  for_each_subject(300, [&](const Subject& subject, const Values& values) {
    const BoxNetwork& network = *subject.network;
    std::vector<ClauseTerm> terms = random_terms(network);
    for (ClauseTerm& term : terms)
      term.threshold = values.back()[static_cast<std::size_t>(term.row)].get_d() +
                       static_cast<double>(term.sign) * std::ldexp(1, pick(random_, -20, 0));
    // The step to a violation may be lost beside a number of many digits.
    for (const ClauseTerm& term : terms)
      if (height_of(term, values) >= 0) return;
    SplitNode node = random_node(network, values, terms.size());
    NodeLanes lanes(network, terms);
    lanes.nodes.scales = random_scales(network);
    NodeLanes* const own = &lanes;
    const bool some = decide::tighten_ranges(network, {&own, 1}, node,
                                             {static_cast<std::size_t>(pick(random_, 1, 12)),
                                              pick(random_, 0, 3), pick(random_, 0, 1) == 1});
    EXPECT_TRUE(some) << "a node with a violation is said to have none";
    const mpq_class error = oracle_error(values);
    for (const NeuronRange& range : node.ranges) {
      ++tightened;
      const mpq_class& z = z_of(network, values, range.open);
      EXPECT_TRUE(std::isinf(range.lower) || exact(static_cast<double>(range.lower)) <= z + error);
      EXPECT_TRUE(std::isinf(range.upper) || exact(static_cast<double>(range.upper)) >= z - error);
    }
    for (const NeuronSplit& split : node.splits) {
      ++tightened;
      const mpq_class& z = z_of(network, values, split.open);
      EXPECT_TRUE(split.positive ? z + error >= exact(split.point)
                                 : z - error <= exact(split.point));
    }
  });
  EXPECT_GT(tightened, 500 * rounds());
}

}  // namespace
}  // namespace bf_aot::soundness
