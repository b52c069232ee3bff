#pragma once

#include "bf/contract/integers.h"
#include "bf/contract/tables.h"
#include "bf/core/bounds.h"
#include "bf/core/relax.h"
#include "bf/functions/function_lanes.h"
#include "bf/functions/functions.h"
#include "bf/functions/line_lanes.h"

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
    for (int l = 0; l < kLanes && l < rest; ++l) {
      middle[l] = centre[j + l];
      down[l] = below[j + l];
      up[l] = above[j + l];
    }
    ranges.bound(kLanes, f, parts, middle, down, up, middle, up);
    for (int l = 0; l < kLanes && l < rest; ++l) {
      centre_out[j + l] = middle[l];
      radius_out[j + l] = up[l];
    }
    return n;
  }
  return j;
}

// The relaxations of a vector of neurons.
template <int kLanes>
struct NeuronLines {
  using L = Lanes<kLanes>;
  using F = FunctionLanes<kLanes>;
  using Doubles = typename L::Doubles;
  using Floats = typename L::Floats;
  using Longs = typename L::Longs;

  float slope_upper[kLanes], slope_lower[kLanes], radius[kLanes];
  double offset_upper[kLanes], offset_lower[kLanes], centre[kLanes];

  // relax_function() for kLanes neurons.
  void relax(const FunctionView& f, const FunctionParts& parts, const NeuronsView& neurons) {
    const bool exact = needs_exact_ends(f);
    const Doubles c = load_rows<Doubles>(neurons.centre);
    const Doubles down = L::wide(neurons.below), up = L::wide(neurons.above);
    const auto z = F::arguments(f, exact ? F::exact_sum_down(c, -down) : L::sub_down(c, down),
                                exact ? L::exact_sum_up(c, up) : L::add_up(c, up));
    Longs left_out = z.left_out;
    LaneInterval<kLanes> interval = {};
    interval.low = z.low;
    interval.high = z.high;
    interval.at_low = F::find_parts(parts, z.low);
    interval.at_high = F::find_parts(parts, z.high);
    interval.centre = c;
    interval.left = F::points(f, interval.at_low, z.low, {true, true}, &left_out);
    interval.right = F::points(f, interval.at_high, z.high, {true, true}, &left_out);
    const auto range =
        F::range_of(f, z, interval.at_low, interval.at_high, interval.left, interval.right);
    F::put(range, centre, radius);
    const double most = static_cast<double>(kMaxFloat);
    left_out |= ~(L::wide(radius) <= most);
    const Longs bent = ~left_out & (z.low < z.high);
    LaneLine<kLanes> upper = {Floats{}, range.high}, lower = {Floats{}, -range.low};
    if (L::any(bent)) {
      using M = LineLanes<kLanes>;
      M::set_middle(f, parts, &interval, &left_out);
      upper = M::template over<1>(f, interval, bent & (L::size(range.high) <= most), range.high,
                                  &left_out);
      lower = M::template over<-1>(f, interval, bent & (L::size(range.low) <= most), -range.low,
                                   &left_out);
    }
    const Doubles middle = load_rows<Doubles>(centre);
    store_rows(slope_upper, upper.slope);
    const auto turned = __builtin_convertvector(bent, typename L::Ints);
    store_rows(slope_lower, Floats(turned ? -lower.slope : Floats{}));
    store_rows(offset_upper, L::exact_sum_up(upper.top, -middle));
    store_rows(offset_lower, F::exact_sum_down(-lower.top, -middle));
    if (L::any(left_out)) relax_left_out(f, neurons, left_out);
  }

  // Puts the relaxations of some lanes, made alone.
  void relax_left_out(const FunctionView& f, const NeuronsView& neurons, Longs lanes) {
    std::int64_t out[kLanes];
    store_rows(out, lanes);
    for (int l = 0; l < kLanes; ++l) {
      if (out[l] == 0) continue;
      const FunctionRange z = interval_of(f, neurons.centre[l], neurons.below[l], neurons.above[l]);
      const Relaxation made = relax_function(f, neurons.centre[l], z.low, z.high);
      slope_upper[l] = made.slope_upper;
      slope_lower[l] = made.slope_lower;
      offset_upper[l] = made.offset_upper;
      offset_lower[l] = made.offset_lower;
      centre[l] = made.centre;
      radius[l] = made.radius;
    }
  }

