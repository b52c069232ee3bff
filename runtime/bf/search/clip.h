#pragma once

#include "bf/contract/integers.h"
#include "bf/contract/workspace.h"
#include "bf/core/rounding.h"
#include "bf/search/verdict.h"

// Shrinks a box to where the lines that bound the rows leave room for a violation: relaxed clipping
// (Clip-and-Verify, arXiv 2512.11087). Proof: docs/proofs/branch-and-bound.md.

namespace bf {

// The line that bounds row c of a box from the side that the term is about: of +row when it says
// c y <= threshold, of -row when it says c y >= threshold. lines: [rows][2][inputs + 1], of
// keep_coefficients().
static inline const float* line_of(const VerdictTerm& term, const float* lines,
                                   std::size_t inputs) {
  const auto row = static_cast<std::size_t>(term.row);
  return lines + row * lines_of_row(inputs) + (term.at_least ? inputs + 1 : 0);
}

// Pays for rounding limit - least and the quotient by |a_k|: (1 - 2^-53)^3 (1 + 2^-50) > 1.
constexpr double kClipSlack = 1 + 0x1p-50;

// A number that q is below wherever the term holds: its limit is a real number, and lies between
// the threshold and the float beyond it (VerdictTerm).
static inline double limit_of(const VerdictTerm& term) {
  return static_cast<double>(term.at_least ? -next_down(term.threshold) : next_up(term.threshold));
}

// Moves the ends of a box [to_lower, to_upper] inward, to what of the box [lower, upper] that the
// lines are of the term may hold in. The line claims q >= least + |a_k| d_k, the term q < limit;
// so d_k < (limit - least) / |a_k|, and rounding only makes that larger.
static inline void clip_by_term(const VerdictTerm& term, const float* lines, std::size_t inputs,
                                const float* lower, const float* upper, float* to_lower,
                                float* to_upper) {
  const float* const line = line_of(term, lines, inputs);
  const double room = limit_of(term) - static_cast<double>(line[inputs]);
  if (!(room >= 0 && room < __builtin_inf())) return;
  for (std::size_t k = 0; k < inputs; ++k) {
    const double a = static_cast<double>(line[k] < 0 ? -line[k] : line[k]);
    const double width = static_cast<double>(upper[k]) - static_cast<double>(lower[k]);
    if (!(a * width > room && a < __builtin_inf())) continue;  // nothing to gain, or known
    const double distance = room / a * kClipSlack;
    if (line[k] > 0) {
      const float end = float_up(add_up(static_cast<double>(lower[k]), distance));
      if (end < to_upper[k]) to_upper[k] = end;
    } else {
      const float end = float_down(sub_down(static_cast<double>(upper[k]), distance));
      if (end > to_lower[k]) to_lower[k] = end;
    }
  }
}

// Memory of clip_box: a box.
struct ClipMemory {
  float* lower;  // [inputs]
  float* upper;
};

// Writes the least box that has all of [lower, upper] where one of the clauses begin .. end may
// hold, as far as their rows' bounds and single lines say. False when none may hold anywhere.
static inline bool clip_box(const PropertyTables& property, std::uint32_t begin, std::uint32_t end,
                            const float* row_lower, const float* row_upper, const float* lines,
                            std::size_t inputs, const float* lower, const float* upper,
                            const ClipMemory& memory, float* to_lower, float* to_upper) {
  bool any = false;
  for (std::uint32_t j = begin; j < end; ++j) {
    if (is_excluded(property, j, row_lower, row_upper)) continue;
    float* const one_lower = any ? memory.lower : to_lower;
    float* const one_upper = any ? memory.upper : to_upper;
    for (std::size_t k = 0; k < inputs; ++k) {
      one_lower[k] = lower[k];
      one_upper[k] = upper[k];
    }
    for (std::uint32_t i = property.clause_terms[j]; i < property.clause_terms[j + 1]; ++i)
      clip_by_term(property.terms[i], lines, inputs, lower, upper, one_lower, one_upper);
    bool empty = false;  // each end has a term that nothing beyond it satisfies
    for (std::size_t k = 0; k < inputs; ++k) empty = empty || one_lower[k] > one_upper[k];
    if (empty) continue;
    for (std::size_t k = 0; k < inputs && any; ++k) {
      if (one_lower[k] < to_lower[k]) to_lower[k] = one_lower[k];
      if (one_upper[k] > to_upper[k]) to_upper[k] = one_upper[k];
    }
    any = true;
  }
  return any;
}

}  // namespace bf
