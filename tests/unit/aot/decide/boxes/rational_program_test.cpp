// Linear programs in rationals, against all vertices of small ones.

#include "aot/decide/boxes/rational_program.h"

#include <gtest/gtest.h>

#include <random>

namespace bf_aot::decide {
namespace {

using Row = RationalProgram::Row;

bool satisfies(const std::vector<Row>& rows, const mpq_class& x, const mpq_class& y) {
  for (const Row& row : rows)
    if (row.factors[0] * x + row.factors[1] * y > row.limit) return false;
  return true;
}

// The largest value of two variables, over the points at which two rows are met.
std::optional<mpq_class> largest_at_vertices(const std::vector<Row>& rows,
                                             const std::vector<mpq_class>& objective) {
  std::optional<mpq_class> most;
  for (const Row& p : rows)
    for (const Row& q : rows) {
      const mpq_class det = p.factors[0] * q.factors[1] - p.factors[1] * q.factors[0];
      if (det == 0) continue;
      const mpq_class x = (p.limit * q.factors[1] - p.factors[1] * q.limit) / det;
      const mpq_class y = (p.factors[0] * q.limit - p.limit * q.factors[0]) / det;
      const mpq_class value = objective[0] * x + objective[1] * y;
      if (satisfies(rows, x, y) && (!most || value > *most)) most = value;
    }
  return most;
}

TEST(RationalProgram, LargestValueIsThatOfAVertex) {
  std::mt19937 random(5);
  const auto number = [&] { return mpq_class(static_cast<int>(random() % 13) - 6); };
  int empty = 0, solved = 0, known = 0;
  for (int trial = 0; trial < 2000; ++trial) {
    RationalProgram program;
    program.lower = {number(), number()};
    program.upper = {program.lower[0] + static_cast<int>(random() % 4),
                     program.lower[1] + static_cast<int>(random() % 4)};
    const int count = static_cast<int>(random() % 5);
    for (int i = 0; i < count; ++i) program.rows.push_back({{number(), number()}, number()});
    program.objective = {number(), number()};
    std::vector<Row> all = program.rows;
    all.push_back({{1, 0}, program.upper[0]});
    all.push_back({{0, 1}, program.upper[1]});
    all.push_back({{-1, 0}, -program.lower[0]});
    all.push_back({{0, -1}, -program.lower[1]});
    const auto expected = largest_at_vertices(all, program.objective);
    EXPECT_EQ(largest_value(program), expected);
    ++(expected ? solved : empty);
    const auto optimum = maximise(program);
    ASSERT_EQ(optimum.has_value(), expected.has_value());
    if (optimum) {
      const mpq_class &x = optimum->x[0], &y = optimum->x[1];
      EXPECT_EQ(program.objective[0] * x + program.objective[1] * y, optimum->value);
      EXPECT_TRUE(satisfies(all, x, y));
    }
    const Room room = room_of(program);
    EXPECT_FALSE(room == Room::kNone && expected.has_value());
    EXPECT_FALSE(room == Room::kSome && !expected.has_value());
    known += room == Room::kOpen ? 0 : 1;
  }
  EXPECT_GT(known, 1500) << "rows that meet in a point or on an edge are left open";
  EXPECT_GT(empty, 200);
  EXPECT_GT(solved, 200);
}

TEST(RationalProgram, WithoutVariables) {
  RationalProgram program;
  EXPECT_EQ(largest_value(program), mpq_class(0));
  program.rows.push_back({{}, -1});
  EXPECT_EQ(largest_value(program), std::nullopt);
  EXPECT_EQ(room_of(program), Room::kNone);
}

}  // namespace
}  // namespace bf_aot::decide
