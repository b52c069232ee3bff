#include "frontend/property/clause_boxes.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>

#include "frontend/property/verdict_tables.h"
#include "frontend/property/vnnlib/vnnlib.h"
#include "tests/support/property_text.h"

namespace bf_aot {
namespace {

constexpr int kBoxInputs = 3;

// Inputs in [0, 1] and an output, of which the condition y >= 0 belongs to every clause.
Property with(const std::string& conditions) {
  std::string text = "(declare-const Y_0 Real)";
  for (int i = 0; i < kBoxInputs; ++i) {
    const std::string x = "X_" + std::to_string(i);
    text += "(declare-const " + x + " Real)(assert (<= 0 " + x + " 1))";
  }
  return parse_property(text + "(assert (>= Y_0 0))" + conditions, "p");
}

Box box_with(const std::string& conditions) {
  const Property property = with(conditions);
  return box_of_case(property, property.cases.at(0));
}

TEST(ClauseBoxes, LeaveWhatConditionsDo) {
  EXPECT_EQ(box_with(""), (Box{{0, 0, 0}, {1, 1, 1}}));
  EXPECT_EQ(box_with("(assert (<= (+ X_0 X_1) 0.5))"), (Box{{0, 0, 0}, {0.5, 0.5, 1}}));
  EXPECT_EQ(box_with("(assert (>= (- X_0 X_1) 0.25))"), (Box{{0.25, 0, 0}, {1, 0.75, 1}}));
  EXPECT_EQ(box_with("(assert (<= (+ X_0 Y_0) 0.5))"), (Box{{0, 0, 0}, {1, 1, 1}}))
      << "outputs are not known";
  // One condition needs what the other leaves.
  EXPECT_EQ(box_with("(assert (<= X_2 (/ X_1 2)))(assert (<= X_1 (/ X_0 2)))(assert (<= X_0 0.5))"),
            (Box{{0, 0, 0}, {0.5, 0.25, 0.125}}));
  EXPECT_EQ(box_with("(assert (or (<= (+ X_0 X_1) 0.25) (<= (+ X_0 X_2) 0.5)))"),
            (Box{{0, 0, 0}, {0.5, 1, 1}}))
      << "the least box around those of both clauses";
}

// A third is between two doubles, of which the outer one is taken.
TEST(ClauseBoxes, EndsAreRoundedOutward) {
  const Box box = box_with("(assert (<= (+ (* 3 X_0) X_1) 1))(assert (>= (- X_2 X_1) (/ 2 3)))");
  EXPECT_GT(mpq_class(box.upper[0]) * 3, 1);
  EXPECT_LT(mpq_class(std::nextafter(box.upper[0], 0)) * 3, 1);
  EXPECT_LT(mpq_class(box.lower[2]) * 3, 2);
}

TEST(ClauseBoxes, EmptyClausesAreLeftOut) {
  EXPECT_TRUE(with("(assert (>= (+ X_0 X_1) 1.5))(assert (>= (- X_0 X_1) 0.9))").cases.empty());
  const Property property =
      with("(assert (or (and (>= (+ X_0 X_1) 1.5) (>= (- X_0 X_1) 0.9)) (<= (+ X_0 X_1) 0.5)))");
  ASSERT_EQ(property.cases.size(), 1u);
  EXPECT_EQ(property.cases[0].clauses.size(), 1u);
  EXPECT_EQ(property.rows.size(), 2u) << "rows that no condition speaks of are left out";
  EXPECT_EQ(box_of_case(property, property.cases[0]).upper[1], 0.5);
  // They meet at one point.
  const std::string ends = "(assert (<= X_0 0.25))(assert (<= X_1 0.75))";
  EXPECT_EQ(box_with("(assert (>= (+ X_0 X_1) 1))" + ends),
            (Box{{0.25, 0.75, 0}, {0.25, 0.75, 1}}));
  EXPECT_TRUE(with("(assert (> (+ X_0 X_1) 1))" + ends).cases.empty());
}

TEST(ClauseBoxes, EndWhereTheyComeCloserForEver) {
  const Box box = box_with("(assert (<= X_0 (* 0.9 X_1)))(assert (<= X_1 (* 0.9 X_0)))");
  EXPECT_GT(box.upper[0], 0);
  EXPECT_LT(box.upper[0], 0.1);
}

TEST(ClauseBoxes, FloatBoxesSayWhichEndsAreInside) {
  const FloatBoxes boxes = float_boxes(with("(assert (<= (+ X_0 X_1) (/ 1 3)))"));
  EXPECT_EQ(boxes.upper[0], float_at_least(mpq_class(1, 3)));
  EXPECT_EQ(boxes.inside, (std::vector<unsigned char>{3, 3, 3}));
}

// Points of the case's box at which a clause holds lie in its box.
TEST(ClauseBoxes, LoseNoPoint) {
  std::mt19937 random(5);
  const auto below = [&random](int n) {
    return static_cast<int>(random() % static_cast<unsigned>(n));
  };
  int shrunk = 0, held = 0, empty = 0;
  for (int round = 0; round < 2000; ++round) {
    Property property;
    property.input_count = kBoxInputs;
    PropertyCase& one = property.cases.emplace_back();
    for (int i = 0; i < kBoxInputs; ++i) {
      one.box.lower.push_back(below(5) - 4);
      one.box.upper.push_back(one.box.lower.back() + below(5));
    }
    Clause& clause = one.clauses.emplace_back();
    for (int k = 1 + below(3); k > 0; --k) {
      PropertyRow row;
      for (int i = 0; i < kBoxInputs; ++i)
        if (const int factor = below(13) - 6; factor != 0)
          row.inputs.emplace_back(i, mpq_class(factor) / (1 + below(7)));
      if (row.inputs.empty()) continue;
      for (auto& [input, factor] : row.inputs) factor.canonicalize();
      property.rows.push_back(std::move(row));
      clause.push_back({static_cast<int>(property.rows.size()) - 1, below(2) == 0, below(4) == 0,
                        mpq_class(below(41) - 20) / 5});
      clause.back().limit.canonicalize();
    }
    const std::optional<Box> box = box_of_clause(property.rows, clause, one.box);
    empty += box ? 0 : 1;
    shrunk += box && *box != one.box ? 1 : 0;
    for (int k = 0; k < 40; ++k) {
      std::vector<mpq_class> x;
      for (std::size_t i = 0; i < kBoxInputs; ++i)
        x.push_back(mpq_class(one.box.lower[i]) +
                    mpq_class(one.box.upper[i] - one.box.lower[i]) * below(9) / 8);
      bool holds = true;
      for (const Condition& condition : clause)
        holds = holds && test::holds(property, condition, x, {});
      if (!holds) continue;
      ++held;
      ASSERT_TRUE(box.has_value());
      for (std::size_t i = 0; i < kBoxInputs; ++i) {
        ASSERT_LE(mpq_class(box->lower[i]), x[i]);
        ASSERT_GE(mpq_class(box->upper[i]), x[i]);
      }
    }
  }
  EXPECT_GT(shrunk, 300);
  EXPECT_GT(empty, 100);
  EXPECT_GT(held, 5000);
}

}  // namespace
}  // namespace bf_aot
