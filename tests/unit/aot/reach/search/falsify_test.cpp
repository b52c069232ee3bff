#include "aot/reach/search/falsify.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "frontend/import/file/importer.h"
#include "tests/support/loops.h"
#include "tests/support/model_text.h"

namespace bf_aot::reach {
namespace {

using test::PlantWriter;

// A discrete loop of one step that keeps x, and the demand sum (x_i - place_i)^2 >= radius^2: a
// ball of the initial box [-1, 1]^n is forbidden, far from its corners, faces and middle.
Question ball(std::size_t n, double place, double radius) {
  PlantWriter plant;
  const auto x = plant.input("x", static_cast<std::int64_t>(n));
  Question question;
  question.loop.plant = test::part_of(plant.finish(x));
  question.loop.kind = PlantKind::kDiscrete;
  question.loop.initial = {std::vector<double>(n, -1), std::vector<double>(n, 1)};
  Requirement requirement;
  ScalarProgram& values = requirement.must.values;
  std::size_t sum = values.constant({radius * radius, 0});
  for (std::size_t i = 0; i < 2 * n; ++i) {
    const std::size_t element = values.input(values.inputs++);
    if (i >= n) continue;
    const std::size_t centre = values.constant({i % 2 == 0 ? place : -place / 2, 0});
    const std::size_t off = values.add({ScalarStep::Kind::kSubtract, element, centre, {}, {}});
    const std::size_t square = values.add({ScalarStep::Kind::kMultiply, off, off, {}, {}});
    sum = values.add({ScalarStep::Kind::kSubtract, sum, square, {}, {}});
  }
  values.outputs = {sum};
  requirement.must.formula.kind = Formula::Kind::kCompare;
  requirement.text = "never in the ball";
  question.requirements = {requirement};
  return question;
}

TEST(Falsify, FindsWhatIsPlantedFarFromCorners) {
  for (const std::size_t n : {2, 4, 12}) {
    const Question question = ball(n, 0.6, 0.01);
    const Simulation simulation(question);
    const Falsified found = falsify(simulation, {});
    ASSERT_FALSE(found.candidates.empty()) << n;
    const Candidate& candidate = found.candidates[0];
    EXPECT_LT(candidate.margin, 0);
    EXPECT_EQ(simulation.margins(std::vector<Scenario>{candidate.scenario})[0][0].value,
              candidate.margin);
    for (std::size_t i = 0; i < n; ++i)
      EXPECT_NEAR(candidate.scenario.start[i], i % 2 == 0 ? 0.6 : -0.3, 0.01);
    EXPECT_LT(found.runs, 20000U);
  }
}

TEST(Falsify, SaysTheSameTwice) {
  const Question question = ball(4, 0.6, 0.01);
  const Simulation simulation(question);
  const Falsified a = falsify(simulation, {}), b = falsify(simulation, {});
  EXPECT_EQ(a.runs, b.runs);
  EXPECT_EQ(a.candidates[0].scenario.start, b.candidates[0].scenario.start);
}

TEST(Falsify, FindsNothingWhereNothingIs) {
  const Question question = ball(4, 2, 0.5);
  const Falsified found = falsify(Simulation(question), {});
  EXPECT_TRUE(found.candidates.empty());
  EXPECT_GT(found.least[0], 0);
}

TEST(Falsify, TriesTheGivenCellsFirst) {
  const Question question = ball(12, 0.6, 1e-4);
  FalsifySettings settings;
  settings.cells = {{std::vector<double>(12, -1), std::vector<double>(12, -0.9)}, {{}, {}}};
  for (std::size_t i = 0; i < 12; ++i) {
    const double centre = i % 2 == 0 ? 0.6 : -0.3;
    settings.cells[1].lower.push_back(centre - 0x1p-10);
    settings.cells[1].upper.push_back(centre + 0x1p-10);
  }
  const Falsified found = falsify(Simulation(question), settings);
  EXPECT_FALSE(found.candidates.empty());
  EXPECT_LE(found.runs, 2 * kLanes);
}

TEST(Falsify, GoesOnUntilTheProverIsContent) {
  const Question question = ball(4, 0.6, 0.1);
  std::vector<double> asked;
  const Prover prover = [&](const Candidate& candidate) -> std::optional<Violation> {
    asked.push_back(candidate.margin);
    if (candidate.margin > -0.004) return {};
    Violation violation;
    violation.start = candidate.scenario.start;
    return violation;
  };
  const Falsified found = falsify(Simulation(question), {}, prover);
  ASSERT_TRUE(found.violation);
  EXPECT_LE(asked.back(), -0.004);
  for (std::size_t k = 1; k < asked.size(); ++k) EXPECT_LT(asked[k], asked[k - 1]);
}

// The next x is x + w + v, w anew in each period, v constant: x reaches 1 + 30 (1 + 1/2).
TEST(Falsify, FindsDisturbances) {
  PlantWriter plant;
  const auto x = plant.input("x", 1);
  const auto w = plant.input("w", 1);
  const auto v = plant.input("v", 1);
  Question question;
  question.loop.plant = test::part_of(plant.finish({plant.add(x[0], plant.add(w[0], v[0]))}));
  question.loop.kind = PlantKind::kDiscrete;
  question.loop.steps = 30;
  question.loop.initial = {{0}, {1}};
  question.loop.disturbances = {{"w", {{-1}, {1}}},
                                {"v", {{-0.5}, {0.5}}, Disturbance::Changes::kNever}};
  question.requirements.push_back({Requirement::Kind::kAlways, 0, 30,
                                   test::linear_condition(test::between(0, -100, 45.9), 1, 0),
                                   "always"});
  const Falsified found = falsify(Simulation(question), {});
  ASSERT_FALSE(found.candidates.empty());
  EXPECT_LT(found.candidates[0].margin, 0);
  EXPECT_GE(found.candidates[0].margin, -0.1 - 1e-9);
  EXPECT_EQ(found.candidates[0].time, 30);
  // Without the last step there is nothing.
  question.requirements[0].must = test::linear_condition(test::between(0, -100, 46), 1, 0);
  EXPECT_TRUE(falsify(Simulation(question), {}).candidates.empty());
}

// ---- The problems of ../shared/loops.

std::filesystem::path loops_folder() {
  const char* given = std::getenv("BF_SHARED");
  return (given != nullptr ? std::filesystem::path(given)
                           : std::filesystem::path(BF_SOURCE_DIR) / ".." / "shared") /
         "loops";
}

Question problem(const std::string& name) {
  const std::filesystem::path folder = loops_folder();
  const nlohmann::json json =
      nlohmann::json::parse(test::read_bytes(folder / "problems.json")).at(name);
  Question question;
  Loop& loop = question.loop;
  loop.controller = test::part_of(import_model(folder / json.at("controller")).graph);
  loop.plant = test::part_of(import_model(folder / json.at("plant")).graph);
  loop.initial = {json.at("initial").at("lower"), json.at("initial").at("upper")};
  loop.steps = json.at("steps");
  loop.period = mpq_class(std::lround(json.at("period").get<double>() * 100), 100);
  loop.period.canonicalize();
  return question;
}

using Demands = std::vector<test::LinearDemand>;

Demands join(const std::vector<Demands>& parts) {
  Demands all;
  for (const Demands& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

struct Known {
  const char* name;
  Demands demands;
  double from, to;  // seconds; 0, 0: always
  bool broken;
};

class FalsifyProblem : public ::testing::TestWithParam<Known> {};

TEST_P(FalsifyProblem, SaysWhatIsKnown) {
  const Known& known = GetParam();
  if (!std::filesystem::exists(loops_folder() / "problems.json"))
    GTEST_SKIP() << "no " << loops_folder() << ": set BF_SHARED to the folder that holds loops/";
  Question question = problem(known.name);
  Requirement requirement;
  requirement.kind = known.to > 0 ? Requirement::Kind::kWithin : Requirement::Kind::kAlways;
  requirement.from = mpq_class(known.from);
  requirement.to = mpq_class(known.to);
  requirement.must = test::linear_condition(known.demands, question.loop.states(),
                                            question.loop.plant.graph.inputs.size() > 1 ? 6 : 0);
  question.requirements = {requirement};
  const Simulation simulation(question, 1e-6);
  const Falsified found =
      falsify(simulation, {{}, 4000, 1000, 8, 1, system::Stop({}, known.broken ? 10 : 2)});
  EXPECT_EQ(!found.candidates.empty(), known.broken) << found.least[0];
  if (known.broken) {
    EXPECT_LE(found.runs, 200U);
  }
}

Demands all_between(std::size_t n, double low, double high) {
  Demands all;
  for (std::size_t i = 0; i < n; ++i) all = join({all, test::between(i, low, high)});
  return all;
}

INSTANTIATE_TEST_SUITE_P(
    Loops, FalsifyProblem,
    ::testing::Values(Known{"double_pendulum_more", all_between(4, -1.5, 1.5), 0, 0, true},
                      Known{"airplane",
                            join({test::between(1, -1, 1), test::between(6, -1, 1),
                                  test::between(7, -1, 1), test::between(8, -1, 1)}),
                            0, 0, true},
                      Known{"double_pendulum_less", all_between(4, -1.7, 2), 0, 0, false},
                      Known{"single_pendulum", test::between(0, 0, 1), 0.5, 1, false},
                      Known{"acc", {{{-1, 0, 0, 1, 1.4, 0}, 10}}, 0, 0, false},
                      Known{"tora_remain", all_between(4, -2, 2), 0, 0, false},
                      Known{"tora_reach_sigmoid",
                            join({test::between(0, -0.1, 0.2), test::between(1, -0.9, -0.6)}), 5, 5,
                            false},
                      Known{"quad", test::between(2, 0.94, 1.06), 5, 5, false},
                      Known{"nav_set", all_between(2, -0.5, 0.5), 6, 6, false}),
    [](const auto& tested) { return std::string(tested.param.name); });

}  // namespace
}  // namespace bf_aot::reach
