// Bounds of nodes of neuron splits against exact arithmetic: random networks, boxes, splits and
// choices. BF_SEED=n repeats a run, BF_ROUNDS=n takes n times as many.

#include <fmt/format.h>
#include <gmpxx.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string_view>

#include "aot/decide/neurons/clauses/propagation.h"
#include "aot/decide/neurons/clip.h"
#include "aot/decide/neurons/splitter.h"
#include "aot/engine/verifier/engine_verifier.h"
#include "planner/network/error_terms.h"
#include "planner/planner.h"
#include "tests/soundness/engine_call.h"
#include "tests/soundness/split_nets.h"
#include "tests/soundness/split_proofs.h"

namespace bf_aot::soundness {
namespace {

using decide::BoxNetwork;
using decide::ClauseTerm;
using decide::kLanes;
using decide::NeuronSplit;
using decide::NodeLanes;
using decide::SplitNode;
using Layers = std::vector<BoxNetwork::BoxLayer>;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// A network and a box whose neurons can be split, or nothing where none is open.
struct Subject {
  std::shared_ptr<const Plan> plan;
  FloatBox box;
  std::unique_ptr<const BoxNetwork> network;
  std::vector<engine::Ranges> ranges;
};

std::optional<Subject> make_subject(const Net& net, const FloatBox& box, Form form,
                                    const PlannerConfig& config) {
  Graph graph = to_graph(net, form);
  graph.outputs.push_back(graph.outputs.front());  // the rows that conditions speak of
  Subject made;
  made.plan = plan_for_engine(graph, true, config);
  made.box = box;
  made.network = network_on(made.plan, box);
  if (made.network == nullptr) return std::nullopt;
  made.ranges =
      engine::EngineVerifier(lower(made.plan), false).spec_ranges({box.lower, box.upper}).ranges;
  return made;
}

// over_x x + constant, which a pass ends in.
struct ExactPlane {
  std::vector<mpq_class> over_x;
  mpq_class constant = 0;
};

// The plane below a node's sum by its choices, without rounding: docs/proofs/neuron-splits.md.
ExactPlane exact_plane(const Plan& plan, const BoxNetwork& network, const SplitNode& node,
                       const std::vector<ClauseTerm>& terms, const std::vector<float>& scales) {
  const Layers& layers = network.layers();
  std::vector<std::vector<mpq_class>> over_a;
  for (const Layer& layer : plan.layers) over_a.emplace_back(static_cast<std::size_t>(layer.out));
  std::vector<mpq_class> over_x(network.inputs());
  mpq_class bound = 0;
  for (std::size_t t = 0; t < terms.size(); ++t) {
    const auto [at, place] = network.rows()[static_cast<std::size_t>(terms[t].row)];
    const auto layer = static_cast<std::size_t>(at);
    const mpq_class weight = exact(node.weights[t]) * exact(terms[t].sign);
    over_a[layer]
          [static_cast<std::size_t>(layers[layer].neurons[static_cast<std::size_t>(place)])] +=
        weight;
    bound -= weight * exact(terms[t].threshold);
  }
  for (std::size_t i = layers.size(); i-- > 0;) {
    const auto& split = layers[i];
    const Layer& layer = plan.layers[i];
    std::size_t open = split.first_open;
    for (std::size_t j = 0; j < split.size(); ++j) {
      const auto neuron = static_cast<std::size_t>(split.neurons[j]);
      const mpq_class a = over_a[i][neuron];
      mpq_class z = a;
      if (split.phase[j] == BoxNetwork::Phase::kOpen) {
        const std::size_t own = open++;
        const NeuronSplit* made = nullptr;
        for (const NeuronSplit& each : node.splits)
          if (each.open == own) made = &each;
        const mpq_class lower = exact(split.lower[j]), upper = exact(split.upper[j]);
        if (made != nullptr) {
          const mpq_class multiplier = exact(made->multiplier) * exact(scales[i]);
          z = made->positive ? mpq_class(a - multiplier) : multiplier;
        } else if (a >= 0) {
          // As a lane has it, in float.
          z = a * exact(std::min(1.0F, static_cast<float>(node.slopes[own]) * (1.0F / 255)));
        } else {
          z = a * upper / (upper - lower);
          bound += -z * lower;
        }
      }
      bound += z * (layer.bias.empty() ? mpq_class(0) : exact(layer.bias[neuron]));
      if (z == 0) continue;
      const auto add = [&](LayerId source, std::int64_t k, float weight) {
        (source.is_layer() ? over_a[static_cast<std::size_t>(source.number())]
                           : over_x)[static_cast<std::size_t>(k)] += z * exact(weight);
      };
      if (layer.kind == LayerKind::kDense) {
        for (int k = 0; k < layer.in; ++k)
          add(layer.input, k, layer.weight_at(static_cast<int>(neuron), k));
      } else {
        for (const Term& term : layer.terms) {
          if (const auto* const sparse = std::get_if<SparseMap>(&term.map)) {
            for (std::int32_t k = sparse->row_start[neuron]; k < sparse->row_start[neuron + 1]; ++k)
              add(term.input, sparse->column[static_cast<std::size_t>(k)],
                  term.weight[static_cast<std::size_t>(k)]);
          } else if (const auto* const gather = std::get_if<GatherMap>(&term.map)) {
            const auto k =
                gather->source.empty() ? static_cast<std::int64_t>(neuron) : gather->source[neuron];
            if (k >= 0) add(term.input, k, 1);
          } else {  // of one pixel: a matrix
            for (int k = 0; k < term.in; ++k)
              add(term.input, k,
                  term.weight[neuron * static_cast<std::size_t>(term.in) +
                              static_cast<std::size_t>(k)]);
          }
        }
      }
    }
  }
  return {std::move(over_x), bound};
}

// The bound of a node by its choices on the box, without rounding.
mpq_class exact_bound(const Plan& plan, const BoxNetwork& network, const SplitNode& node,
                      const std::vector<ClauseTerm>& terms, const std::vector<float>& scales) {
  const auto [over_x, constant] = exact_plane(plan, network, node, terms, scales);
  mpq_class bound = constant;
  for (std::size_t k = 0; k < over_x.size(); ++k)
    bound += over_x[k] * exact(over_x[k] >= 0 ? network.lower()[k] : network.upper()[k]);
  return bound;
}

class NeuronSplits : public SplitTest {
 protected:
  // calls visit(net, subject) for random ones.
  template <class Visit>
  void for_each_subject(int count, const Visit& visit, Norm norm = Norm::kLargest) {
    for_each_case(count, [&](const SplitCase& one) {
      PlannerConfig config =
          planner_config(one.number % 3 == 0 ? Method::kAlphaCrown : Method::kCrown,
                         Lowering::kPrebuilt, one.target);
      config.iterations = 2;
      config.norm = norm;
      const auto subject = make_subject(one.net, one.box, one.form, config);
      if (subject) visit(one.net, *subject);
      return subject.has_value();
    });
  }

