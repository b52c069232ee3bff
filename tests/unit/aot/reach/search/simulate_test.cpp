#include "aot/reach/search/simulate.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "frontend/evaluate/evaluate.h"
#include "tests/support/loops.h"

namespace bf_aot::reach {
namespace {

using test::PlantWriter;

// x' = a x + u, where the control is `gain` x.
Loop linear_loop(double a, double gain) {
  PlantWriter plant;
  const auto x = plant.input("x", 1);
  const auto u = plant.input("u", 1);
  Loop loop;
  loop.plant = test::part_of(plant.finish({plant.add(plant.times(a, x[0]), u[0])}));
  loop.controller = test::part_of(test::dense_network({{{{gain}}, {0}}}));
  loop.period = mpq_class(1, 4);
  loop.steps = 8;
  loop.initial = {{1}, {1}};
  return loop;
}

Loop oscillator() {
  PlantWriter plant;
  const auto x = plant.input("x", 2);
  Loop loop;
  loop.plant = test::part_of(plant.finish({x[1], plant.times(-1, x[0])}));
  loop.period = mpq_class(1, 2);
  loop.steps = 20;
  loop.initial = {{1, 0}, {1, 0}};
  return loop;
}

Scenario only_scenario(const Loop& loop) {
  const ScenarioSpace space(loop);
  return space.at(std::vector<double>(space.size(), 0.5));
}

Trajectory only_run(const Question& question) {
  return Simulation(question).run(std::vector<Scenario>{only_scenario(question.loop)})[0];
}

TEST(Simulation, HoldsTheControlDuringAPeriodOfALinearPlant) {
  const Question question{linear_loop(-0.7, 0.4), {}};
  const Simulation simulation(question);
  const Trajectory run = only_run(question);
  // While u is held, x + u / a grows by e^(a t).
  double x = 1, u = 0, start = 0;
  std::size_t instants = 0;
  for (std::size_t m = 0; m < simulation.moments().size(); ++m) {
    const Simulation::Moment& moment = simulation.moments()[m];
    const double since = moment.time - start;
    const double now = (x + u / -0.7) * std::exp(-0.7 * since) - u / -0.7;
    EXPECT_NEAR(run.states[m][0], now, 1e-9);
    if (!moment.instant) continue;
    ++instants;
    x = now;
    u = 0.4 * now;
    start = moment.time;
    if (m + 1 == simulation.moments().size()) break;
    EXPECT_NEAR(run.controls[moment.period][0], u, 1e-9);
  }
  EXPECT_EQ(instants, 9U);
  EXPECT_EQ(run.controls.size(), 8U);
}

TEST(Simulation, FollowsAnOscillator) {
  const Question question{oscillator(), {}};
  const Simulation simulation(question);
  const Trajectory run = only_run(question);
  for (std::size_t m = 0; m < simulation.moments().size(); ++m) {
    EXPECT_NEAR(run.states[m][0], std::cos(simulation.moments()[m].time), 1e-8);
    EXPECT_NEAR(run.states[m][1], -std::sin(simulation.moments()[m].time), 1e-8);
  }
}

// x' = x^2 from 1 has no value at 1: no step is short enough.
TEST(Simulation, DoesNotRefineWhatGrowsBeyondAllBounds) {
  PlantWriter plant;
  const auto x = plant.input("x", 1);
  Question question;
  question.loop.plant = test::part_of(plant.finish({plant.multiply(x[0], x[0])}));
  question.loop.period = mpq_class(1, 2);
  question.loop.steps = 8;
  question.loop.initial = {{1}, {1}};
  const Simulation simulation(question);
  EXPECT_LE(simulation.moments().size(), 8U * 64 + 1);
  question.requirements.push_back({Requirement::Kind::kAlways, 0, 4,
                                   test::linear_condition(test::between(0, -1, 1e6), 1, 0), ""});
  const auto margins =
      Simulation(question).margins(std::vector<Scenario>{only_scenario(question.loop)});
  EXPECT_LT(margins[0][0].value, 0);
}

TEST(Simulation, TakesEulerStepsAsTheLoopSays) {
  Question question{linear_loop(-0.7, 0.4), {}};
  question.loop.kind = PlantKind::kEuler;
  question.loop.substeps = 2;
  const Trajectory run = only_run(question);
  ASSERT_EQ(run.states.size(), 17U);
  double x = 1;
  for (std::size_t p = 0; p < 8; ++p) {
    const double u = 0.4 * x;
    for (std::size_t k = 0; k < 2; ++k) {
      EXPECT_EQ(run.states[2 * p + k][0], x);
      x = x + 0.125 * (-0.7 * x + u);
    }
  }
  EXPECT_EQ(run.states.back()[0], x);
}

// The next x is x u + w / 4, the control 1/2 - x, held for two steps.
Loop discrete_loop() {
  PlantWriter plant;
  const auto w = plant.input("w", 2);  // disturbances are found by their names
  const auto x = plant.input("x", 1);
  const auto u = plant.input("u", 1);
  Loop loop;
  loop.plant = test::part_of(plant.finish(
      {plant.add(plant.multiply(x[0], u[0]), plant.times(0.25, plant.multiply(w[0], w[1])))}));
  loop.controller = test::part_of(test::dense_network({{{{-1}}, {0.5}}}));
  loop.kind = PlantKind::kDiscrete;
  loop.period = 2;
  loop.steps = 3;
  loop.initial = {{0}, {1}};
  loop.disturbances = {{"w", {{-1, 2}, {1, 2}}}};
  return loop;
}

TEST(Simulation, TakesDiscreteStepsWithDisturbancesOfEachPeriod) {
  const Question question{discrete_loop(), {}};
  const Simulation simulation(question);
  EXPECT_EQ(simulation.disturbances(), 2U);
  const Scenario scenario{{0.75}, {{1, 2}, {-0.5, 2}, {0.25, 2}}};
  const Trajectory run = simulation.run(std::vector<Scenario>{scenario})[0];
  ASSERT_EQ(run.states.size(), 7U);
  double x = 0.75;
  for (std::size_t m = 0; m < 6; ++m) {
    const double u = m % 2 == 0 ? 0.5 - x : run.controls[m / 2][0];
    EXPECT_EQ(run.controls[m / 2][0], u);
    EXPECT_EQ(run.states[m][0], x);
    EXPECT_EQ(simulation.moments()[m].time, static_cast<double>(m));
    x = x * u + 0.5 * scenario.disturbances[m / 2][0];
  }
  EXPECT_EQ(run.states[6][0], x);
}

TEST(Simulation, HoldsADelayedControlOnePeriodLater) {
  Question question{linear_loop(-0.7, 0.4), {}};
  question.loop.kind = PlantKind::kEuler;
  question.loop.delayed = true;
  question.loop.first_control = {{0.25, 0}};
  const Trajectory run = only_run(question);
  EXPECT_EQ(run.controls[0][0], 0.25);
  for (std::size_t p = 1; p < 8; ++p) EXPECT_EQ(run.controls[p][0], 0.4 * run.states[p - 1][0]);
}

TEST(Simulation, ShowsTheControllerWhatTheObserverSees) {
  Question question{linear_loop(0, 0.5), {}};
  question.loop.observer = test::part_of(test::dense_network({{{{2}}, {1}}}));
  EXPECT_EQ(only_run(question).controls[0][0], 0.5 * (2 * 1 + 1));
}

TEST(Simulation, RunsDoNotDependOnTheirCompany) {
  const Question question{discrete_loop(), {}};
  const Simulation simulation(question);
  const std::vector<Scenario> scenarios = typical_scenarios(question.loop, 21, 3);
  const std::vector<Trajectory> together = simulation.run(scenarios);
  for (std::size_t k = 0; k < scenarios.size(); ++k)
    EXPECT_EQ(simulation.run(std::vector<Scenario>{scenarios[k]})[0].states, together[k].states);
}

TEST(Simulation, FindsMarginsInTheirWindows) {
  Question question{oscillator(), {}};
  const auto demand = [](double low, double high) {
    return test::linear_condition(test::between(0, low, high), 2, 0);
  };
  // cos is least in [0, 10] at pi and 3 pi, and 0.1 there; `at` times lie between steps.
  question.requirements.push_back({Requirement::Kind::kAlways, 0, 10, demand(-1.1, 2), "always"});
  question.requirements.push_back(
      {Requirement::Kind::kAt, mpq_class(1, 3), mpq_class(1, 3), demand(0, 2), "at 1/3"});
  question.requirements.push_back(
      {Requirement::Kind::kWithin, 1, mpq_class(7, 5), demand(0.5, 2), "within"});
  const Simulation simulation(question);
  const std::vector<Margin> margins =
      simulation.margins(std::vector<Scenario>{only_scenario(question.loop)})[0];
  EXPECT_NEAR(margins[0].value, 0.1, 1e-3);
  EXPECT_NEAR(margins[1].value, std::cos(1.0 / 3), 1e-8);
  EXPECT_NEAR(margins[2].value, std::cos(1.4) - 0.5, 1e-8);
  EXPECT_NEAR(simulation.moments()[margins[2].moment].time, 1.4, 1e-12);
}

TEST(Simulation, MarginsFollowFormulas) {
  Formula low, high, any;
  low.kind = high.kind = Formula::Kind::kCompare;
  high.value = 1;
  any.kind = Formula::Kind::kAny;
  any.parts = {low, high};
  const std::vector<double> values = {-2, 3};
  EXPECT_EQ(margin_of(any, values), 2);
  EXPECT_EQ(margin_of(Formula{}, values), INFINITY);
  Formula all = any;
  all.kind = Formula::Kind::kAll;
  EXPECT_EQ(margin_of(all, values), -3);
  EXPECT_EQ(margin_of(low, std::vector<double>{0}), 0);
  low.strict = true;
  EXPECT_LT(margin_of(low, std::vector<double>{0}), 0);
  EXPECT_EQ(margin_of(low, std::vector<double>{NAN}), INFINITY);
}

TEST(Simulation, SamplesCornersAndOthersAtInstants) {
  Question question{oscillator(), {}};
  question.loop.initial = {{0.5, -0.25}, {1, 0.25}};
  const auto samples = sample(Simulation(question), 40, 1);
  ASSERT_EQ(samples.size(), 40U);
  std::size_t corners = 0;
  for (const auto& states : samples) {
    ASSERT_EQ(states.size(), 21U);
    const double x = states[0][0], y = states[0][1];
    EXPECT_TRUE(0.5 <= x && x <= 1 && -0.25 <= y && y <= 0.25);
    corners += (x == 0.5 || x == 1) && std::fabs(y) == 0.25 ? 1 : 0;
    EXPECT_NEAR(states[20][0], x * std::cos(10.0) + y * std::sin(10.0), 1e-7);
  }
  EXPECT_EQ(corners, 4U);
}

TEST(ScenarioSpace, KeepsTheEndsOfBoxes) {
  Loop loop = discrete_loop();
  loop.initial = {{0.1}, {0.3}};
  const ScenarioSpace space(loop);
  EXPECT_EQ(space.size(), 4U);
  EXPECT_EQ(space.states(), 1U);
  const Scenario low = space.at(std::vector<double>{0, 0, 0, 0});
  EXPECT_EQ(low.start, std::vector<double>{0.1});
  EXPECT_EQ(low.disturbances, (std::vector<std::vector<double>>(3, {-1, 2})));
  const Scenario high = space.at(std::vector<double>{2, 1, 0.5, 1});
  EXPECT_EQ(high.start, std::vector<double>{0.3});
  EXPECT_EQ(high.disturbances, (std::vector<std::vector<double>>{{1, 2}, {0, 2}, {1, 2}}));
  loop.disturbances[0].changes = Disturbance::Changes::kNever;
  EXPECT_EQ(ScenarioSpace(loop).size(), 2U);
}

// A network of 2 to 8 to 2 with tanh between, whose sums and functions are those of evaluate().
TEST(LaneProgram, ComputesWhatEvaluateDoes) {
  std::mt19937_64 random(7);
  const auto number = [&] { return 2 * random_share(random) - 1; };
  test::DenseLayer first, second;
  for (std::size_t i = 0; i < 8; ++i) {
    first.weight.push_back({number(), i == 3 ? 0 : number()});
    first.bias.push_back(number());
  }
  for (std::size_t i = 0; i < 2; ++i) {
    second.weight.emplace_back();
    for (std::size_t k = 0; k < 8; ++k) second.weight.back().push_back(number());
    second.bias.push_back(0);
  }
  for (const Op& hidden : {Op(Relu{}), Op(Unary{{FunctionKind::kTanh}})}) {
    const Graph graph = test::dense_network({first, second}, hidden);
    const LaneNetwork network(graph);
    std::vector<Lanes> inputs(2), outputs(2);
    for (Lanes& lanes : inputs)
      for (double& x : lanes) x = number();
    network.run(inputs, outputs);
    for (std::size_t l = 0; l < kLanes; ++l) {
      const auto expected = evaluate(graph, {{inputs[0][l], inputs[1][l]}})[0];
      for (std::size_t i = 0; i < 2; ++i) EXPECT_NEAR(outputs[i][l], expected[i], 1e-15);
    }
  }
}

}  // namespace
}  // namespace bf_aot::reach
