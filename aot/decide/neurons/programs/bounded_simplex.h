#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace bf_aot::decide {

// A linear program: the least c x over lower <= x <= upper with A x <= b. All of lower and upper
// are finite.
struct LinearProgram {
  std::size_t variables = 0;
  std::vector<double> cost, lower, upper;  // [variables]
  std::vector<double> matrix;              // [rows][variables]
  std::vector<double> limit;               // [rows]

  std::size_t rows() const { return limit.size(); }
};

enum class ProgramEnd : std::uint8_t { kOptimal, kInfeasible, kGivenUp };

// A solution in plain double. It is a proposal, which whoever uses it checks.
struct ProgramResult {
  ProgramEnd end = ProgramEnd::kGivenUp;
  std::vector<double> x;  // with kOptimal
  // [rows], >= 0. With kOptimal c x + sum multiplier (A x - b) is least at x over the box; with
  // kInfeasible sum multiplier (A x - b) > 0 on all of the box.
  std::vector<double> multipliers;
};

// Solves by the dual simplex method with bounded variables, on a full dictionary (Maros,
// Computational Techniques of the Simplex Method, 2003, chapter 10). The rows' slacks are the first
// basis: it is dual feasible, since every variable has two ends.
ProgramResult solve(const LinearProgram& program);

}  // namespace bf_aot::decide