  // Splits of about `share` of the open neurons, by signs or at random.
  SplitNode random_node(const BoxNetwork& network, std::size_t terms, int share) {
    SplitNode node;
    for (std::size_t i = 0; i < network.open(); ++i) {
      node.slopes.push_back(static_cast<std::uint8_t>(pick(random_, 0, 255)));
      if (pick(random_, 0, 99) >= share) continue;
      NeuronSplit split;
      split.open = static_cast<std::uint32_t>(i);
      split.positive = pick(random_, 0, 1) == 1;
      split.multiplier = pick(random_, 0, 3) == 0
                             ? 0
                             : std::ldexp(static_cast<float>(pick(random_, 1, 1 << 20)), -20);
      node.splits.push_back(split);
    }
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
      scales.push_back(std::ldexp(1.0F, pick(random_, -6, 6)));
    return scales;
  }
};

TEST_F(NeuronSplits, ProvesNoMoreThanTheExactBoundOfTheSameChoicesAndHardlyLess) {
  int near = 0, all = 0;
  for_each_subject(150, [&](const Net&, const Subject& subject) {
    const BoxNetwork& network = *subject.network;
    std::vector<ClauseTerm> terms = random_terms(network);
    const SplitNode node = random_node(network, terms.size(), pick(random_, 0, 1) * 50);
    const std::vector<float> scales = random_scales(network);
    // The bound falls by weight times sign for each unit of the first threshold.
    const mpq_class at_zero = exact_bound(*subject.plan, network, node, terms, scales);
    const mpq_class limit = at_zero / (exact(node.weights.front()) * exact(terms.front().sign));
    const auto last = last_proven(network, terms, scales, node, limit.get_d());
    if (!last) return;
    ++all;
    const mpq_class missed = (limit - exact(*last)) * exact(terms.front().sign);
    EXPECT_TRUE(missed >= 0) << "proves more than is true";
    near += abs(missed) <= abs(limit) * exact(1e-6) ? 1 : 0;
  });
  EXPECT_GT(all, 100 * rounds());
  EXPECT_GT(near, all / 3);
}

// In the ball of the box the pass ends in A c - |A r|*, of which the largest product is exact, and
// the root is compared by its square: docs/proofs/balls.md.
TEST_F(NeuronSplits, ProvesNoMoreInBallsThanTheExactBoundOfTheSameChoicesAndHardlyLess) {
  for (const Norm norm : {Norm::kEuclid, Norm::kSum}) {
    int near = 0, all = 0;
    for_each_subject(
        100,
        [&](const Net&, const Subject& subject) {
          const BoxNetwork& network = *subject.network;
          std::vector<ClauseTerm> terms = random_terms(network);
          const SplitNode node = random_node(network, terms.size(), pick(random_, 0, 1) * 50);
          const std::vector<float> scales = random_scales(network);
          const auto [over_x, constant] = exact_plane(*subject.plan, network, node, terms, scales);
          mpq_class at_centre = constant, squares = 0, largest = 0;
          for (std::size_t k = 0; k < over_x.size(); ++k) {
            const mpq_class low = exact(network.lower()[k]), high = exact(network.upper()[k]);
            const mpq_class part = abs(over_x[k] * (high - low) / 2);
            at_centre += over_x[k] * (low + high) / 2;
            squares += part * part;
            largest = std::max(largest, part);
          }
          if (norm == Norm::kSum) squares = largest * largest;
          const mpq_class slope = exact(node.weights.front()) * exact(terms.front().sign);
          const double dual = std::sqrt(squares.get_d());
          const auto last =
              last_proven(network, terms, scales, node, (at_centre.get_d() - dual) / slope.get_d());
          if (!last) return;
          ++all;
          const mpq_class left = at_centre - slope * exact(*last);  // is at least the dual norm
          EXPECT_TRUE(left >= 0 && left * left >= squares) << "proves more than is true";
          const double size = std::fabs(at_centre.get_d()) + dual;
          near += left.get_d() - dual <= 1e-6 * size ? 1 : 0;
        },
        norm);
    EXPECT_GT(all, 50 * rounds());
    EXPECT_GT(near, all / 3);
  }
}

// What is said to be a bound is one where prove() says so, and nowhere else.
TEST_F(NeuronSplits, ProvenBoundsAreAtLeastZeroWhereThatIsProven) {
  int checked = 0;
  for_each_subject(200, [&](const Net&, const Subject& subject) {
    const BoxNetwork& network = *subject.network;
    std::vector<ClauseTerm> terms = random_terms(network);
    const SplitNode node = random_node(network, terms.size(), 50);
    const std::vector<float> scales = random_scales(network);
    const auto last = last_proven(network, terms, scales, node, 0);
    if (!last) return;
    const double towards = terms.front().sign > 0 ? kInfinity : -kInfinity;
    const auto bound_at = [&](double threshold) {
      terms.front().threshold = threshold;
      NodeLanes lanes(network, terms);
      lanes.nodes.scales = scales;
      for (std::size_t p = 0; p < kLanes; ++p) lanes.nodes.load(p, node);
      return lanes.proof.proven_bounds().front();
    };
    const double next = std::nextafter(*last, towards);
    if (is_proven(network, terms, scales, node, next)) return;  // all thresholds are
    ++checked;
    EXPECT_LT(bound_at(next), 0);
    EXPECT_GE(bound_at(*last), -0x1p-1074) << "0, one double lower";
  });
  EXPECT_GT(checked, 30 * rounds());
}

TEST_F(NeuronSplits, HoldsAtExactPointsOfTheNode) {
  int checked = 0;
  for_each_subject(150, [&](const Net& net, const Subject& subject) {
    const BoxNetwork& network = *subject.network;
    if (subject.plan->layers.size() < net.layers.size()) return;
    std::vector<Numbers> points = {centre_of(subject.box)};
    for (int k = 0; k < 8; ++k) points.push_back(point_of(subject.box, random_));
    std::vector<std::vector<std::vector<mpq_class>>> values;
    for (const Numbers& x : points) values.push_back(values_of(net, x));
    // Hidden layers of the plan are the net's, in order.
    const auto value = [&](std::size_t point, std::size_t layer, int neuron) -> const mpq_class& {
      return values[point][layer][static_cast<std::size_t>(neuron)];
    };
    for (std::size_t i = 0; i + 1 < net.layers.size(); ++i) {
      const auto& known = subject.ranges[i];
      for (std::size_t j = 0; j < known.lower.size(); ++j)
        for (std::size_t p = 0; p < points.size(); ++p) {
          const mpq_class& z = value(p, i, static_cast<int>(j));
          EXPECT_TRUE(known.lower[j] == -kInfinity || exact(known.lower[j]) <= z);
          EXPECT_TRUE(known.upper[j] == kInfinity || exact(known.upper[j]) >= z);
        }
    }
    // Splits that the first point satisfies.
    std::vector<ClauseTerm> terms = random_terms(network);
    SplitNode node = random_node(network, terms.size(), 50);
    for (NeuronSplit& split : node.splits) {
      const auto [layer, place] = network.place_of(split.open);
      const auto at = static_cast<std::size_t>(layer);
      split.positive =
          value(0, at, network.layers()[at].neurons[static_cast<std::size_t>(place)]) >= 0;
    }
    const std::vector<float> scales = random_scales(network);
    const auto last = last_proven(network, terms, scales, node, 0);
    if (!last) return;
    for (std::size_t p = 0; p < points.size(); ++p) {
      bool inside = true;
      for (const NeuronSplit& split : node.splits) {
        const auto [layer, place] = network.place_of(split.open);
        const auto at = static_cast<std::size_t>(layer);
        const mpq_class& z =
            value(p, at, network.layers()[at].neurons[static_cast<std::size_t>(place)]);
        inside = inside && (split.positive ? z >= 0 : z <= 0);
      }
      if (!inside) continue;
      ++checked;
      mpq_class sum = 0;
      for (std::size_t t = 0; t < terms.size(); ++t) {
        const double threshold = t == 0 ? *last : terms[t].threshold;
        mpq_class row = values[p].back()[static_cast<std::size_t>(terms[t].row)];
        if (net.layers.back().relu && row < 0) row = 0;
        sum += exact(node.weights[t]) * exact(terms[t].sign) * (row - exact(threshold));
      }
      EXPECT_TRUE(sum >= 0) << "the bound does not hold at a point";
    }
  });
  EXPECT_GT(checked, 150 * rounds());
}

// The constants of planes pay what coefficients lose as floats, and least values what sums lose.
TEST_F(NeuronSplits, PlanesAreBelowTheExactBoundOfTheSameChoices) {
  int near = 0, all = 0;
  for_each_subject(150, [&](const Net&, const Subject& subject) {
    const BoxNetwork& network = *subject.network;
    const std::vector<ClauseTerm> terms = random_terms(network);
    const SplitNode node = random_node(network, terms.size(), 50);
    NodeLanes lanes(network, terms);
    lanes.nodes.scales = random_scales(network);
    for (std::size_t p = 0; p < kLanes; ++p) lanes.nodes.load(p, node);
    const double constant = lanes.proof.plane_constants().front();
    const auto plane = decide::proven_plane(network, lanes.proof, 0, constant);
    const decide::ProvenPlane nothing = {std::vector<float>(network.inputs()), -1};
    const double least = decide::least_where(network, plane, nothing);
    if (!std::isfinite(least)) return;
    const mpq_class bound = exact_bound(*subject.plan, network, node, terms, lanes.nodes.scales);
    ++all;
    EXPECT_TRUE(exact(least) <= bound);
    near += abs(exact(least) - bound) <= abs(bound) * exact(1e-5) ? 1 : 0;
    mpq_class exact_least = exact(plane.constant);
    for (std::size_t k = 0; k < network.inputs(); ++k)
      exact_least += exact(plane.coefficients[k]) *
                     exact(plane.coefficients[k] > 0 ? network.lower()[k] : network.upper()[k]);
    EXPECT_TRUE(exact(least) <= exact_least);
  });
  EXPECT_GT(all, 100 * rounds());
  EXPECT_GT(near, all / 3);
}

// Thresholds that the rows' values at a point violate by a little or by much.
void violate(std::vector<ClauseTerm>& terms, const std::vector<mpq_class>& rows, bool relu,
             int bits) {
  for (ClauseTerm& term : terms) {
    mpq_class row = rows[static_cast<std::size_t>(term.row)];
    if (relu && row < 0) row = 0;
    const double towards = term.sign > 0 ? kInfinity : -kInfinity;
    term.threshold = row.get_d() + static_cast<double>(term.sign) * std::ldexp(1.0, -bits);
    while (exact(term.sign) * (row - exact(term.threshold)) >= 0)
      term.threshold = std::nextafter(term.threshold, towards);
  }
}

TEST_F(NeuronSplits, ClippedRangesHoldWhereTheClauseIsViolated) {
  int narrower = 0;
  for_each_subject(150, [&](const Net& net, const Subject& subject) {
    const BoxNetwork& network = *subject.network;
    if (subject.plan->layers.size() < net.layers.size()) return;
    if (!decide::NeuronPlanes::covers(network)) return;
    const auto values = values_of(net, point_of(subject.box, random_));
    const auto z_of = [&](std::uint32_t open) -> const mpq_class& {
      const auto [layer, place] = network.place_of(open);
      const auto at = static_cast<std::size_t>(layer);
      return values[at][static_cast<std::size_t>(
          network.layers()[at].neurons[static_cast<std::size_t>(place)])];
    };
    std::vector<ClauseTerm> terms = random_terms(network);
    violate(terms, values.back(), net.layers.back().relu, pick(random_, -2, 30));
    SplitNode node = random_node(network, terms.size(), 50);
    for (NeuronSplit& split : node.splits) split.positive = z_of(split.open) >= 0;
    NodeLanes lanes(network, terms);
    lanes.nodes.scales = random_scales(network);
    for (std::size_t p = 0; p < kLanes; ++p) lanes.nodes.load(p, node);
    const auto constants = lanes.proof.plane_constants();
    const auto clause = decide::proven_plane(network, lanes.proof, 0, constants[0]);
    const SplitNode root = random_node(network, terms.size(), 0);
    decide::NeuronPlanes planes(network);
    std::vector<std::uint32_t> free;
    for (std::uint32_t open = 0; open < network.open(); ++open) {
      const auto of = planes.of(open, lanes, root);
      const double low = decide::least_where(network, of[0], clause);
      const double high = -decide::least_where(network, of[1], clause);
      EXPECT_TRUE(!std::isfinite(low) || exact(low) <= z_of(open));
      EXPECT_TRUE(!std::isfinite(high) || exact(high) >= z_of(open));
      if (std::ranges::find(node.splits, open, &NeuronSplit::open) == node.splits.end())
        free.push_back(open);
    }
    ASSERT_TRUE(decide::clip_neurons(network, planes, lanes, root, clause, free, node));
    narrower += node.ranges.empty() ? 0 : 1;
    for (const decide::NeuronRange& range : node.ranges) {
      EXPECT_TRUE(!std::isfinite(range.lower) || exact(range.lower) <= z_of(range.open));
      EXPECT_TRUE(!std::isfinite(range.upper) || exact(range.upper) >= z_of(range.open));
    }
    for (const NeuronSplit& split : node.splits)
      EXPECT_TRUE(split.positive ? z_of(split.open) >= 0 : z_of(split.open) <= 0);
  });
  EXPECT_GT(narrower, 30 * rounds());
}

TEST_F(NeuronSplits, NothingIsProvenWithoutATerm) {
  for_each_subject(5, [&](const Net&, const Subject& subject) {
    const std::vector<ClauseTerm> terms = {{0, 1, -1e30}};
    SplitNode node = random_node(*subject.network, 1, 0);
    node.weights = {0};
    NodeLanes lanes(*subject.network, terms);
    for (std::size_t p = 0; p < kLanes; ++p) lanes.nodes.load(p, node);
    for (const bool each : lanes.proof.prove()) EXPECT_FALSE(each);
  });
}

// A network that is a chain of these layers, of one input in [1, 2], whose first layer has an open
// neuron besides.
std::optional<Subject> subject_of(std::vector<NetLayer> layers) {
  Net net;
  net.layers = std::move(layers);
  return make_subject(net, {{1}, {2}}, Form::kDense,
                      planner_config(Method::kCrown, Lowering::kPrebuilt, engine_targets().back()));
}

std::vector<float> ones(const BoxNetwork& network) {
  return std::vector<float>(network.layers().size(), 1.0F);
}

TEST_F(NeuronSplits, CoefficientsThatCancelProveNothingButThat) {
  for (int n = 0; n < 100; ++n) {
    const auto subject = subject_of(layers_that_cancel(random_));
    ASSERT_TRUE(subject);
    const BoxNetwork& network = *subject->network;
    SplitNode node = random_node(network, 1, 0);
    node.weights = {1};
    for (const float sign : {1.0F, -1.0F}) {
      std::vector<ClauseTerm> terms = {{0, sign, 0}};
      EXPECT_FALSE(
          is_proven(network, terms, ones(network), node, static_cast<double>(sign) * 0x1p-100));
      EXPECT_TRUE(
          is_proven(network, terms, ones(network), node, -static_cast<double>(sign) * 0x1p-30));
    }
  }
}

// 1 + 2^-60 - 1: the sum in double is 0, and the row is below 0 somewhere.
TEST_F(NeuronSplits, WeightsThatCancelInRoundingProveNothing) {
  const auto subject = subject_of({with_bias(dense_layer(1, 2, {1, 1}, true), {0, -1.5}),
                                   with_bias(dense_layer(2, 1, {1, 0}), {-1.5})});
  ASSERT_TRUE(subject);
  const BoxNetwork& network = *subject->network;
  std::vector<ClauseTerm> terms = {{0, 1, 0}, {0, 1, 0}, {0, -1, 0}};
  SplitNode node = random_node(network, 3, 0);
  node.weights = {1, 0x1p-60F, 1};
  // F is 2^-60 row + 2^-200, below 0 at 1; the sum in double leaves 2^-200, which no other loss
  // covers.
  EXPECT_FALSE(is_proven(network, terms, ones(network), node, -0x1p-200));
}

TEST_F(NeuronSplits, BiasesThatAreNotKnownExactlyAreCounted) {
  const auto subject = subject_of(layers_of_inexact_bias());
  ASSERT_TRUE(subject);
  const BoxNetwork& network = *subject->network;
  std::vector<ClauseTerm> terms = {{0, 1, 0}};
  SplitNode node = random_node(network, 1, 0);
  node.weights = {1};
  EXPECT_FALSE(is_proven(network, terms, ones(network), node, 1 - 0x1p-21));
  EXPECT_TRUE(is_proven(network, terms, ones(network), node, 1 - 0x1p-19));
}

TEST_F(NeuronSplits, ProductsBelowTheRangeOfDoubleAreCounted) {
  const auto subject = subject_of(layers_below_the_range());
  ASSERT_TRUE(subject);
  const BoxNetwork& network = *subject->network;
  std::vector<ClauseTerm> terms = {{0, -1, 0}};
  SplitNode node = random_node(network, 1, 0);
  node.weights = {1};
  // Neurons on the side where they are, so that no line stands for them.
  for (std::size_t open = 0; open < network.open(); ++open)
    node.splits.push_back({static_cast<std::uint32_t>(open), true, 0});
  EXPECT_FALSE(is_proven(network, terms, ones(network), node, 0));
}

// ---- every error term is needed

// A clause of a chain of layers on [1, 2], and choices that prove too much of it without an error
// term.
struct Claim {
  std::vector<NetLayer> layers;
  std::vector<ClauseTerm> terms;
  std::vector<float> weights;
  bool positive = false;  // open neurons are split, and positive
};

struct Exposure {
  const char* term;
  Claim (*make)(Random& random);
};

Claim cancelling_coefficients(Random& random) {
  const float sign = pick(random, 0, 1) == 1 ? 1.0F : -1.0F;
  return {layers_that_cancel(random), {{0, sign, static_cast<double>(sign) * 0x1p-100}}, {1}};
}

// 1 + 2^-60 - 1 of the weights of one row.
Claim cancelling_row(Random&) {
  return {{with_bias(dense_layer(1, 2, {1, 1}, true), {0, -1.5}),
           with_bias(dense_layer(2, 1, {1, 0}), {-1.5})},
          {{0, 1, -0x1p-200}, {0, 1, 0}, {0, -1, 0}},
          {1, 0x1p-60F, 1}};
}

// -1 - 2^-60 + 1 of the thresholds, of rows below 2^-78.
Claim cancelling_sum(Random&) {
  return {{with_bias(dense_layer(1, 2, {1, 1}, true), {0, -1.5}),
           dense_layer(2, 3, {0x1p-80, 0, 0x1p-80, 0, 0x1p-81, 0})},
          {{0, 1, 1}, {1, 1, 0x1p-60}, {2, -1, 1}},
          {1, 1, 1}};
}

Claim inexact_weight(Random&) {
  NetLayer last = dense_layer(2, 1, {1, 0});
  last.weight_error = {0x1p-20, 0};
  last.weight_shift = {-0x1p-20, 0};
  return {
      {with_bias(dense_layer(1, 2, {1, 1}, true), {0, -1.5}), last}, {{0, 1, 1 - 0x1p-21}}, {1}};
}

Claim inexact_bias(Random&) {
  return {layers_of_inexact_bias(), {{0, 1, 1 - 0x1p-21}}, {1}};
}

Claim products_below_the_range(Random&) {
  return {layers_below_the_range(), {{0, -1, 0}}, {1}, true};
}

constexpr Exposure kExposures[] = {{"node-coefficient", cancelling_coefficients},
                                   {"node-row", cancelling_row},
                                   {"node-sum", cancelling_sum},
                                   {"node-weight-rounding", inexact_weight},
                                   {"node-bias-rounding", inexact_bias},
                                   {"node-underflow", products_below_the_range}};

// Whether the clause's sum is below 0 at an end of the box that is in the node.
bool is_violated(const Net& net, const Claim& claim) {
  for (const int x : {1, 2}) {
    if (claim.positive && x == 1) continue;
    const auto rows =
        values_of(net, exact_numbers(std::vector<double>{static_cast<double>(x)})).back();
    mpq_class sum = 0;
    for (std::size_t t = 0; t < claim.terms.size(); ++t) {
      const ClauseTerm& term = claim.terms[t];
      sum += exact(claim.weights[t]) * exact(term.sign) *
             (rows[static_cast<std::size_t>(term.row)] - exact(term.threshold));
    }
    if (sum < 0) return true;
  }
  return false;
}

// Whether the claim is proven without these terms, though it is wrong.
bool is_refuted(const Claim& claim, const std::vector<std::string>& dropped) {
  Net net;
  net.layers = claim.layers;
  PlannerConfig config =
      planner_config(Method::kCrown, Lowering::kPrebuilt, engine_targets().back());
  config.dropped_error_terms = dropped;
  const auto subject = make_subject(net, {{1}, {2}}, Form::kDense, config);
  if (!subject) throw std::logic_error("no neuron is open");
  const BoxNetwork& network = *subject->network;
  SplitNode node;
  node.weights = claim.weights;
  node.slopes.assign(network.open(), 0);
  for (std::size_t open = 0; claim.positive && open < network.open(); ++open)
    node.splits.push_back({static_cast<std::uint32_t>(open), true, 0});
  std::vector<ClauseTerm> terms = claim.terms;
  return is_proven(network, terms, ones(network), node, terms.front().threshold) &&
         is_violated(net, claim);
}

TEST_F(NeuronSplits, EveryErrorTermIsNeeded) {
  constexpr int kVariants = 20;
  for (const std::string_view name : node_error_term_names()) {
    int exposed = 0;
    for (const Exposure& exposure : kExposures) {
      if (exposure.term != name) continue;
      for (int variant = 0; variant < kVariants; ++variant) {
        const Claim claim = exposure.make(random_);
        EXPECT_FALSE(is_refuted(claim, {})) << name << ": wrong with all terms";
        exposed += is_refuted(claim, {std::string(name)}) ? 1 : 0;
      }
    }
    EXPECT_GT(exposed, 0) << "dropping '" << name << "' goes unnoticed";
  }
}

// Whether nothing is left of the claim's node when its conditions are propagated.
bool is_excluded(const Claim& claim) {
  const auto subject = subject_of(claim.layers);
  if (!subject) throw std::logic_error("no neuron is open");
  SplitNode node;
  node.weights = claim.weights;
  for (std::size_t open = 0; claim.positive && open < subject->network->open(); ++open)
    node.splits.push_back({static_cast<std::uint32_t>(open), true, 0});
  decide::Propagation propagation(*subject->network, claim.terms);
  return !propagation.begin(node);
}

TEST_F(NeuronSplits, WhatIsPropagatedCountsEveryError) {
  for (const Exposure& exposure : kExposures)
    for (int variant = 0; variant < 20; ++variant) {
      const Claim claim = exposure.make(random_);
      Net net;
      net.layers = claim.layers;
      ASSERT_TRUE(is_violated(net, claim));
      if (claim.terms.size() > 1) continue;  // the sum is violated, not all of its terms
      EXPECT_FALSE(is_excluded(claim)) << exposure.term;
    }
  for (Claim claim : {inexact_weight(random_), inexact_bias(random_)}) {
    claim.terms.front().threshold = 1 - 0x1p-18;
    EXPECT_TRUE(is_excluded(claim));
  }
}

}  // namespace
}  // namespace bf_aot::soundness
