#pragma once

#include "bf/contract/integers.h"
#include "bf/contract/tables.h"
#include "bf/core/bounds.h"
#include "bf/functions/function_lanes.h"
#include "bf/functions/function_lines.h"
#include "bf/functions/function_steps.h"
#include "bf/functions/function_table.h"

// Elementwise functions in a verifier: bounds, linear relaxations, and a layer of them. The proof
// that tables bound functions: docs/proofs/functions.md.

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
// far / 4. The near end keeps its digits, which a radius of 24 bits would take from a centre in the
// middle: so what is never negative stays so, and what is small has a logarithm.
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

// The centre and the radius of f over one neuron's interval.
static inline void bound_neuron(const FunctionView& f, double centre, float below, float above,
                                double* centre_out, float* radius_out) {
  const FunctionRange z = interval_of(f, centre, below, above);
  Relaxation made;
  put_range(bound_function(f, z.low, z.high), &made);
  *centre_out = made.centre;
  *radius_out = made.radius;
}

// Neurons that are bounded together, in three loops: a step's results are there before the next one
// asks for them.
template <int kLanes>
struct NeuronRanges {
  static constexpr int kCount = 64;
  using L = Lanes<kLanes>;
  using F = FunctionLanes<kLanes>;
  using Doubles = typename L::Doubles;
  using Longs = typename L::Longs;
  using Ints = typename L::Ints;

  double low[kCount], high[kCount];  // of the argument, then of the function
  std::int64_t left_out[kCount];
  std::int32_t at_low[kCount], at_high[kCount];

  // bound_neuron() of n neurons; n is a multiple of kLanes.
  void bound(int n, const FunctionView& f, const FunctionParts& parts, const double* centre,
             const float* below, const float* above, double* centre_out, float* radius_out) {
    const bool exact = needs_exact_ends(f);
    for (int j = 0; j < n; j += kLanes) {
      const Doubles middle = load_rows<Doubles>(centre + j);
      const Doubles down = L::wide(below + j), up = L::wide(above + j);
      const auto z =
          F::arguments(f, exact ? F::exact_sum_down(middle, -down) : L::sub_down(middle, down),
                       exact ? L::exact_sum_up(middle, up) : L::add_up(middle, up));
      store_rows(low + j, z.low);
      store_rows(high + j, z.high);
      store_rows(left_out + j, z.left_out);
      store_rows(at_low + j, F::find_parts(parts, z.low));
      store_rows(at_high + j, F::find_parts(parts, z.high));
    }
    Longs some = {};
    for (int j = 0; j < n; j += kLanes) {
      const auto range = F::between(f,
                                    {load_rows<Doubles>(low + j), load_rows<Doubles>(high + j),
                                     load_rows<Longs>(left_out + j)},
                                    load_rows<Ints>(at_low + j), load_rows<Ints>(at_high + j));
      store_rows(low + j, range.low);
      store_rows(high + j, range.high);
      store_rows(left_out + j, range.left_out);
      some |= range.left_out;
    }
    if (L::any(some)) bound_left_out(n, f, centre, below, above);
    for (int j = 0; j < n; j += kLanes)
      F::put({load_rows<Doubles>(low + j), load_rows<Doubles>(high + j)}, centre_out + j,
             radius_out + j);
  }

  void bound_left_out(int n, const FunctionView& f, const double* centre, const float* below,
                      const float* above) {
    for (int j = 0; j < n; ++j) {
      if (left_out[j] == 0) continue;
      const FunctionRange z = interval_of(f, centre[j], below[j], above[j]);
      const FunctionRange range = bound_function(f, z.low, z.high);
      low[j] = range.low;
      high[j] = range.high;
    }
  }
};

