#include "aot/reach/search/demands.h"

#include <gmpxx.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "tests/seed.h"

namespace bf_aot::reach {
namespace {

constexpr std::size_t kSymbols = 3;

Formula compare(std::size_t value, bool strict = false) {
  return {Formula::Kind::kCompare, value, strict, {}};
}
Formula any(std::vector<Formula> parts) {
  return {Formula::Kind::kAny, 0, false, std::move(parts)};
}
Formula all(std::vector<Formula> parts) {
  return {Formula::Kind::kAll, 0, false, std::move(parts)};
}

bool is_true(const Formula& formula, const std::vector<mpq_class>& values) {
  const auto part = [&](const Formula& each) { return is_true(each, values); };
  switch (formula.kind) {
    case Formula::Kind::kCompare:
      return formula.strict ? values[formula.value] < 0 : values[formula.value] <= 0;
    case Formula::Kind::kAll:
      return std::ranges::all_of(formula.parts, part);
    case Formula::Kind::kAny:
      return std::ranges::any_of(formula.parts, part);
  }
  return false;
}

class Drawn {
 public:
  explicit Drawn(std::uint64_t seed) : random_(seed) {}

  double number(double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random_);
  }
  std::size_t below(std::size_t n) { return random_() % n; }

  // Often such that a comparison holds, or one of two does.
  std::vector<Form> values(std::size_t count) {
    std::vector<Form> made;
    for (std::size_t i = 0; i < count; ++i) {
      Form form{number(-2, 0.5), below(2) == 0 ? 0 : number(0, 0.1), {}};
      for (std::size_t k = 0; k < kSymbols; ++k) form.slope.push_back(number(-1, 1));
      made.push_back(form);
    }
    if (below(2) == 0) made[1] = times(made[0], {-number(0.5, 2), 0});
    return made;
  }

  Formula formula(std::size_t values, int depth) {
    if (depth == 0 || below(3) == 0) return compare(below(values), below(2) == 0);
    std::vector<Formula> parts;
    for (std::size_t i = 0; i < 2 + below(2); ++i) parts.push_back(formula(values, depth - 1));
    return below(2) == 0 ? any(parts) : all(parts);
  }

  // What forms are for values of the symbols and of the radii, ends among them.
  std::vector<mpq_class> point(const std::vector<Form>& forms) {
    double z[kSymbols];
    for (double& each : z) each = below(2) == 0 ? (below(2) == 0 ? -1 : 1) : number(-1, 1);
    std::vector<mpq_class> made;
    for (const Form& form : forms) {
      mpq_class sum(form.centre);
      for (std::size_t k = 0; k < kSymbols; ++k) sum += mpq_class(form.slope[k]) * mpq_class(z[k]);
      made.emplace_back(sum + mpq_class(form.radius) * mpq_class(number(-1, 1)));
    }
    return made;
  }

 private:
  std::mt19937_64 random_;
};

TEST(Demands, WhatHoldsIsTrueAtAllPoints) {
  Drawn drawn(testing::seed_from_environment(5));
  int proven = 0;
  for (int trial = 0; trial < 4000; ++trial) {
    const std::vector<Form> values = drawn.values(3);
    const Formula formula = drawn.formula(values.size(), 2);
    if (!holds(formula, values)) continue;
    ++proven;
    for (int point = 0; point < 40; ++point)
      ASSERT_TRUE(is_true(formula, drawn.point(values))) << trial;
  }
  EXPECT_GT(proven, 400);
}

// z - 1/4 and -z - 1/4: at each z one is at most 0, though neither is at all.
TEST(Demands, OneOfTwoHoldsTogether) {
  const Form rises{-0.25, 0, {1}}, falls{-0.25, 0, {-1}};
  EXPECT_FALSE(holds(compare(0), {rises, falls}));
  EXPECT_TRUE(holds(any({compare(0), compare(1)}), {rises, falls}));
  EXPECT_FALSE(holds(all({compare(0), compare(1)}), {rises, falls}));
  // Their sum is 0 for these: one is at most 0, but none need be below.
  const Form up{0, 0, {1}}, down{0, 0, {-1}};
  EXPECT_FALSE(holds(any({compare(0, true), compare(1, true)}), {up, down}));
}

TEST(Demands, FormsThatClaimNothingProveNothing) {
  const Form nothing = form_of(kEverything), below{-1, 0, {}};
  EXPECT_FALSE(holds(compare(0), {nothing}));
  EXPECT_FALSE(holds(any({compare(0), compare(0)}), {nothing}));
  EXPECT_TRUE(holds(any({compare(0), compare(1)}), {nothing, below}));
  EXPECT_TRUE(holds(all({}), {}));
  EXPECT_FALSE(holds(any({}), {}));
}

Segment between(int from, int to) {
  return {0, from, to, {}, {}};
}

TEST(Demands, WindowsAreMetByMoreThanAnEnd) {
  Requirement requirement;
  requirement.from = 2;
  requirement.to = 4;
  EXPECT_FALSE(is_demanded(requirement, between(1, 1)));
  EXPECT_TRUE(is_demanded(requirement, between(2, 2)));
  EXPECT_TRUE(is_demanded(requirement, between(4, 4)));
  EXPECT_FALSE(is_demanded(requirement, between(5, 5)));
  EXPECT_FALSE(is_demanded(requirement, between(1, 2)));
  EXPECT_TRUE(is_demanded(requirement, between(1, 3)));
  EXPECT_TRUE(is_demanded(requirement, between(3, 9)));
  EXPECT_FALSE(is_demanded(requirement, between(4, 5)));
  requirement.from = 3;
  requirement.to = 3;
  EXPECT_TRUE(is_demanded(requirement, between(2, 4)));
}

}  // namespace
}  // namespace bf_aot::reach
