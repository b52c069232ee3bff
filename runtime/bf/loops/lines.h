#pragma once

#include "bf/loops/forms.h"

// A network f whose inputs are forms over symbols, by a verifier of
//
//   f(c + G z + d r),   inputs z, r in [-1, 1], and c, G, d that are points,
//
// so that one plan serves all forms.

namespace bf::loops {

// Where the parts of the verifier's one input begin: z, r, c, G by rows, d.
struct LinePlaces {
  size_t symbols, inputs;

  BF_MEMBER size_t r() const { return symbols; }
  BF_MEMBER size_t c() const { return r() + inputs; }
  BF_MEMBER size_t g() const { return c() + inputs; }
  BF_MEMBER size_t d() const { return g() + inputs * symbols; }
  BF_MEMBER size_t count() const { return d() + inputs; }
};

// Writes the box that says what the forms are; lower, upper: [count]. What float32 does not hold of
// a form is in d: c + G z + d r has every number that the form has. Returns false where a form
// claims nothing or lies beyond float32. Requires: forms over at most so many symbols.
template <class Form>
static inline bool write_box(const Form* x, const LinePlaces& at, float* lower, float* upper) {
  for (size_t k = 0; k < at.count(); ++k) lower[k] = 0;
  for (size_t i = 0; i < at.inputs; ++i) {
    const float centre = nearest_float(x[i].centre);
    double rest = x[i].radius + size_of(x[i].centre - static_cast<double>(centre));
    for (size_t k = 0; k < x[i].slope.size(); ++k) {
      const float slope = nearest_float(x[i].slope[k]);
      rest += size_of(x[i].slope[k] - static_cast<double>(slope));
      lower[at.g() + i * at.symbols + k] = slope;
    }
    lower[at.c() + i] = centre;
    // The differences are exact, but where they underflow, which the last term pays for; sums of
    // numbers of at least 0 are off by 2^-53 of themselves each.
    if (rest != 0) rest = rest * (1 + static_cast<double>(at.symbols + 4) * 0x1p-52) + 0x1p-960;
    lower[at.d() + i] = float_up(rest);
  }
  for (size_t k = 0; k < at.count(); ++k) {
    if (!is_finite(static_cast<double>(lower[k]))) return false;
    upper[k] = lower[k];
  }
  for (size_t k = 0; k < at.c(); ++k) {
    lower[k] = -1;
    upper[k] = 1;
  }
  return true;
}

// A number that a line bounds from below: number >= constant + sum slope_k z_k + sum rest_i r_i.
struct Line {
  double constant, error;  // the exact constant is within `error`
  const float* slope;
};

// line: the factors a_k of all inputs, and the least value: number >= least + sum |a_k| d_k, where
// |a_k| d_k = |a_k| + a_k z_k on [-1, 1] (docs/proofs/branch-and-bound.md, "Clipping").
static inline Line line_of(const float* line, const LinePlaces& at) {
  double sum = 0;
  for (size_t k = 0; k < at.c(); ++k) sum += size_of(static_cast<double>(line[k]));
  const auto least = static_cast<double>(line[at.count()]);
  // |least| + sum of magnitudes, times what its additions lose.
  const double size = size_of(least) + sum;
  return {least + sum, size * static_cast<double>(at.c() + 2) * 0x1p-52, line};
}

// The number lies above `below`, and its negative above `above`.
template <class Form>
static inline Form between(const Line& below, const Line& above, const LinePlaces& at) {
  Form made;
  made.slope.resize(at.symbols);
  double gap = 0, sizes = 0;
  for (size_t k = 0; k < at.symbols; ++k) {
    const auto low = static_cast<double>(below.slope[k]);
    const auto high = -static_cast<double>(above.slope[k]);
    made.slope[k] = low / 2 + high / 2;  // rounds in the sum alone
    gap += size_of(high / 2 - low / 2);
    sizes += size_of(made.slope[k]);
  }
  for (size_t i = at.r(); i < at.c(); ++i)
    gap += larger(size_of(static_cast<double>(below.slope[i])),
                  size_of(static_cast<double>(above.slope[i])));
  const double high = -above.constant, low = below.constant;
  made.centre = low / 2 + high / 2;
  // The lines differ from the middle one by at most this, and each rounding is 2^-53 of a result.
  gap += larger(0.0, high / 2 - low / 2) + below.error + above.error;
  gap += 4 * 0x1p-53 * (sizes + size_of(made.centre) + size_of(high) + size_of(low));
  made.radius = gap * (1 + static_cast<double>(at.c() + 8) * 0x1p-52) + 0x1p-960;
  return made;
}

// An output by its bounds and by its two rows of coefficients; lines: null without rows.
template <class Form>
static inline Form output_form(float low, float high, const float* lines, const LinePlaces& at) {
  const Form whole = form_of<Form>(Range{static_cast<double>(low), static_cast<double>(high)});
  if (lines == nullptr) return whole;
  const Form by_lines = between<Form>(line_of(lines, at), line_of(lines + at.count() + 1, at), at);
  return is_finite(by_lines) && !(whole.radius < by_lines.radius) ? by_lines : whole;
}

}  // namespace bf::loops
