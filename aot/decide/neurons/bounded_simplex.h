#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace bf_aot::decide {

// Least c x over lower <= x <= upper with A x <= b; all bounds are finite.
struct LinearProgram {
  std::size_t variables = 0;
  std::vector<double> cost, lower, upper;  // [variables]
  std::vector<double> matrix;              // [rows][variables]
  std::vector<double> limit;               // [rows]

  std::size_t rows() const { return limit.size(); }
};

enum class ProgramEnd : std::uint8_t { kOptimal, kInfeasible, kGivenUp };

// In plain double: proposals, which whoever uses them checks.
struct ProgramResult {
  ProgramEnd end = ProgramEnd::kGivenUp;
  std::vector<double> x;  // of kOptimal
  // [rows], >= 0, with c x + sum multiplier (A x - b) least at x over the box (kOptimal), or
  // sum multiplier (A x - b) > 0 on all of the box (kInfeasible).
  std::vector<double> multipliers;
};

// The dual simplex method with bounded variables, on a full dictionary (Maros, Computational
// Techniques of the Simplex Method, 2003, chapter 10). The rows' slacks are the first basis: it is
// dual feasible, since every variable has two ends.
ProgramResult solve(const LinearProgram& program);

}  // namespace bf_aot::decide