  // Writes what relax() does for a neuron; returns what goes to the sum of reaches.
  Doubles put(const NeuronsView& neurons, const RelaxErrors& errors, const double* row,
              const RelaxedView& out) const {
    const double factor = price_factor(errors.offset);
    const auto size_of = [](Doubles offset) {
      const Doubles size = L::size(offset);
      return size <= __DBL_MAX__ ? size : Doubles{};
    };
    const Doubles upper = load_rows<Doubles>(offset_upper);
    const Doubles lower = load_rows<Doubles>(offset_lower);
    const Doubles reach =
        L::larger(L::size(L::wide(neurons.below)), L::size(L::wide(neurons.above)));
    const Doubles up = L::size(L::wide(slope_upper)), down = L::size(L::wide(slope_lower));
    const Doubles steep = L::larger(up, down);
    const Longs exact_up = (up == 0) | (up == 1), exact_down = (down == 0) | (down == 1);
    const Doubles inexact = L::larger(exact_up ? Doubles{} : up, exact_down ? Doubles{} : down);
    const Doubles offset = L::larger(size_of(upper), size_of(lower));
    const Doubles spread = L::wide(neurons.radius) * errors.inflate;
    const Doubles own = load_rows<Doubles>(row);
    const Doubles product = steep == 0 ? Doubles{} : steep * (errors.product * spread + own);
    const Doubles wide = steep == 0 ? Doubles{} : steep * (errors.wide * spread + own);
    const Doubles slope = inexact == 0 ? Doubles{} : errors.slope * inexact * reach;
    const Doubles common = slope + errors.offset * offset;
    const Doubles stored = errors.stored * L::wide(radius);
    const Doubles price = (product + common) * factor;
    const Doubles wide_price = (wide + common + stored) * factor;
    store_rows(out.table + kSlopeUpper * out.row, load_rows<Floats>(slope_upper));
    store_rows(out.table + kSlopeLower * out.row, load_rows<Floats>(slope_lower));
    store_rows(out.table + kOffsetUpper * out.row, L::float_up(upper + price));
    store_rows(out.table + kOffsetLower * out.row, L::float_down(lower - price));
    store_rows(out.table + kWideOffsetUpper * out.row, L::float_up(upper + wide_price));
    store_rows(out.table + kWideOffsetLower * out.row, L::float_down(lower - wide_price));
    store_rows(out.centre, load_rows<Doubles>(centre));
    store_rows(out.radius, load_rows<Floats>(radius));
    return reach + spread + own;
  }
};

// Whole vectors of neurons; returns how many neurons these are. Reaches are added up in order.
template <int kLanes>
static inline int relax_function_vectors(int n, const FunctionView& f, const NeuronsView& neurons,
                                         const RelaxErrors& errors, const double* row,
                                         const RelaxedView& out, double* reach_sum) {
  int j = 0;
  if constexpr (kLanes > 1) {
    if (n < kLanes || !LineLanes<kLanes>::apply(f)) return 0;
    const FunctionParts parts(f);
    if (!parts.made()) return 0;
    for (; j + kLanes <= n; j += kLanes) {
      NeuronLines<kLanes> lines;
      lines.relax(f, parts, neurons.from(j));
      double reach[kLanes];
      store_rows(reach, lines.put(neurons.from(j), errors, row + j, out.from(j)));
      for (int l = 0; l < kLanes; ++l) *reach_sum += reach[l];
    }
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
  int first =
      relax_function_vectors<kNeuronLanes>(n, f, {centre, below, above, radius}, errors, row,
                                           {table, n, centre_out, radius_out}, &reach_sum);
  for (int j = first; j < n; ++j) {
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
