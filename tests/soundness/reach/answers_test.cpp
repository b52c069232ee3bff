// Answers about random loops agree with simulations, whose errors are far below the slack here:
// what is verified no simulation breaks, and what is falsified the simulation of the violation
// breaks, in the time that it names. BF_SEED=n repeats a run.

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "aot/reach/search/reach.h"
#include "aot/reach/search/simulate.h"
#include "tests/seed.h"
#include "tests/soundness/reach/random_loops.h"
#include "tests/support/loops.h"

namespace bf_aot::soundness {
namespace {

using reach::PlantKind;
using reach::Question;
using reach::Requirement;

constexpr double kSlack = 1e-7;

// A window of the horizon: all of it, a time, or a part of it.
void set_window(Random& random, const reach::Loop& loop, Requirement& requirement) {
  using Kind = Requirement::Kind;
  const mpq_class end = loop.period * loop.steps;
  const auto time = [&] {
    if (loop.kind != PlantKind::kContinuous)
      return mpq_class(loop.period * below(random, loop.steps + 1));
    return mpq_class(end * mpq_class(static_cast<unsigned long>(below(random, 21)), 20));
  };
  requirement.kind =
      std::vector<Kind>{Kind::kAlways, Kind::kNever, Kind::kAt, Kind::kWithin}[below(random, 4)];
  requirement.from = 0;
  requirement.to = end;
  if (requirement.kind == Kind::kAt) requirement.from = requirement.to = time();
  if (requirement.kind != Kind::kWithin) return;
  requirement.from = time();
  requirement.to = time();
  if (requirement.to < requirement.from) std::swap(requirement.from, requirement.to);
}

// c x <= d, alone or one of two, where d is near what simulations reach.
Requirement random_requirement(Random& random, const reach::Loop& loop, std::size_t controls) {
  Requirement made;
  set_window(random, loop, made);
  std::vector<test::LinearDemand> demands(1 + below(random, 2));
  for (test::LinearDemand& demand : demands) {
    for (std::size_t i = 0; i < loop.states(); ++i)
      demand.factors.push_back(below(random, 2) == 0 ? 0 : in_range(random, -1, 1));
    demand.factors[below(random, loop.states())] = 1;
    demand.strict = below(random, 2) == 0;
  }
  const auto kind = below(random, 2) == 0 ? reach::Formula::Kind::kAll : reach::Formula::Kind::kAny;
  const auto condition = [&] {
    return test::linear_condition(demands, loop.states(), controls, kind);
  };
  made.must = condition();
  const Question probe{loop, {made}};
  const reach::Simulation simulation(probe);
  double least = 1e300;
  for (const auto& margins : simulation.margins(reach::typical_scenarios(loop, 32, 5)))
    least = std::min(least, margins[0].value);
  // Up to a twentieth of a state's size inside or outside of what 32 runs reach.
  for (test::LinearDemand& demand : demands)
    demand.constant = least + in_range(random, -0.05, 0.02);
  made.must = condition();
  return made;
}

reach::ReachSettings settings() {
  reach::ReachSettings made;
  made.seconds = 0.5;
  made.most_cells = 64;
  made.compile = host_options();
  return made;
}

void check_verified(const Question& question, std::uint64_t seed) {
  const reach::Simulation simulation(question);
  for (const auto& margins : simulation.margins(reach::typical_scenarios(question.loop, 200, seed)))
    for (const reach::Margin& margin : margins)
      EXPECT_GT(margin.value, -kSlack) << "BF_SEED=" << seed;
}

void check_falsified(const Question& question, const reach::Violation& violation,
                     std::uint64_t seed) {
  const reach::Scenario scenario{violation.start, violation.disturbances};
  for (std::size_t i = 0; i < question.loop.states(); ++i) {
    EXPECT_GE(violation.start[i], question.loop.initial.lower[i]);
    EXPECT_LE(violation.start[i], question.loop.initial.upper[i]);
  }
  // The same demand in the violation's time alone.
  Question there = question;
  Requirement& requirement = there.requirements[violation.requirement];
  EXPECT_LE(violation.from, requirement.to) << "BF_SEED=" << seed;
  EXPECT_GE(violation.to, requirement.from) << "BF_SEED=" << seed;
  requirement.kind = Requirement::Kind::kWithin;
  requirement.from = std::max(requirement.from, violation.from);
  requirement.to = std::min(requirement.to, violation.to);
  const reach::Simulation simulation(there);
  const auto margins = simulation.margins(std::vector<reach::Scenario>{scenario});
  EXPECT_LT(margins[0][violation.requirement].value, kSlack) << "BF_SEED=" << seed;
}

TEST(ReachAnswers, AgreeWithSimulations) {
  std::size_t verified = 0, falsified = 0, unknown = 0;
  const std::uint64_t first = testing::seed_from_environment(515000);
  for (std::uint64_t round = 0;
       round < 60U * static_cast<unsigned>(testing::rounds_from_environment()); ++round) {
    const std::uint64_t seed = first + round;
    Random random(seed);
    const auto kind = static_cast<PlantKind>(round % 3);
    Question question{random_loop(random, {kind, false}), {}};
    const std::size_t controls =
        question.loop.controller ? reach::Simulation(question).controls() : 0;
    for (std::size_t k = 0; k < 1 + below(random, 2); ++k)
      question.requirements.push_back(random_requirement(random, question.loop, controls));
    const reach::ReachOutcome outcome = reach::reach(question, settings(), {});
    if (outcome.answer == reach::ReachAnswer::kVerified) {
      ++verified;
      check_verified(question, seed);
    } else if (outcome.answer == reach::ReachAnswer::kFalsified) {
      ++falsified;
      ASSERT_TRUE(outcome.violation);
      check_falsified(question, *outcome.violation, seed);
    } else {
      ++unknown;
    }
  }
  EXPECT_GT(verified, 10U);
  EXPECT_GT(falsified, 10U);
  EXPECT_LT(unknown, verified + falsified);
}

}  // namespace
}  // namespace bf_aot::soundness