// Whole vectors of neurons, the last one filled up where it is half full; returns how many neurons
// these are.
template <int kLanes>
static inline int bound_vectors(int n, const FunctionView& f, const double* centre,
                                const float* below, const float* above, double* centre_out,
                                float* radius_out) {
  int j = 0;
  if constexpr (kLanes > 1) {
    if (is_staircase(f) || 2 * n < kLanes) return 0;
    const FunctionParts parts(f);
    if (!parts.made()) return 0;
    NeuronRanges<kLanes> ranges;
    const int whole = n / kLanes * kLanes;
    while (j < whole) {
      const int count = whole - j < ranges.kCount ? whole - j : ranges.kCount;
      ranges.bound(count, f, parts, centre + j, below + j, above + j, centre_out + j,
                   radius_out + j);
      j += count;
    }
    const int rest = n - j;
    if (2 * rest < kLanes) return j;
    double middle[kLanes] = {};
    float down[kLanes] = {}, up[kLanes] = {};
    for (int l = 0; l < rest; ++l) {
      middle[l] = centre[j + l];
      down[l] = below[j + l];
      up[l] = above[j + l];
    }
    ranges.bound(kLanes, f, parts, middle, down, up, middle, up);
    for (int l = 0; l < rest; ++l) {
      centre_out[j + l] = middle[l];
      radius_out[j + l] = up[l];
    }
    return n;
  }
  return j;
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

// relax() of bounds.h for a function, with the same table and the same prices, whose proof holds
// for lines of any slopes: s is the larger |slope|, and the error of A x slope counts the slopes
// that are not 0, 1 or -1. Without a table only the centres and radii are made, and `radius`,
// `slack` and `row` are not touched. Results may be written over inputs as there.
static inline void relax(int n, const FunctionView& f, const double* centre, const float* below,
                         const float* above, const float* radius, const RelaxErrors& errors,
                         double* slack, const double* row, float* table, double* centre_out,
                         float* radius_out) {
  if (table == nullptr) {
    int j = bound_vectors<kNeuronLanes>(n, f, centre, below, above, centre_out, radius_out);
    for (; j < n; ++j)
      bound_neuron(f, centre[j], below[j], above[j], centre_out + j, radius_out + j);
    return;
  }
  const double factor = price_factor(errors.offset);
  double reach_sum = 0;
  for (int j = 0; j < n; ++j) {
    const FunctionRange z = interval_of(f, centre[j], below[j], above[j]);
    const Relaxation line = relax_function(f, centre[j], z.low, z.high);
    const double b = __builtin_fabs(static_cast<double>(below[j]));
    const double a = __builtin_fabs(static_cast<double>(above[j]));
    const double reach = b > a ? b : a;
    const double up = steepness(line.slope_upper);
    const double down = steepness(line.slope_lower);
    const double steep = up > down ? up : down;
    const double inexact_up = multiplies_exactly(line.slope_upper) ? 0 : up;
    const double inexact_down = multiplies_exactly(line.slope_lower) ? 0 : down;
    const double inexact = inexact_up > inexact_down ? inexact_up : inexact_down;
    const double offset_up = offset_size(line.offset_upper);
    const double offset_down = offset_size(line.offset_lower);
    const double offset = offset_up > offset_down ? offset_up : offset_down;
    const double spread = static_cast<double>(radius[j]) * errors.inflate;
    const double own = row[j];
    const double product = steep == 0 ? 0 : steep * (errors.product * spread + own);
    const double wide = steep == 0 ? 0 : steep * (errors.wide * spread + own);
    const double slope = inexact == 0 ? 0 : errors.slope * inexact * reach;
    const double common = slope + errors.offset * offset;
    const double stored = errors.stored * static_cast<double>(line.radius);
    table[kSlopeUpper * n + j] = line.slope_upper;
    table[kSlopeLower * n + j] = line.slope_lower;
    put_offsets(line.offset_upper, line.offset_lower, (product + common) * factor, n,
                table + kOffsetUpper * n + j);
    put_offsets(line.offset_upper, line.offset_lower, (wide + common + stored) * factor, n,
                table + kWideOffsetUpper * n + j);
    centre_out[j] = line.centre;
    radius_out[j] = line.radius;
    reach_sum += reach + spread + own;
  }
  slack[kUnderflowSlack] =
      (static_cast<double>(n) * (1 + slack[kRadiusSlack]) + reach_sum) * (1 + 0x1p-20);
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
