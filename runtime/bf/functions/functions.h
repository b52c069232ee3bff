#pragma once

#include "bf/contract/integers.h"
#include "bf/contract/tables.h"
#include "bf/core/bounds.h"
#include "bf/functions/function_lines.h"
#include "bf/functions/function_steps.h"
#include "bf/functions/function_table.h"

// Elementwise functions in a verifier: bounds and linear relaxations. The proof that tables bound
// functions: docs/proofs/functions.md.

namespace bf {

// The part of [low, high] that the argument can lie in, with what bounds and lines read of it.
static inline FunctionEnds ends_of(const FunctionView& f, double low, double high) {
  return is_staircase(f) ? argument_ends(f, low, high) : function_ends(f, low, high);
}

// f over the interval of the ends; infinite where nothing is known, or f is not defined.
static inline FunctionRange bound_over(const FunctionView& f, const FunctionEnds& ends) {
  return is_staircase(f) ? bound_staircase(f, ends.low, ends.high) : bound_between(f, ends);
}

static inline FunctionRange bound_function(const FunctionView& f, double low, double high) {
  return bound_over(f, ends_of(f, low, high));
}

// The centre and the radius of values of one sign whose magnitudes go from `near` to `far`, near <=
// far <= kMaxFloat, far >= 0x1p-1000 or 0. The near end keeps its digits, which a radius of 24 bits
// would take from a centre in the middle: so what is never negative stays so, and what is small has
// a logarithm.
//
// Proof. Half of the width is halved exactly, and r is at least that. Where near + r is exact, the
// ends are near and near + 2 r. Else the centre c is at most near + r, which holds the near end,
// and at least near + r - 2^-52 far 1.01: c + r >= far asks for 2 r >= far - near + 2^-52 far 1.01.
// The addend gives 2^-50 far, of which its sum in double loses less than a half.
static inline void put_magnitudes(double near, double far, double sign, Relaxation* made) {
  const double half = 0.5 * exact_sum_up(far, -near);
  float reach = nearest_float(half);
  if (static_cast<double>(reach) != half || exact_sum_up(near, half) != exact_sum_down(near, half))
    reach = float_up(half + 0x1p-51 * far);
  made->radius = reach;
  made->centre = sign * exact_sum_down(near, static_cast<double>(reach));
}

// The centre and the radius of a function's values.
static inline void put_range(const FunctionRange& range, Relaxation* made) {
  const double size_low = __builtin_fabs(range.low);
  const double size_high = __builtin_fabs(range.high);
  const double near = size_low < size_high ? size_low : size_high;
  const double far = size_low < size_high ? size_high : size_low;
  const double most = static_cast<double>(kMaxFloat);
  const bool of_one_sign = range.low >= 0 || range.high <= 0;
  if (of_one_sign && near <= 0.25 * far && far >= 0x1p-1000 && far <= 0.5 * most) {
    put_magnitudes(near, far, range.low >= 0 ? 1 : -1, made);
    return;
  }
  const bool finite = size_low <= most && size_high <= most;
  made->centre = finite ? 0.5 * range.low + 0.5 * range.high : 0;
  const double up = exact_sum_up(range.high, -made->centre);
  const double down = exact_sum_up(made->centre, -range.low);
  made->radius = float_up(up > down ? up : down);
}

// Lines of slope 0.
static inline Relaxation relax_constant(const FunctionRange& range) {
  Relaxation made;
  made.slope_upper = made.slope_lower = 0;
  put_range(range, &made);
  made.offset_upper = exact_sum_up(range.high, -made.centre);
  made.offset_lower = exact_sum_down(range.low, -made.centre);
  return made;
}

// a' = f(z) for z in [low, high]; `centre` is that of z. Where nothing is known above or below, an
// infinite offset makes every bound that would use that line infinite or NaN, which no tightening
// accepts.
static inline Relaxation relax_function(const FunctionView& f, double centre, double low,
                                        double high) {
  const FunctionEnds ends = ends_of(f, low, high);
  const FunctionRange range = bound_over(f, ends);
  Relaxation made = relax_constant(range);
  const bool finite = ends.low >= -__DBL_MAX__ && ends.high <= __DBL_MAX__;
  if (!finite || !(low < high) || !(ends.low < ends.high)) return made;
  const double most = static_cast<double>(kMaxFloat);
  const auto line = [&](int side, double constant) {
    if (!(constant >= -most && constant <= most)) return FunctionLine{0, constant};
    if (is_staircase(f)) return line_over_steps(f, ends, centre, side, constant);
    return made.radius <= kMaxFloat ? line_over(f, ends, centre, side, constant)
                                    : line_at_end(f, ends, centre, side, constant);
  };
  const FunctionLine upper = line(1, range.high);
  const FunctionLine lower = line(-1, -range.low);
  made.slope_upper = upper.slope;
  made.offset_upper = exact_sum_up(upper.top, -made.centre);
  made.slope_lower = -lower.slope;
  made.offset_lower = exact_sum_down(-lower.top, -made.centre);
  return made;
}

// Returns true if f may jump, or have no value, at an end of the interval: then it matters whether
// the argument reaches it. An ulp of a wave's argument may be many periods.
static inline bool needs_exact_ends(const FunctionView& f) {
  return f.wave || f.form != FunctionViewForm::kCells || f.degree <= 1 ||
         f.run[0].kind == FunctionRunKind::kUnknown;
}

// The interval of neuron j; its ends are rounded outward unless they are exact and that matters.
static inline FunctionRange interval_of(const FunctionView& f, double centre, float below,
                                        float above) {
  const double down = static_cast<double>(below);
  const double up = static_cast<double>(above);
  if (needs_exact_ends(f)) return {exact_sum_down(centre, -down), exact_sum_up(centre, up)};
  return {sub_down(centre, down), add_up(centre, up)};
}

// The magnitude of an offset; 0 where it is infinite and needs no price.
static inline double offset_size(double offset) {
  const double size = __builtin_fabs(offset);
  return size <= __DBL_MAX__ ? size : 0;
}

// The magnitude of a slope, and whether products with it are inexact.
static inline double steepness(float slope) {
  return __builtin_fabs(static_cast<double>(slope));
}
static inline bool multiplies_exactly(float slope) {
  return slope == 0 || slope == 1 || slope == -1;
}

// Returns true if a tighter interval may improve the relaxation of neuron j: not at a point, nor
// where f is a line or a constant.
static inline bool is_inexact(const FunctionView& f, const double* centre, const float* below,
                              const float* above, int j) {
  const auto [low, high] = interval_of(f, centre[j], below[j], above[j]);
  if (!(low < high)) return false;
  if (f.wave) return true;
  if (is_staircase(f)) {
    const FunctionEnds ends = argument_ends(f, low, high);
    return has_step(f, ends.low, ends.high);
  }
  const int run = find_run(f, low);
  return f.run[run].kind != FunctionRunKind::kLine || run != find_run(f, high);
}

// Lists the neurons that is_inexact() accepts, in order; returns their number.
static inline int list_inexact(const FunctionView& f, const double* centre, const float* below,
                               const float* above, int n, std::int32_t* neurons) {
  int count = 0;
  for (int j = 0; j < n; ++j)
    if (is_inexact(f, centre, below, above, j)) neurons[count++] = j;
  return count;
}

}  // namespace bf
