// Boxes that no step leaves, of random steps, against exact arithmetic. BF_SEED=n tries others.

#include "aot/decide/invariant.h"

#include <gtest/gtest.h>

#include <random>

#include "frontend/evaluate/evaluate_exact.h"
#include "frontend/property/vnnlib/vnnlib.h"
#include "tests/seed.h"
#include "tests/unit/aot/decide/property/engine_request.h"
#include "tests/unit/frontend/graph/graph_builder.h"

namespace bf_aot::decide {
namespace {

using bf_aot::testing::affine;
using bf_aot::testing::Builder;

constexpr int kStepInputs = 3, kStepHidden = 4;  // two elements of state, one other input

std::vector<double> step_weights(std::mt19937& random, int count, double size) {
  std::vector<double> made;
  for (int i = 0; i < count; ++i)
    made.push_back((static_cast<double>(random() % 17) - 8) / 8 * size);
  return made;
}

// Elements 0 and 1 are the state, and its next value.
Graph random_step(std::mt19937& random) {
  Builder b({kStepInputs});
  const ValueId h = b.relu(
      b.add(affine(kStepHidden, kStepInputs, step_weights(random, kStepHidden * kStepInputs, 0.5),
                   step_weights(random, kStepHidden, 0.25)),
            {b.x()}, {kStepHidden}));
  return b.outputs({b.add(affine(2, kStepHidden, step_weights(random, 2 * kStepHidden, 0.5),
                                 step_weights(random, 2, 0.25)),
                          {h}, {2})});
}

TEST(InvariantRandom, NoStepLeaves) {
  const auto first = static_cast<unsigned>(bf_aot::testing::seed_from_environment(1));
  int found = 0;
  for (unsigned seed = first; seed < first + 30; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const Graph step = random_step(random);
    const Request request = engine_request();
    InvariantSettings settings;
    settings.seconds = 1;
    settings.shrink_seconds = 0.1;
    const Box box = {{-0.5, -0.5, -1}, {0.5, 0.5, 1}};
    const std::vector<StateElement> state = {{0, 0}, {1, 1}};
    const Sampler network{Graph(step)};
    const Invariant made = find_invariant(network, {}, box, state, request, settings, {});
    if (!made.found) continue;
    ++found;
    for (int i = 0; i < 2; ++i) {
      const auto k = static_cast<std::size_t>(i);
      EXPECT_LE(made.box.lower[k], -0.5);
      EXPECT_GE(made.box.upper[k], 0.5);
    }
    const auto at = [&](std::size_t i, int part) -> mpq_class {
      const mpq_class low(made.box.lower[i]), high(made.box.upper[i]);
      return low + (high - low) * mpq_class(part, 4);
    };
    for (int i = 0; i <= 4; ++i)
      for (int j = 0; j <= 4; ++j)
        for (int k = 0; k <= 4; ++k) {
          const std::vector<mpq_class> x = {at(0, i), at(1, j), at(2, k)};
          const auto y = evaluate_exact(step, std::vector<std::vector<mpq_class>>{x})[0];
          for (std::size_t s = 0; s < 2; ++s) {
            EXPECT_GE(y[s], mpq_class(made.box.lower[s]));
            EXPECT_LE(y[s], mpq_class(made.box.upper[s]));
          }
        }
    // The property that is written says the same as the one that was decided.
    const Property written = parse_property(obligation_text(made.box, state, 2), "p.vnnlib");
    const Property decided = obligation(made.box, state, 2);
    ASSERT_EQ(written.cases.size(), 1U);
    EXPECT_EQ(written.cases[0].box, decided.cases[0].box);
    EXPECT_EQ(written.rows, decided.rows);
    EXPECT_EQ(written.cases[0].clauses, decided.cases[0].clauses);
  }
  EXPECT_GT(found, 5);
}

}  // namespace
}  // namespace bf_aot::decide
