// Proofs of nodes by the runtime, as generated verifiers make them, against exact arithmetic:
// random networks, boxes, splits and choices. BF_SEED=n repeats a run, BF_ROUNDS=n takes n times as
// many.

#include <fmt/format.h>
#include <gmpxx.h>
#include <gtest/gtest.h>

#include <cfloat>
#include <cmath>
#include <limits>
#include <memory>

#include "frontend/diagnostic.h"
#include "frontend/graph/conv_loops.h"
#include "tests/soundness/emitted_node.h"
#include "tests/soundness/engine_call.h"
#include "tests/soundness/split_nets.h"

namespace bf_aot::soundness {
namespace {

using bf::SplitPhase;

using Subject = EmittedNode;

// Null where neurons cannot be split, or none is open.
std::unique_ptr<Subject> make_subject(const Net& net, const FloatBox& box, Form form,
                                      PlannerConfig config) {
  Graph graph = to_graph(net, form);
  graph.outputs.push_back(graph.outputs.front());  // the rows that conditions speak of
  config.decide = true;
  config.splits = Splits::kNeurons;
  std::shared_ptr<const Plan> plan;
  try {
    plan = plan_for_engine(graph, true, config);
  } catch (const CompileError&) {
    return nullptr;
  }
  auto made = std::make_unique<Subject>(plan, box);
  return made->is_ready && made->search.open_count > 0 ? std::move(made) : nullptr;
}

// visit(part, weight, k) for what row j of a layer is the sum of.
template <class Visit>
void for_each_product_of_row(const Layer& layer, int j, const Visit& visit) {
  if (layer.kind == LayerKind::kDense)
    for (int k = 0; k < layer.in; ++k) visit(0, layer.weight_at(j, k), static_cast<std::size_t>(k));
  for (std::size_t part = 0; part < layer.terms.size(); ++part) {
    const Term& term = layer.terms[part];
    const auto row = static_cast<std::size_t>(j);
    if (const auto* const sparse = std::get_if<SparseMap>(&term.map)) {
      for (std::int32_t i = sparse->row_start[row]; i < sparse->row_start[row + 1]; ++i)
        visit(part, term.weight[static_cast<std::size_t>(i)],
              static_cast<std::size_t>(sparse->column[static_cast<std::size_t>(i)]));
    } else if (const auto* const gather = std::get_if<GatherMap>(&term.map)) {
      const std::int32_t k = gather->source.empty() ? j : gather->source[row];
      if (k >= 0) visit(part, 1.0F, static_cast<std::size_t>(k));
    } else {
      for_each_product(std::get<ConvMap>(term.map).geometry, [&](std::int64_t o, std::int64_t w,
                                                                 std::int64_t i) {
        if (o == j)
          visit(part, term.weight[static_cast<std::size_t>(w)], static_cast<std::size_t>(i));
      });
    }
  }
}

// The bound of the node by its choices, without rounding.
mpq_class exact_bound(Subject& subject) {
  const bf::SplitBounds& b = subject.bounds();
  const Plan& plan = subject.plan();
  std::vector<mpq_class> over_a(static_cast<std::size_t>(b.network->neurons));
  std::vector<mpq_class> over_x(subject.box().lower.size());
  mpq_class bound = 0;
  for (std::uint32_t t = 0; t < b.term_count; ++t) {
    const mpq_class weight = exact(b.weights[t]) * exact(b.terms[t].sign);
    over_a[b.terms[t].neuron] += weight;
    bound -= weight * exact(b.terms[t].threshold);
  }
  for (std::size_t i = plan.decide.network.layers.size(); i-- > 0;) {
    const SplitLayerPlan& split = plan.decide.network.layers[i];
    const Layer& layer = plan.layer(split.layer);
    for (int j = 0; j < layer.out; ++j) {
      const auto n = static_cast<std::size_t>(split.first + j);
      const mpq_class a = over_a[n], choice = exact(b.choice[n]);
      mpq_class z = a;
      switch (b.phase[n]) {
        case SplitPhase::kLinear:
        case SplitPhase::kCurve:  // of functions, which these networks have none of
          break;
        case SplitPhase::kOff:
          z = 0;
          break;
        case SplitPhase::kPositive:
          z = a - choice * exact(b.scale[i]);
          break;
        case SplitPhase::kNegative:
          z = choice * exact(b.scale[i]);
          break;
        case SplitPhase::kOpen:
          if (a >= 0) {
            z = a * choice;
          } else {
            z = a * exact(b.high[n]) / (exact(b.high[n]) - exact(b.low[n]));
            bound -= z * exact(b.low[n]);
          }
      }
      if (!layer.bias.empty()) bound += z * exact(layer.bias[static_cast<std::size_t>(j)]);
      if (z == 0) continue;
      for_each_product_of_row(layer, j, [&](std::size_t part, float weight, std::size_t k) {
        const int source = split.sources[part];
        const int first =
            source < 0 ? 0 : plan.decide.network.layers[static_cast<std::size_t>(source)].first;
        (source < 0 ? over_x : over_a)[static_cast<std::size_t>(first) + k] += z * exact(weight);
      });
    }
  }
  for (std::size_t k = 0; k < over_x.size(); ++k)
    bound += over_x[k] * exact(over_x[k] >= 0 ? subject.box().lower[k] : subject.box().upper[k]);
  return bound;
}

class EmittedSplits : public SplitTest {
 protected:
  // calls visit(net, subject) for random ones.
  template <class Visit>
  void for_each_subject(int count, const Visit& visit) {
    for_each_case(count, [&](const SplitCase& one) {
      const PlannerConfig config =
          planner_config(one.number % 3 == 0 ? Method::kCrownIbp : Method::kCrown,
                         Lowering::kPrebuilt, one.target);
      const auto subject = make_subject(one.net, one.box, one.form, config);
      if (subject != nullptr) visit(one.net, *subject);
      return subject != nullptr;
    });
  }

