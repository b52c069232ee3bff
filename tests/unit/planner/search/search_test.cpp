#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "planner/search/climb.h"
#include "planner/search/goal.h"

namespace bf_aot {
namespace {

const Goal kFastest({1, 0, 0, 0}, Goal::no_limits());

// Metrics as functions of a candidate, with a count of what was measured.
struct Toy {
  std::vector<int> options;
  Landscape::Measure metrics;
  int measured = 0;
  int allowed = 1 << 20;

  Landscape landscape() {
    return Landscape(
        options,
        [this](const Candidate& c) {
          ++measured;
          return metrics(c);
        },
        [this] { return measured < allowed; });
  }
};

// Each axis costs its option; a missing option on axis i makes the result 2^i looser.
Toy trade_off(int axes) {
  Toy toy;
  toy.options.assign(static_cast<std::size_t>(axes), 2);
  toy.metrics = [](const Candidate& c) {
    Metrics m{1, 100, 1, 1};
    for (std::size_t i = 0; i < c.size(); ++i) {
      m.seconds += c[i];
      m.bytes += 10 * c[i];
      if (c[i] == 0) m.looseness += std::ldexp(1, static_cast<int>(i));
    }
    return m;
  };
  return toy;
}

TEST(Goal, LimitsGoBeforeValue) {
  Metrics limits = Goal::no_limits();
  limits.seconds = 2;
  limits.bytes = 100;
  const Goal goal({0, 0, 1, 0}, limits);
  const Metrics kept{2, 100, 9, 0}, slow{3, 100, 1, 0}, slower{4, 100, 1, 0}, both{3, 200, 1, 0};
  EXPECT_EQ(goal.excess(kept), 0);
  EXPECT_EQ(goal.excess(slow), 0.5);
  EXPECT_EQ(goal.excess(both), 1.5);
  EXPECT_TRUE(goal.prefers(kept, slow));
  EXPECT_TRUE(goal.prefers(slow, slower));
  EXPECT_FALSE(goal.prefers(slower, slow));
  EXPECT_FALSE(goal.prefers(kept, kept));
}

TEST(Goal, EqualValuesAreDecidedByTheOtherMetrics) {
  EXPECT_TRUE(kFastest.prefers({1, 5, 1, 1}, {1, 5, 2, 1}));
  EXPECT_TRUE(kFastest.prefers({1, 4, 1, 1}, {1, 5, 1, 1}));
}

TEST(Goal, InfiniteMetricsCompare) {
  const double inf = std::numeric_limits<double>::infinity();
  const Metrics wide{1, 1, inf, 1}, tight{2, 1, 3, 1};
  EXPECT_TRUE(kFastest.prefers(wide, tight));  // a weight of 0 is no NaN
  EXPECT_TRUE(Goal({0, 0, 1, 0}, Goal::no_limits()).prefers(tight, wide));
  Metrics limits = Goal::no_limits();
  limits.looseness = 4;
  EXPECT_TRUE(Goal({1, 0, 0, 0}, limits).prefers(tight, wide));
}

TEST(Landscape, GreedyBeamAndExhaustiveAgreeOnASmallSpace) {
  for (const double limit : {1.0, 2.0, 3.0, 5.0}) {
    Metrics limits = Goal::no_limits();
    limits.seconds = limit;
    const Goal goal({0, 0, 1, 0}, limits);
    Toy toy = trade_off(4);
    Landscape greedy = toy.landscape(), beam = toy.landscape(), all = toy.landscape();
    for (Landscape* landscape : {&greedy, &beam, &all}) landscape->start_from({0, 0, 0, 0});
    const Candidate best = all.exhaust(goal);
    EXPECT_EQ(all.known().size(), 16U);
    EXPECT_EQ(greedy.climb(goal, 1), best) << limit;
    EXPECT_EQ(beam.climb(goal, 3), best) << limit;
  }
}

// Two axes help only together: one step at a time finds no way, a beam does.
TEST(Landscape, ABeamCrossesAValley) {
  Toy toy;
  toy.options = {2, 2, 2};
  toy.metrics = [](const Candidate& c) {
    const double seconds = 10 - 5.0 * (c[0] * c[1]) + c[0] + c[1] + 0.25 * c[2];
    return Metrics{seconds, 1, 1, 1};
  };
  Landscape greedy = toy.landscape(), beam = toy.landscape();
  greedy.start_from({0, 0, 0});
  beam.start_from({0, 0, 0});
  EXPECT_EQ(greedy.climb(kFastest, 1), (Candidate{0, 0, 0}));
  EXPECT_EQ(beam.climb(kFastest, 4), (Candidate{1, 1, 0}));
}

TEST(Landscape, IsNeverWorseThanItsStarts) {
  std::mt19937 random(3);
  for (int round = 0; round < 50; ++round) {
    std::map<Candidate, Metrics> metrics;
    std::uniform_real_distribution<double> number(0, 1);
    Toy toy;
    toy.options = {2, 3, 2, 2};
    toy.metrics = [&](const Candidate& c) {
      return metrics.emplace(c, Metrics{number(random), 1, number(random), 1}).first->second;
    };
    Landscape landscape = toy.landscape();
    const Candidate starts[] = {{0, 0, 0, 0}, {1, 2, 1, 1}, {0, 1, 0, 1}};
    for (const Candidate& start : starts) landscape.start_from(start);
    const Candidate found = landscape.climb(kFastest, 1);
    for (const Candidate& start : starts)
      EXPECT_FALSE(kFastest.prefers(landscape.measure(start), landscape.measure(found)));
  }
}

TEST(Landscape, MeasuresNothingTwiceAndStopsWhenItMust) {
  Toy toy = trade_off(6);
  Landscape landscape = toy.landscape();
  landscape.start_from(Candidate(6, 0));
  landscape.climb(kFastest, 2);
  const int once = toy.measured;
  landscape.climb(kFastest, 2);
  EXPECT_EQ(toy.measured, once);
  EXPECT_FALSE(landscape.was_cut());

  toy.allowed = toy.measured + 3;
  landscape.climb(Goal({0, 0, 1, 0}, Goal::no_limits()), 2);
  EXPECT_TRUE(landscape.was_cut());
  EXPECT_LE(toy.measured, toy.allowed);
}

}  // namespace
}  // namespace bf_aot
