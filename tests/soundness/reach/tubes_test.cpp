// Tubes of random loops hold every run. Runs of continuous plants are integrated by 160 bits and a
// method of order 24 that shares nothing with the tubes' Taylor series; its error is estimated, not
// proven, and kept below 2^-84, as the slack of 2^-70 is below what separates two doubles. Runs of
// discrete and Euler loops without smooth functions are exact rational numbers, compared without
// slack. Of each run the values of the symbols of the start, of constant disturbances and of time
// are known, so that forms are compared as lines, not only as ranges. BF_SEED=n repeats a run.

#include "tests/soundness/reach/tubes.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <random>

#include "aot/reach/numbers/taylor.h"
#include "aot/reach/tube/validated_step.h"
#include "tests/seed.h"

namespace bf_aot::soundness {
namespace {

using reach::Loop;
using reach::PlantKind;
using test::PlantWriter;

using Random = std::mt19937_64;

double in_range(Random& random, double low, double high) {
  return low + (high - low) * reach::random_share(random);
}
std::size_t below(Random& random, std::size_t n) {
  return random() % n;
}

struct Shape {
  PlantKind kind = PlantKind::kContinuous;
  bool rational = false;  // no smooth functions anywhere
};

// A product, quotient or function of elements of the state.
ValueId random_term(Random& random, PlantWriter& plant, const std::vector<ValueId>& x,
                    bool rational) {
  const ValueId a = x[below(random, x.size())], b = x[below(random, x.size())];
  switch (below(random, rational ? 4 : 18)) {
    case 0:
      return plant.multiply(a, b);
    case 1:
      return plant.divide(a, plant.add(plant.constant(1.5), plant.multiply(b, b)));
    case 2:
      return plant.multiply(a, plant.multiply(a, b));
    case 3:
      return a;
    case 4:
      return plant.divide(b, plant.add(plant.constant(2.5), plant.apply(FunctionKind::kSin, a)));
    case 5:
      return plant.apply(FunctionKind::kSin, a);
    case 6:
      return plant.multiply(b, plant.apply(FunctionKind::kCos, a));
    case 7:
      return plant.apply(FunctionKind::kTanh, plant.add(a, b));
    case 8:
      return plant.apply(FunctionKind::kExp, plant.times(-0.5, a));
    case 9:
      return plant.apply(FunctionKind::kSqrt,
                         plant.add(plant.constant(1.25), plant.multiply(a, a)));
    case 10:
      return plant.apply(FunctionKind::kAtan, plant.subtract(a, b));
    case 11:
      return plant.apply(FunctionKind::kSigmoid, a);
    case 12:
      return plant.apply(FunctionKind::kLog, plant.add(plant.constant(1.5), plant.multiply(a, b)));
    case 13:
      return plant.apply(FunctionKind::kTan, plant.times(0.25, a));
    case 14:
      return plant.apply(FunctionKind::kSinh, plant.times(0.5, b));
    case 15:
      return plant.apply(FunctionKind::kCosh, plant.times(0.5, b));
    case 16:
      return plant.apply(Function{FunctionKind::kPower, below(random, 2) == 0 ? 3.0 : 4.0}, a);
    case 17:
      return plant.apply(FunctionKind::kReciprocal,
                         plant.add(plant.constant(2), plant.apply(FunctionKind::kCos, a)));
  }
  return a;
}

Graph random_plant(Random& random, const Shape& shape, std::int64_t states, std::int64_t controls,
                   const std::vector<reach::Disturbance>& disturbances) {
  PlantWriter plant;
  const std::vector<ValueId> x = plant.input("x", states);
  const std::vector<ValueId> u = controls > 0 ? plant.input("u", controls) : x;
  std::vector<ValueId> others = u;
  for (const reach::Disturbance& w : disturbances)
    for (const ValueId id : plant.input(w.name, static_cast<std::int64_t>(w.box.lower.size())))
      others.push_back(id);
  std::vector<ValueId> outputs;
  for (std::size_t i = 0; i < x.size(); ++i) {
    ValueId sum = plant.times(shape.kind == PlantKind::kDiscrete ? 0.5 : -0.75, x[i]);
    for (std::size_t k = 0; k < 2; ++k)
      sum = plant.add(sum, plant.times(in_range(random, -0.6, 0.6),
                                       random_term(random, plant, x, shape.rational)));
    const ValueId other = others[below(random, others.size())];
    outputs.push_back(plant.add(sum, plant.times(in_range(random, -0.5, 0.5), other)));
  }
  // Each disturbance is felt.
  for (std::size_t k = u.size(); k < others.size(); ++k)
    outputs[k % outputs.size()] = plant.add(outputs[k % outputs.size()], others[k]);
  return plant.finish(outputs);
}

test::DenseLayer random_layer(Random& random, std::size_t inputs, std::size_t outputs) {
  test::DenseLayer made;
  const bool floats = below(random, 4) > 0;
  const auto number = [&](double size) {
    const double x = in_range(random, -size, size);
    return floats ? static_cast<float>(x) : x;
  };
  for (std::size_t i = 0; i < outputs; ++i) {
    made.weight.emplace_back();
    for (std::size_t k = 0; k < inputs; ++k) made.weight.back().push_back(number(0.8));
    made.bias.push_back(number(0.3));
  }
  return made;
}

Loop random_loop(Random& random, const Shape& shape) {
  Loop loop;
  loop.kind = shape.kind;
  const std::size_t states = 2 + below(random, 3), controls = below(random, 3);
  for (std::size_t d = 0; d < below(random, 3); ++d) {
    const double size = in_range(random, 0, 0.1);
    loop.disturbances.push_back(
        {fmt::format("w{}", d), {{-size}, {size / 2}}, below(random, 2) == 0});
  }
  loop.plant = test::part_of(random_plant(random, shape, static_cast<std::int64_t>(states),
                                          static_cast<std::int64_t>(controls), loop.disturbances));
  if (controls > 0) {
    const Op hidden = shape.rational || below(random, 2) == 0 ? Op(Relu{})
                      : below(random, 2) == 0                 ? Op(Unary{{FunctionKind::kTanh}})
                                                              : Op(Unary{{FunctionKind::kSigmoid}});
    const std::size_t seen = below(random, 4) == 0 ? states + 1 : states;
    if (seen > states)
      loop.observer = test::part_of(test::dense_network({random_layer(random, states, seen)}));
    loop.controller = test::part_of(test::dense_network(
        {random_layer(random, seen, 8), random_layer(random, 8, controls)}, hidden));
    loop.delayed = below(random, 3) == 0;
    for (std::size_t i = 0; loop.delayed && i < controls; ++i)
      loop.first_control.push_back(in_range(random, -0.3, 0.3));
  }
  loop.steps = 2 + below(random, 2);
  loop.substeps = 1 + below(random, 2);
  loop.period = loop.kind == PlantKind::kDiscrete
                    ? mpq_class(static_cast<unsigned long>(loop.substeps))
                    : mpq_class(static_cast<unsigned long>(1 + below(random, 4)), 10);
  loop.period.canonicalize();
  // Points, thin boxes and wide ones.
  const double width =
      below(random, 4) == 0 ? 0 : std::exp2(-static_cast<double>(below(random, 24)));
  for (std::size_t i = 0; i < states; ++i) {
    const double low = in_range(random, -0.6, 0.6);
    loop.initial.lower.push_back(low);
    loop.initial.upper.push_back(low + width * reach::random_share(random));
  }
  return loop;
}

std::unique_ptr<reach::Flow> flow_of(Random& random, const Loop& loop) {
  build::CompileOptions options;
  options.planner.method = Method::kCrown;
  options.planner.lowering = Lowering::kPrebuilt;
  options.planner.target = find_target("host");
  const reach::FlowPlan plan = reach::choose_plan(loop, loop.substeps, 1 + below(random, 6), 0);
  return std::make_unique<reach::Flow>(loop, plan, options, build::CompilerOptions());
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
  EXPECT_LT(made.ended * 4, made.loops);
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
    EXPECT_GT(made.missing * 10, made.loops * 9) << static_cast<int>(kind);
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
    reach::TaylorSeries<reach::FormArithmetic, reach::Form> series(program, start, {});
    while (series.order() < order) series.extend();
    reach::Form without = series.at(0, order);
    for (std::size_t k = order; k-- > 0;)
      without = reach::times(without, seconds) + series.at(0, k);
    EXPECT_FALSE(holds<RealArithmetic>(without, {}, end.state[0], 0x1p-90)) << order;
  }
}

}  // namespace
}  // namespace bf_aot::soundness
