#pragma once

#include "bf/contract/integers.h"
#include "bf/contract/workspace.h"
#include "bf/search/verdict.h"

// Chooses where branch and bound splits a box: docs/proofs/branch-and-bound.md. No verdict depends
// on it, only how many boxes it takes.

namespace bf {

// The row of the clause that comes closest to never holding where the rows have these bounds, and
// what it lacks of that; -1 when it has none.
static inline std::int32_t closest_row(const PropertyTables& property, std::uint32_t clause,
                                       const float* row_lower, const float* row_upper,
                                       float* lack) {
  std::int32_t closest = -1;
  for (std::uint32_t i = property.clause_terms[clause]; i < property.clause_terms[clause + 1];
       ++i) {
    const VerdictTerm& term = property.terms[i];
    const float one =
        term.at_least ? row_upper[term.row] - term.threshold : term.threshold - row_lower[term.row];
    if (closest >= 0 && !(one < *lack)) continue;
    closest = term.row;
    *lack = one;
  }
  return closest;
}

// 1 over the sum of factor times half the width; 0 when that is no number, or infinite.
static inline float inverse_of_sum(std::size_t inputs, const float* factor, const float* lower,
                                   const float* upper) {
  float sum = 0;
  for (std::size_t i = 0; i < inputs; ++i) sum += factor[i] * (0.5f * upper[i] - 0.5f * lower[i]);
  const float inverse = 1 / sum;
  return inverse > 0 && inverse < __builtin_inff() ? inverse : 0;
}

// Weighs inputs by the rows that decide whether the box is excluded. Of each clause begin .. end
// that is not, the row counts that comes closest to excluding it: the magnitudes of both its lines'
// coefficients, in shares of what all inputs do in [lower, upper], so that no clause counts for
// more than another. lines: as in clip.h. Writes 0 where nothing is known.
static inline void weigh_lines(const PropertyTables& property, std::uint32_t begin,
                               std::uint32_t end, const float* row_lower, const float* row_upper,
                               const float* lines, std::size_t inputs, const float* lower,
                               const float* upper, float* one, float* weights) {
  for (std::size_t i = 0; i < inputs; ++i) weights[i] = 0;
  for (std::uint32_t j = begin; j < end; ++j) {
    if (is_excluded(property, j, row_lower, row_upper)) continue;
    float lack = 0;
    const std::int32_t row = closest_row(property, j, row_lower, row_upper, &lack);
    if (row < 0) continue;
    const float* const below = lines + static_cast<std::size_t>(row) * lines_of_row(inputs);
    const float* const above = below + inputs + 1;
    for (std::size_t i = 0; i < inputs; ++i)
      one[i] = __builtin_fabsf(below[i]) + __builtin_fabsf(above[i]);
    const float inverse = inverse_of_sum(inputs, one, lower, upper);
    if (inverse > 0)
      for (std::size_t i = 0; i < inputs; ++i) weights[i] += one[i] * inverse;
  }
}

// The input to split a box at, and the float there; false when no input has one between its ends.
//
// Taken is the largest share of what the inputs do to the rows: of the coefficients of lines times
// widths, plus the share of weights times widths. The first is what matters in this box, the second
// keeps every input in view. coefficients, weights: [inputs], not negative, or null; without both
// the largest width counts.
static inline bool choose_split(std::size_t inputs, const float* coefficients, const float* weights,
                                const float* lower, const float* upper, std::size_t* input,
                                float* middle) {
  const float of_lines =
      coefficients != nullptr ? inverse_of_sum(inputs, coefficients, lower, upper) : 0;
  const float of_weights = weights != nullptr ? inverse_of_sum(inputs, weights, lower, upper) : 0;
  float largest = -1;
  for (std::size_t i = 0; i < inputs; ++i) {
    const float x = 0.5f * lower[i] + 0.5f * upper[i];
    if (!(lower[i] < x && x < upper[i])) continue;
    const float width = 0.5f * upper[i] - 0.5f * lower[i];
    float score = of_lines > 0 || of_weights > 0 ? 0 : width;
    if (of_lines > 0) score += coefficients[i] * width * of_lines;
    if (of_weights > 0) score += weights[i] * width * of_weights;
    if (largest >= 0 && !(score > largest)) continue;
    largest = score;
    *input = i;
    *middle = x;
  }
  return largest >= 0;
}

}  // namespace bf
