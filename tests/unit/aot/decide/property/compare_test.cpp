// Two random networks compared: intervals hold the differences of points, what is attained is
// attained, and answers are those of a grid, all in exact arithmetic. BF_SEED=n tries others.

#include "aot/decide/compare.h"

#include <gtest/gtest.h>

#include <optional>
#include <random>
#include <vector>

#include "aot/input/exact_box.h"
#include "frontend/evaluate/evaluate_exact.h"
#include "frontend/passes/difference/difference_network.h"
#include "tests/seed.h"
#include "tests/unit/aot/decide/property/engine_request.h"
#include "tests/unit/frontend/graph/graph_builder.h"

namespace bf_aot::decide {
namespace {

using bf_aot::testing::affine;
using bf_aot::testing::Builder;

constexpr int kComparedInputs = 2, kComparedHidden = 4, kComparedOutputs = 2;

using ComparedWeights = std::vector<std::vector<double>>;

ComparedWeights random_weights(std::mt19937& random) {
  ComparedWeights made;
  for (const int count :
       {kComparedHidden * kComparedInputs, kComparedHidden, kComparedHidden * kComparedHidden,
        kComparedHidden, kComparedOutputs * kComparedHidden, kComparedOutputs}) {
    made.emplace_back();
    for (int i = 0; i < count; ++i)
      made.back().push_back((static_cast<double>(random() % 17) - 8) / 4);
  }
  return made;
}

ComparedWeights near_to(std::mt19937& random, ComparedWeights weights) {
  for (std::vector<double>& tensor : weights)
    for (double& x : tensor)
      if (random() % 3 == 0) x += (static_cast<double>(random() % 5) - 2) / 64;
  return weights;
}

enum class Form { kPlain, kReluBehind, kMaxima, kSigmoid, kTanh };

// kReluBehind is of another structure than the others.
Graph compared_network(const ComparedWeights& w, Form form) {
  Builder b({kComparedInputs});
  const auto activated = [&](ValueId z) {
    if (form == Form::kSigmoid)
      return b.add(Unary{{FunctionKind::kSigmoid}}, {z}, {kComparedHidden});
    if (form == Form::kTanh) return b.add(Unary{{FunctionKind::kTanh}}, {z}, {kComparedHidden});
    return b.relu(z);
  };
  ValueId h = activated(
      b.add(affine(kComparedHidden, kComparedInputs, w[0], w[1]), {b.x()}, {kComparedHidden}));
  h = activated(
      b.add(affine(kComparedHidden, kComparedHidden, w[2], w[3]), {h}, {kComparedHidden}));
  if (form == Form::kMaxima) {
    const ValueId m = b.add(GroupMax{{0, 2, 3, 4, 6}, {0, 1, 2, 3, 1, 2}}, {h}, {kComparedHidden});
    h = m;
  }
  const ValueId y =
      b.add(affine(kComparedOutputs, kComparedHidden, w[4], w[5]), {h}, {kComparedOutputs});
  return b.outputs({form == Form::kReluBehind ? b.relu(y) : y});
}

struct Compared {
  Graph first, second;
  Comparison comparison;
};

Compared random_comparison(unsigned seed, Form form, const CompareSettings& settings) {
  std::mt19937 random(seed);
  const ComparedWeights weights = random_weights(random);
  Compared made{compared_network(weights, form == Form::kReluBehind ? Form::kPlain : form),
                compared_network(near_to(random, weights), form),
                {}};
  const ModelInfo info;
  const input::ExactBox box = input::exact_box({{-1, -1}, {1, 1}});
  made.comparison =
      compare(pair_of(made.first, info, made.second, info), box, engine_request(), settings, {});
  return made;
}

std::vector<mpq_class> difference_at(const Compared& compared, const std::vector<mpq_class>& x) {
  const auto f = evaluate_exact(compared.first, {x})[0],
             g = evaluate_exact(compared.second, {x})[0];
  std::vector<mpq_class> made;
  for (std::size_t i = 0; i < f.size(); ++i) made.emplace_back(g[i] - f[i]);
  return made;
}

void expect_holds(const Compared& compared) {
  const Comparison& found = compared.comparison;
  ASSERT_EQ(found.outputs.size(), static_cast<std::size_t>(kComparedOutputs));
  for (int i = -8; i <= 8; ++i)
    for (int k = -8; k <= 8; ++k) {
      const std::vector<mpq_class> d = difference_at(compared, {mpq_class(i, 8), mpq_class(k, 8)});
      for (std::size_t o = 0; o < d.size(); ++o) {
        EXPECT_GE(d[o], mpq_class(found.outputs[o].lower));
        EXPECT_LE(d[o], mpq_class(found.outputs[o].upper));
        EXPECT_LE(abs(d[o]), mpq_class(found.proven));
      }
    }
  if (found.attained == 0) return;
  EXPECT_GE(abs(difference_at(compared, found.point)[found.output]), mpq_class(found.attained));
}

const unsigned compared_seed = static_cast<unsigned>(bf_aot::testing::seed_from_environment(1));

TEST(CompareRandom, IntervalsHoldPoints) {
  int near = 0;
  for (unsigned seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(compared_seed + seed);
    CompareSettings settings;
    settings.seconds = 2;
    const Compared compared =
        random_comparison(compared_seed + seed, static_cast<Form>(seed % 5), settings);
    expect_holds(compared);
    near += compared.comparison.proven <= 1.5 * compared.comparison.attained ? 1 : 0;
  }
  EXPECT_GT(near, 12);
}

TEST(CompareRandom, LimitsAreDecided) {
  int verified = 0, falsified = 0;
  for (unsigned seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(compared_seed + seed);
    CompareSettings settings;
    settings.seconds = 2;
    settings.within = mpq_class(1, 4);
    const Compared compared = random_comparison(compared_seed + seed, Form::kPlain, settings);
    expect_holds(compared);
    mpq_class most = 0;
    for (int i = -8; i <= 8; ++i)
      for (int k = -8; k <= 8; ++k)
        for (const mpq_class& d : difference_at(compared, {mpq_class(i, 8), mpq_class(k, 8)}))
          most = std::max<mpq_class>(most, abs(d));
    const Outcome& limit = *compared.comparison.limit;
    if (limit.answer == Answer::kVerified) {
      ++verified;
      EXPECT_LE(most, *settings.within);
    }
    if (limit.answer != Answer::kFalsified) continue;
    ++falsified;
    ASSERT_TRUE(limit.witness.has_value());
    mpq_class there = 0;
    for (const mpq_class& d : difference_at(compared, limit.witness->x))
      there = std::max<mpq_class>(there, abs(d));
    EXPECT_GT(there, *settings.within);
  }
  EXPECT_GT(verified, 3);
  EXPECT_GT(falsified, 3);
}

// a sum_i (1 - |x_i - p_i|): greatest at p.
Graph peak(double a) {
  const std::vector<double> p = {0.3, -0.7, 0.55, -0.1, 0.9, -0.45};
  const std::size_t n = p.size();
  std::vector<double> weights(2 * n * n), offsets;
  for (std::size_t i = 0; i < n; ++i) {
    weights[i * n + i] = 1;
    weights[(n + i) * n + i] = -1;
    offsets.push_back(-p[i]);
  }
  for (std::size_t i = 0; i < n; ++i) offsets.push_back(p[i]);
  Builder b({6});
  const ValueId h = b.relu(b.add(affine(12, 6, weights, offsets), {b.x()}, {12}));
  return b.outputs({b.add(affine(1, 12, std::vector<double>(12, -a), {6 * a}), {h}, {1})});
}

// The point of the greatest difference is climbed to before anything is asked.
TEST(Compare, ClimbsToTheGreatestDifference) {
  CompareSettings settings;
  settings.tolerance = 100;  // what is attained at first is enough
  const Comparison found =
      compare(pair_of(peak(0), {}, peak(1), {}),
              input::exact_box({std::vector<double>(6, -1), std::vector<double>(6, 1)}),
              engine_request(), settings, {});
  EXPECT_EQ(found.questions, 0U);
  EXPECT_GT(found.attained, 5.99);
  EXPECT_LE(found.attained, 6);
}

// relu(x1 + a x1), and x0 + 100, of which no slope is open.
Graph steep_network(double a) {
  Builder b({2});
  const ValueId h = b.relu(b.add(affine(2, 2, {0, 1 + a, 1, 0}, {0, 100}), {b.x()}, {2}));
  return b.outputs({b.add(affine(1, 2, {1, 1}, {0}), {h}, {1})});
}

// The narrow input is halved, by which the one neuron moves whose slope is open.
TEST(DifferenceBounds, HalvesWhatMovesOpenSlopes) {
  const DifferenceBounds bounds(difference_network(steep_network(0), steep_network(0.125)), {},
                                engine_request());
  const Box root = {{-8, -1}, {8, 1}};
  DifferenceBounds::Part part;
  part.box = root;
  bounds.bound_root(part);
  EXPECT_EQ(part.steepest, 1U);
  EXPECT_EQ(DifferenceBounds::halves(part, root).second.lower, (std::vector<double>{-8, 0}));
  part.box = {{-8, 0.25}, {8, 1}};
  bounds.bound(part);
  EXPECT_EQ(part.steepest, std::nullopt);
  EXPECT_EQ(DifferenceBounds::halves(part, root).second.lower, (std::vector<double>{0, 0.25}));
}

}  // namespace
}  // namespace bf_aot::decide
