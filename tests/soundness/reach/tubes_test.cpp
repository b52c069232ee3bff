// Tubes of random loops hold every run. Runs of continuous plants are integrated by 160 bits and a
// method of order 24 that shares nothing with the tubes' Taylor series; its error is estimated, not
// proven, and kept below 2^-84, as the slack of 2^-70 is below what separates two doubles. Runs of
// discrete and Euler loops without smooth functions are exact rational numbers, compared without
// slack. Of each run the values of the symbols of the start, of constant disturbances and of time
// are known, so that forms are compared as lines, not only as ranges. BF_SEED=n repeats a run.

#include "tests/soundness/reach/tubes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>

#include "aot/reach/numbers/taylor.h"
#include "aot/reach/tube/validated_step.h"
#include "runtime/bf/loops/series.h"
#include "tests/seed.h"
#include "tests/soundness/reach/random_loops.h"

namespace bf_aot::soundness {
namespace {

using reach::Loop;
using reach::PlantKind;
using test::PlantWriter;

std::unique_ptr<reach::Flow> flow_of(Random& random, const Loop& loop) {
  // Half of the plans have as few symbols as there may be, so that some are given up.
  reach::FlowPlan plan =
      reach::choose_plan(loop, loop.substeps, 1 + below(random, 6), below(random, 2));
  plan.reduction = below(random, 2) == 0 ? reach::Reduction::kBox : reach::Reduction::kAxes;
  return std::make_unique<reach::Flow>(loop, plan, host_options(), build::CompilerOptions());
}

std::vector<reach::Scenario> scenarios_of(Random& random, const Loop& loop) {
  return reach::typical_scenarios(loop, 6, random());
}

struct Counted {
  Compared all;
  std::size_t loops = 0, missing = 0, ended = 0;
};

template <class A>
Counted count(const Shape& shape, std::uint64_t seed, int rounds, Spoiled spoiled = Spoiled::kNot) {
  Counted made;
  for (int round = 0; round < rounds; ++round) {
    Random random(seed + static_cast<std::uint64_t>(round));
    const Loop loop = random_loop(random, shape);
    const auto flow = flow_of(random, loop);
    const Compared compared = compare<A>(*flow, loop, scenarios_of(random, loop), spoiled);
    made.all.checks += compared.checks;
    made.all.misses += compared.misses;
    ++made.loops;
    made.ended += compared.ended ? 1 : 0;
    if (compared.misses == 0) continue;
    ++made.missing;
    if (spoiled == Spoiled::kNot)
      ADD_FAILURE() << "BF_SEED=" << seed + static_cast<std::uint64_t>(round) << ": "
                    << compared.misses << " of " << compared.checks
                    << " values lie outside of the tube";
  }
  return made;
}

std::uint64_t seed() {
  return testing::seed_from_environment(20260);
}
int rounds(int n) {
  return n * testing::rounds_from_environment();
}

TEST(Tubes, HoldRunsOfContinuousLoops) {
  const Counted made = count<RealArithmetic>({PlantKind::kContinuous, false}, seed(), rounds(40));
  EXPECT_GT(made.all.checks, made.loops * 50);
  EXPECT_LT(made.ended * 4, made.loops * 3);
}

TEST(Tubes, HoldRunsOfEulerLoopsWithFunctions) {
  const Counted made = count<RealArithmetic>({PlantKind::kEuler, false}, seed() + 1000, rounds(40));
  EXPECT_GT(made.all.checks, made.loops * 50);
}

TEST(Tubes, HoldRunsOfDiscreteLoopsWithFunctions) {
  const Counted made =
      count<RealArithmetic>({PlantKind::kDiscrete, false}, seed() + 2000, rounds(40));
  EXPECT_GT(made.all.checks, made.loops * 50);
}

TEST(Tubes, HoldExactRunsOfEulerLoops) {
  const Counted made =
      count<RationalArithmetic>({PlantKind::kEuler, true}, seed() + 3000, rounds(40));
  EXPECT_GT(made.all.checks, made.loops * 30);
}

TEST(Tubes, HoldExactRunsOfDiscreteLoops) {
  const Counted made =
      count<RationalArithmetic>({PlantKind::kDiscrete, true}, seed() + 4000, rounds(40));
  EXPECT_GT(made.all.checks, made.loops * 30);
}

// ---- What these tests would find.

TEST(TubesSpoiled, TubesWithoutRadiiAreRefuted) {
  for (const PlantKind kind : {PlantKind::kContinuous, PlantKind::kEuler, PlantKind::kDiscrete}) {
    const Counted made = count<RealArithmetic>({kind, false}, seed() + 5000, 12, Spoiled::kYes);
    EXPECT_GT(made.missing * 2, made.loops) << static_cast<int>(kind);
  }
  const Counted made =
      count<RationalArithmetic>({PlantKind::kEuler, true}, seed() + 5000, 12, Spoiled::kYes);
  EXPECT_GT(made.missing, made.loops / 3);
}

// Plants that only rounding keeps from being exact: x' = a x, from a point.
TEST(TubesSpoiled, TubesWithoutRoundingAreRefuted) {
  Loop loop;
  PlantWriter plant;
  const auto x = plant.input("x", 2);
  loop.plant = test::part_of(plant.finish({plant.times(0.1, x[1]), plant.times(-0.3, x[0])}));
  loop.kind = PlantKind::kEuler;
  loop.period = mpq_class(1, 3);
  loop.steps = 3;
  loop.substeps = 1;
  loop.initial = {{0.7, 0.9}, {0.7, 0.9}};
  Random random(1);
  const auto flow = flow_of(random, loop);
  const std::vector<reach::Scenario> scenarios = {{{0.7, 0.9}, {{}, {}, {}}}};
  EXPECT_EQ(compare<RationalArithmetic>(*flow, loop, scenarios).misses, 0U);
  EXPECT_GT(compare<RationalArithmetic>(*flow, loop, scenarios, Spoiled::kYes).misses, 0U);
}

// One step of x' = x: with Lagrange's remainder it holds e^h, without it does not.
TEST(TubesSpoiled, StepsWithoutRemaindersAreRefuted) {
  for (std::size_t order = 1; order <= 10; ++order) {
    PlantWriter plant;
    const auto x = plant.input("x", 1);
    const ScalarProgram program = scalar_program(plant.finish({plant.times(1, x[0])}));
    const std::vector<reach::Form> start = {reach::form_of(Bounded{1, 0})};
    const Bounded seconds = {0.25, 0};
    const auto step = reach::validated_step(program, start, {}, seconds, order, 1);
    ASSERT_TRUE(step);
    const Integrated end = integrate(program, {Real(1)}, {}, Real(0.25));
    EXPECT_LT(end.error, 0x1p-100);
    EXPECT_TRUE(holds<RealArithmetic>(step->end[0], {}, end.state[0], 0x1p-90));
    const reach::ProgramView view(program);
    const std::vector<std::size_t> places = reach::series_places(program);
    std::vector<reach::Form> numbers((places.back() + 1) * (order + 1));
    bf::loops::TaylorSeries<reach::FormArithmetic, reach::Form, reach::ProgramView> series(
        view, places, 1, start.data(), nullptr, numbers.data(), order + 1);
    while (series.order() < order) series.extend();
    reach::Form without = series.at(0, order);
    for (std::size_t k = order; k-- > 0;)
      without = reach::times(without, seconds) + series.at(0, k);
    EXPECT_FALSE(holds<RealArithmetic>(without, {}, end.state[0], 0x1p-90)) << order;
  }
}

}  // namespace
}  // namespace bf_aot::soundness
