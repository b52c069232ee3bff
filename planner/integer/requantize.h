#pragma once

#include <functional>
#include <string>
#include <vector>

#include "planner/integer/chain.h"
#include "planner/plan/integer.h"

namespace bf_aot {

// The functions from integer sums to codes, and integer arithmetic that computes them exactly.

// Code k + 1 is reached where cuts[k] says; they never fall.
using Cuts = std::vector<Cut>;

// A row's sums: what they mean, factor sum + offset with factor > 0, and which occur.
struct RowSums {
  Range factor, offset;
  std::int64_t least = 0, most = 0;
};

// The row's codes, without arithmetic. None where constants are known too loosely to tell for some
// sum.
std::optional<Requantizer> steps_of_cuts(const RowSums& sums, const Cuts& cuts);

// The row's codes by the chain's images of single sums, for chains without cuts. Sums are tried
// until all steps are found. None also where a link is not known to rise.
std::optional<Requantizer> steps_of_images(const RowSums& sums, const Chain& chain, int codes);

// The code of a sum, by the steps.
int code_of(const Requantizer& row, std::int64_t sum);

// Returns true if the row's arithmetic has the same codes as its steps for all sums that occur.
bool computes_its_steps(const Requantizer& row, Rounding rounding, int multiplier_bytes);

// The shape of a row's steps, from which arithmetic is guessed: codes per unit of the sum, and how
// its chain rounds where it is that simple.
struct RowShape {
  mpq_class slope;
  std::optional<RoundForm> rounds;  // of the sum itself
};

// The cheapest arithmetic that computes all rows exactly; Rounding::kSteps does always.
Requantization find_arithmetic(std::vector<Requantizer> rows, const std::vector<RowShape>& shapes);

// The sum of two codes before it is rounded: a_slope a + b_slope b + offset, in codes; `after` is
// what is added behind the rounding, and part of offset too. Where the chain rounds in another way
// `rounds` is false, and only the slopes are right.
struct PairShape {
  mpq_class a_slope, b_slope, offset;
  mpz_class after;
  bool rounds = false;
  mpz_class a_multiple, b_multiple;  // of the slopes' largest common divisor
};

// Multipliers and a shift that have the codes sum.code. False where no 64-bit arithmetic is exact.
bool find_arithmetic(const PairShape& shape, GridSum& sum);

// Returns true if the arithmetic of a sum has its codes for all pairs.
bool computes_its_codes(const GridSum& sum);

}  // namespace bf_aot
