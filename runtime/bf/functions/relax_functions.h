#pragma once

#include "bf/contract/integers.h"
#include "bf/contract/tables.h"
#include "bf/core/bounds.h"
#include "bf/functions/function_lanes.h"
#include "bf/functions/functions.h"

// A layer of elementwise functions: its relaxations, or the boxes of its values alone, which are
// made for many neurons side by side.

namespace bf {

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

}  // namespace bf
