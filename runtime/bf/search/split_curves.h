#pragma once

#include "bf/functions/functions.h"
#include "bf/search/split_network.h"

// Functions where neurons are split: SplitFunctions. Proof: docs/proofs/neuron-splits.md.

namespace bf {

// f(z) >= slope z + offset (side 0), or <= (side 1), where z lies between the ends: the line that
// is best at the point that divides the interval as `share` does. Infinite where nothing is known.
static inline void curve_line(const FunctionView& f, const FunctionEnds& ends,
                              const FunctionRange& range, double share, int side, float* slope,
                              double* offset) {
  const int sign = side == 0 ? -1 : 1;
  const double most = static_cast<double>(kMaxFloat);
  const double constant = side == 0 ? -range.low : range.high;
  const bool finite = ends.low >= -__DBL_MAX__ && ends.high <= __DBL_MAX__ && ends.low < ends.high;
  FunctionLine line = {0, constant};
  if (finite && __builtin_fabs(constant) <= most)
    line = range.low >= -most && range.high <= most ? line_over(f, ends, 0, sign, constant, share)
                                                    : line_at_end(f, ends, 0, sign, constant);
  *slope = side == 0 ? -line.slope : line.slope;
  *offset = side == 0 ? -line.top : line.top;
}

static inline void curve_lines(const FunctionView& f, float low, float high, SplitCurve& made) {
  // Tangents at the ends may be vertical.
  constexpr double kShares[kCurveLines] = {0x1p-7, 0.5, 1 - 0x1p-7};
  const FunctionEnds ends = ends_of(f, static_cast<double>(low), static_cast<double>(high));
  const FunctionRange range = bound_over(f, ends);
  made.low = low;
  made.high = high;
  for (int side = 0; side < 2; ++side)
    for (int k = 0; k < kCurveLines; ++k)
      curve_line(f, ends, range, kShares[k], side, &made.slope[side][k], &made.offset[side][k]);
}

static inline void curve_range(const FunctionView& f, float low, float high, float* least,
                               float* most) {
  const FunctionRange range =
      bound_function(f, static_cast<double>(low), static_cast<double>(high));
  *least = float_down(range.low);
  *most = float_up(range.high);
}

// f near z: an approximation.
static inline FunctionPoint curve_point(const FunctionView& f, float z) {
  const double x = static_cast<double>(z);
  const bool far = f.wave && __builtin_fabs(x) > wave_reach(f) && __builtin_fabs(x) <= __DBL_MAX__;
  const double place = far ? wave_angle(x) : x;
  return function_point(f, find_run(f, place), place);
}

static inline float curve_value(const FunctionView& f, float z) {
  const FunctionPoint at = curve_point(f, z);
  return static_cast<float>(0.5 * at.low + 0.5 * at.high);
}

static inline void curve_tangent(const FunctionView& f, float z, SplitCurve& made) {
  const FunctionPoint at = curve_point(f, z);
  const float slope = static_cast<float>(at.slope);
  made.low = made.high = __builtin_nanf("");  // no interval's
  for (int side = 0; side < 2; ++side)
    for (int k = 0; k < kCurveLines; ++k) {
      made.slope[side][k] = slope;
      made.offset[side][k] = 0.5 * at.low + 0.5 * at.high - at.slope * static_cast<double>(z);
    }
}

// A function of lines is split where two meet, another one where it bends, unless that is near an
// end, which would leave the other half as it is; else in the middle.
static inline float curve_split(const FunctionView& f, float low, float high) {
  constexpr float kNear = 0.3f;
  const float none = __builtin_nanf("");
  const float middle = 0.5f * low + 0.5f * high;
  if (!(low < middle && middle < high)) return none;
  const int first = find_run(f, static_cast<double>(low));
  const int last = find_run(f, static_cast<double>(high));
  bool pieces = f.run[first].kind == FunctionRunKind::kLine && !f.wave;
  float bend = none;
  for (int r = first + 1; r <= last; ++r) {
    const float start = static_cast<float>(f.run[r].start);
    pieces = pieces && f.run[r].kind == FunctionRunKind::kLine;
    if (!(low < start && start < high)) continue;
    const bool nearer = __builtin_fabsf(start - middle) < __builtin_fabsf(bend - middle);
    if (nearer || bend != bend) bend = start;
  }
  if (pieces || __builtin_fabsf(bend - middle) <= kNear * (high - low)) return bend;
  return middle;
}

constexpr SplitFunctions kSplitFunctions = {curve_lines, curve_tangent, curve_range, curve_split,
                                            curve_value};

}  // namespace bf
