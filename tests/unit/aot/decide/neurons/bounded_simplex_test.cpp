#include "aot/decide/neurons/programs/bounded_simplex.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace bf_aot::decide {
namespace {

// The least of c x + sum multiplier (A x - b) over the box: no multipliers >= 0 make it larger than
// the program's least cost.
double dual_bound(const LinearProgram& program, const std::vector<double>& multipliers,
                  bool with_cost) {
  double bound = 0;
  for (std::size_t i = 0; i < program.rows(); ++i) bound -= multipliers[i] * program.limit[i];
  for (std::size_t k = 0; k < program.variables; ++k) {
    double factor = with_cost ? program.cost[k] : 0;
    for (std::size_t i = 0; i < program.rows(); ++i)
      factor += multipliers[i] * program.matrix[i * program.variables + k];
    bound += std::min(factor * program.lower[k], factor * program.upper[k]);
  }
  return bound;
}

double worst_row(const LinearProgram& program, const std::vector<double>& x) {
  double worst = -INFINITY;
  for (std::size_t i = 0; i < program.rows(); ++i) {
    double sum = -program.limit[i];
    for (std::size_t k = 0; k < program.variables; ++k)
      sum += program.matrix[i * program.variables + k] * x[k];
    worst = std::max(worst, sum);
  }
  return worst;
}

// Bounds from both sides meet, or multipliers show that there is no point.
TEST(BoundedSimplex, ProvesWhatItAnswers) {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> number(-1, 1);
  int optimal = 0, infeasible = 0;
  for (int n = 0; n < 400; ++n) {
    LinearProgram program;
    program.variables = 1 + random() % 12;
    const std::size_t rows = random() % 10;
    for (std::size_t k = 0; k < program.variables; ++k) {
      program.cost.push_back(random() % 5 == 0 ? 0 : number(random));
      program.lower.push_back(number(random));
      program.upper.push_back(program.lower[k] + (random() % 6 == 0 ? 0 : 1 + number(random)));
    }
    for (std::size_t i = 0; i < rows; ++i) {
      for (std::size_t k = 0; k < program.variables; ++k)
        program.matrix.push_back(random() % 3 == 0 ? 0 : number(random));
      program.limit.push_back(0.7 * number(random));
    }
    const ProgramResult result = solve(program);
    if (result.end == ProgramEnd::kOptimal) {
      ++optimal;
      double cost = 0;
      for (std::size_t k = 0; k < program.variables; ++k) {
        EXPECT_GE(result.x[k], program.lower[k]);
        EXPECT_LE(result.x[k], program.upper[k]);
        cost += program.cost[k] * result.x[k];
      }
      EXPECT_LE(worst_row(program, result.x), 1e-7);
      EXPECT_NEAR(dual_bound(program, result.multipliers, true), cost, 1e-7);
    } else {
      ASSERT_EQ(result.end, ProgramEnd::kInfeasible);
      ++infeasible;
      EXPECT_GT(dual_bound(program, result.multipliers, false), 0);
    }
    for (const double each : result.multipliers) EXPECT_GE(each, 0);
  }
  EXPECT_GT(optimal, 100);
  EXPECT_GT(infeasible, 50);
}

TEST(BoundedSimplex, FindsTheCornerOfATriangle) {
  // Least -x - 2 y with x + y <= 1 on the unit square.
  const LinearProgram program = {2, {-1, -2}, {0, 0}, {1, 1}, {1, 1}, {1}};
  const ProgramResult result = solve(program);
  ASSERT_EQ(result.end, ProgramEnd::kOptimal);
  EXPECT_EQ(result.x, (std::vector<double>{0, 1}));
}

}  // namespace
}  // namespace bf_aot::decide
