#include "aot/decide/boxes/relations.h"

#include <gtest/gtest.h>

#include <random>

#include "tests/support/property_text.h"

namespace bf_aot::decide {
namespace {

// Inputs in [0, 1], and a clause of conditions on them.
struct Question {
  Property property;

  explicit Question(std::int64_t inputs) {
    property.input_count = inputs;
    PropertyCase& one = property.cases.emplace_back();
    one.box.lower.assign(static_cast<std::size_t>(inputs), 0);
    one.box.upper.assign(static_cast<std::size_t>(inputs), 1);
    one.inner = one.box;
    one.clauses.emplace_back();
  }

  // sum of factors x <= limit
  void add(const std::vector<int>& factors, const mpq_class& limit, bool strict = false) {
    PropertyRow row;
    for (std::size_t i = 0; i < factors.size(); ++i)
      if (factors[i] != 0) row.inputs.emplace_back(i, factors[i]);
    const bool negated = row.inputs[0].second < 0;
    if (negated)
      for (auto& [input, factor] : row.inputs) factor = -factor;
    only().clauses[0].push_back({static_cast<int>(property.rows.size()), negated, strict, limit});
    property.rows.push_back(std::move(row));
  }

  PropertyCase& only() { return property.cases[0]; }

  bool holds(const std::vector<mpq_class>& x) {
    for (const Condition& condition : only().clauses[0])
      if (!test::holds(property, condition, x, {})) return false;
    return true;
  }

  std::optional<std::vector<mpq_class>> moved(const std::vector<mpq_class>& x) {
    return move_into(property, only(), only().clauses[0], x);
  }
};

TEST(Relations, PointsAreMovedOntoAnEquality) {
  Question simplex(3);
  simplex.add({1, 1, 1}, 1);
  simplex.add({-1, -1, -1}, -1);
  const std::vector<mpq_class> near = {mpq_class(0.3), mpq_class(0.3), mpq_class(0.40001)};
  EXPECT_FALSE(simplex.holds(near));
  const auto x = simplex.moved(near);
  ASSERT_TRUE(x.has_value());
  EXPECT_EQ((*x)[0] + (*x)[1] + (*x)[2], 1);
  EXPECT_TRUE(simplex.holds(*x));
  EXPECT_FALSE(simplex.moved(*x).has_value()) << "it is there already";
  EXPECT_FALSE(simplex.moved({mpq_class(1), mpq_class(1), mpq_class(1)}).has_value()) << "too far";
}

TEST(Relations, StrictConditionsKeepRoom) {
  Question half(2);
  half.add({1, -1}, 0, true);
  const auto x = half.moved({mpq_class(1, 2), mpq_class(1, 2)});
  ASSERT_TRUE(x.has_value());
  EXPECT_LT((*x)[0], (*x)[1]);
  half.add({-1, 1}, 0);
  EXPECT_FALSE(half.moved({mpq_class(1, 2), mpq_class(1, 2)}).has_value()) << "nothing is left";
}

TEST(Relations, PointsStayInTheBoxAndOutOfFixedInputs) {
  Question question(3);
  question.add({-1, -1, 0}, mpq_class(-19998, 10000));
  question.only().inner.lower[1] = question.only().inner.upper[1] = 1;
  question.only().box.lower[1] = 1;
  const auto x = question.moved({mpq_class(0.9997), mpq_class(1), mpq_class(0)});
  ASSERT_TRUE(x.has_value());
  EXPECT_EQ((*x)[1], 1);
  EXPECT_LE((*x)[0], 1);
  EXPECT_EQ((*x)[2], 0) << "no condition speaks of it";
}

TEST(Relations, RandomPointsArePlacedAndMoved) {
  std::mt19937 random(3);
  int reached = 0;
  constexpr int kRounds = 300;
  for (int round = 0; round < kRounds; ++round) {
    const auto inputs = static_cast<std::size_t>(2 + random() % 5);
    Question question(static_cast<std::int64_t>(inputs));
    const auto any = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
    std::vector<mpq_class> kept;  // a point that satisfies all
    for (std::size_t i = 0; i < inputs; ++i) kept.push_back(mpq_class(any(9)) / 8);
    for (int k = 1 + any(3); k > 0; --k) {
      std::vector<int> factors;
      mpq_class value = 0;
      for (std::size_t i = 0; i < inputs; ++i) {
        factors.push_back(any(7) - 3);
        value += factors.back() * kept[i];
      }
      if (std::ranges::all_of(factors, [](int f) { return f == 0; })) continue;
      question.add(factors, value);
      if (any(2) == 0) continue;
      for (int& factor : factors) factor = -factor;
      question.add(factors, -value);
    }
    const std::vector<float> lower(inputs, 0), upper(inputs, 1);
    const Relations relations(question.property, question.only().clauses[0], lower, upper);
    std::vector<float> point;
    for (std::size_t i = 0; i < inputs; ++i)
      point.push_back(static_cast<float>(any(1000)) / 1000.0F);
    relations.place([&point](std::size_t i) -> float& { return point[i]; });
    std::vector<mpq_class> x(point.begin(), point.end());
    if (!question.holds(x)) {
      auto moved = question.moved(x);
      if (!moved) continue;
      x = std::move(*moved);
    }
    EXPECT_TRUE(question.holds(x));
    for (const mpq_class& each : x) EXPECT_TRUE(each >= 0 && each <= 1);
    ++reached;
  }
  EXPECT_GT(reached, kRounds * 9 / 10);
}

// A direction against a condition that is met loses what leads out.
TEST(Relations, DirectionsFollowConditionsThatAreMet) {
  Question simplex(3);
  simplex.add({1, 1, 1}, 1);
  const std::vector<float> lower(3, 0), upper(3, 1);
  const Relations relations(simplex.property, simplex.only().clauses[0], lower, upper);
  std::vector<float> x = {0.25F, 0.25F, 0.5F}, slope = {-3, -1, -2};
  const auto at = [](std::vector<float>& of) {
    return [&of](std::size_t i) -> float& { return of[i]; };
  };
  relations.bend(at(x), at(slope));
  EXPECT_NEAR(static_cast<double>(slope[0] + slope[1] + slope[2]), 0, 1e-5);
  EXPECT_NEAR(static_cast<double>(slope[0]), -1, 1e-5);
  x = {0.25F, 0.25F, 0.25F};
  slope = {-3, -1, -2};
  relations.bend(at(x), at(slope));
  EXPECT_EQ(slope, (std::vector<float>{-3, -1, -2})) << "it is not met";
}

}  // namespace
}  // namespace bf_aot::decide
