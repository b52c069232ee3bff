#pragma once

#include "bf/contract/integers.h"
#include "bf/contract/workspace.h"
#include "bf/core/rounding.h"
#include "bf/search/verdict.h"

// Shrinks a box to where the lines that bound the rows leave room for a violation: relaxed clipping
// (Clip-and-Verify, arXiv 2512.11087). Proof: docs/proofs/branch-and-bound.md.

namespace bf {

// The line that bounds row c of a box from the side that the term is about: of +row when it says
// c y <= threshold, of -row when it says c y >= threshold. lines: of RowsView.
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

// Moves an end of input k of the box `to` inward to where |factor| times the distance from that end
// of `box` at which factor x_k is least is below `room`.
static inline void clip_input(double factor, double room, std::size_t k, BoxView box, BoxEnds to) {
  const double a = __builtin_fabs(factor);
  const double width = static_cast<double>(box.upper[k]) - static_cast<double>(box.lower[k]);
  if (!(a * width > room && a < __builtin_inf())) return;  // nothing to gain, or known
  const double distance = room / a * kClipSlack;
  if (factor > 0) {
    const float end = float_up(add_up(static_cast<double>(box.lower[k]), distance));
    if (end < to.upper[k]) to.upper[k] = end;
  } else {
    const float end = float_down(sub_down(static_cast<double>(box.upper[k]), distance));
    if (end > to.lower[k]) to.lower[k] = end;
  }
}

// Moves the ends of the box `to` inward, to what of the box that the lines are of the term may hold
// in. The line claims q >= least + |a_k| d_k, the term q < limit;
// so d_k < (limit - least) / |a_k|, and rounding only makes that larger.
static inline void clip_by_term(const VerdictTerm& term, const float* lines, std::size_t inputs,
                                BoxView box, BoxEnds to) {
  const float* const line = line_of(term, lines, inputs);
  const double room = limit_of(term) - static_cast<double>(line[inputs]);
  if (!(room >= 0 && room < __builtin_inf())) return;
  for (std::size_t k = 0; k < inputs; ++k)
    clip_input(static_cast<double>(line[k]), room, k, box, to);
}

}  // namespace bf