  // Random choices, weights and scales; splits of about `share` of the open neurons.
  void choose(Subject& subject, int share) {
    bf::SplitBounds& b = subject.bounds();
    std::vector<bf::SplitTerm> terms;
    std::vector<float> weights;
    for (int t = pick(random_, 1, 2); t > 0; --t) {
      const int row = pick(random_, 0, subject.plan().spec_rows - 1);
      terms.push_back({subject.neuron_of_row(row), pick(random_, 0, 1) == 1 ? 1.0F : -1.0F, 0});
      weights.push_back(std::ldexp(static_cast<float>(pick(random_, 0, 1 << 10)), -10));
    }
    weights.front() += 0.125F;
    subject.set_terms(terms, weights);
    for (std::int32_t i = 0; i < b.network->count; ++i)
      b.scale[i] = std::ldexp(1.0F, pick(random_, -6, 6));
    for (std::uint32_t i = 0; i < subject.search.open_count; ++i) {
      const std::uint32_t n = subject.search.open[i];
      b.choice[n] = std::ldexp(static_cast<float>(pick(random_, 0, 1 << 20)), -20);
      if (pick(random_, 0, 99) >= share) continue;
      b.phase[n] = pick(random_, 0, 1) == 1 ? SplitPhase::kPositive : SplitPhase::kNegative;
      if (pick(random_, 0, 3) == 0) b.choice[n] = 0;
    }
  }
};

TEST_F(EmittedSplits, ProveNoMoreThanTheExactBoundOfTheSameChoicesAndHardlyLess) {
  int near = 0, all = 0;
  for_each_subject(150, [&](const Net&, Subject& subject) {
    choose(subject, pick(random_, 0, 1) * 50);
    const float last = subject.last_proven();
    if (!std::isfinite(last)) return;
    ++all;
    const bf::SplitBounds& b = subject.bounds();
    subject.bounds().terms[0].threshold = last;
    EXPECT_TRUE(exact_bound(subject) >= 0) << "proves more than is true";
    // One float in a million farther it is not true, but for thresholds that floats leave out.
    subject.bounds().terms[0].threshold =
        last + b.terms[0].sign * (std::fabs(last) * 1e-6F + FLT_MIN);
    near += exact_bound(subject) < 0 ? 1 : 0;
  });
  EXPECT_GT(all, 100 * rounds());
  EXPECT_GT(near, all / 3);
}

TEST_F(EmittedSplits, HoldAtExactPointsOfTheNode) {
  int checked = 0;
  for_each_subject(150, [&](const Net& net, Subject& subject) {
    const std::vector<SplitLayerPlan>& layers = subject.plan().decide.network.layers;
    if (layers.size() != net.layers.size() + 1) return;  // the last one copies outputs
    bf::SplitBounds& b = subject.bounds();
    std::vector<Numbers> points = {centre_of(subject.box())};
    for (int k = 0; k < 8; ++k) points.push_back(point_of(subject.box(), random_));
    std::vector<std::vector<mpq_class>> values;  // by point and neuron
    for (const Numbers& x : points) {
      std::vector<mpq_class>& all = values.emplace_back();
      for (const auto& layer : values_of(net, x)) all.insert(all.end(), layer.begin(), layer.end());
      const auto outputs = static_cast<std::ptrdiff_t>(net.outputs());
      std::vector<mpq_class> rows(all.end() - outputs, all.end());
      for (mpq_class& row : rows)
        if (net.layers.back().relu && row < 0) row = 0;
      all.insert(all.end(), rows.begin(), rows.end());
    }
    for (const auto& value : values)
      for (std::size_t n = 0; n < value.size(); ++n) {
        EXPECT_TRUE(b.low[n] == -INFINITY || exact(b.low[n]) <= value[n]);
        EXPECT_TRUE(b.high[n] == INFINITY || exact(b.high[n]) >= value[n]);
      }
    choose(subject, 50);
    // Splits that the first point satisfies.
    for (std::uint32_t i = 0; i < subject.search.open_count; ++i) {
      const std::uint32_t n = subject.search.open[i];
      if (b.phase[n] != SplitPhase::kOpen)
        b.phase[n] = values[0][n] >= 0 ? SplitPhase::kPositive : SplitPhase::kNegative;
    }
    const float last = subject.last_proven();
    if (!std::isfinite(last)) return;
    b.terms[0].threshold = last;
    for (const auto& value : values) {
      bool inside = true;
      for (std::uint32_t i = 0; i < subject.search.open_count; ++i) {
        const std::uint32_t n = subject.search.open[i];
        inside = inside && (b.phase[n] != SplitPhase::kPositive || value[n] >= 0) &&
                 (b.phase[n] != SplitPhase::kNegative || value[n] <= 0);
      }
      if (!inside) continue;
      ++checked;
      mpq_class sum = 0;
      for (std::uint32_t t = 0; t < b.term_count; ++t)
        sum += exact(b.weights[t]) * exact(b.terms[t].sign) *
               (value[b.terms[t].neuron] - exact(b.terms[t].threshold));
      EXPECT_TRUE(sum >= 0) << "the bound does not hold at a point";
    }
  });
  EXPECT_GT(checked, 150 * rounds());
}

// ---- what each part of the price is for

// A chain of layers of one input in [1, 2], whose first layer has an open neuron besides.
std::unique_ptr<Subject> subject_of(std::vector<NetLayer> layers) {
  Net net;
  net.layers = std::move(layers);
  auto made =
      make_subject(net, {{1}, {2}}, Form::kDense,
                   planner_config(Method::kCrown, Lowering::kPrebuilt, engine_targets().back()));
  if (made == nullptr) throw std::logic_error("no neuron is open");
  for (std::int32_t i = 0; i < made->bounds().network->count; ++i) made->bounds().scale[i] = 1;
  return made;
}

TEST_F(EmittedSplits, CoefficientsThatCancelProveNothingButThat) {
  for (int n = 0; n < 100; ++n) {
    const auto subject = subject_of(layers_that_cancel(random_));
    for (const float sign : {1.0F, -1.0F}) {
      subject->set_terms({{subject->neuron_of_row(0), sign, 0}}, {1});
      EXPECT_FALSE(subject->is_proven(sign * 0x1p-100F));
      EXPECT_TRUE(subject->is_proven(-sign * 0x1p-30F));
    }
  }
}

// 1 + 2^-60 - 1: the sum in double is 0, and the row is below 0 somewhere.
TEST_F(EmittedSplits, WeightsThatCancelInRoundingProveNothing) {
  // A second row makes room for a third term.
  const auto subject = subject_of({with_bias(dense_layer(1, 2, {1, 1}, true), {0, -1.5}),
                                   with_bias(dense_layer(2, 2, {1, 0, 1, 1}), {-1.5, 0})});
  const std::uint32_t row = subject->neuron_of_row(0);
  subject->set_terms({{row, 1, 0}, {row, 1, 0}, {row, -1, 0}}, {1, 0x1p-60F, 1});
  EXPECT_FALSE(subject->is_proven(-0x1p-140F));
}

TEST_F(EmittedSplits, BiasesThatAreNotKnownExactlyAreCounted) {
  const auto subject = subject_of(layers_of_inexact_bias());
  subject->set_terms({{subject->neuron_of_row(0), 1, 0}}, {1});
  EXPECT_FALSE(subject->is_proven(1 - 0x1p-21F));
  EXPECT_TRUE(subject->is_proven(1 - 0x1p-19F));
}

TEST_F(EmittedSplits, ProductsBelowTheRangeOfDoubleAreCounted) {
  const auto subject = subject_of(layers_below_the_range());
  subject->set_terms({{subject->neuron_of_row(0), -1, 0}}, {1});
  // Neurons on the side where they are, so that no line stands for them.
  for (std::uint32_t i = 0; i < subject->search.open_count; ++i) {
    subject->bounds().phase[subject->search.open[i]] = SplitPhase::kPositive;
    subject->bounds().choice[subject->search.open[i]] = 0;
  }
  EXPECT_FALSE(subject->is_proven(0));
}

TEST_F(EmittedSplits, NothingIsProvenWithoutATerm) {
  for_each_subject(5, [&](const Net&, Subject& subject) {
    choose(subject, 0);
    subject.set_terms({{subject.neuron_of_row(0), 1, -1e30F}}, {0});
    EXPECT_FALSE(subject.is_proven(-1e30F));
  });
}

}  // namespace
}  // namespace bf_aot::soundness
