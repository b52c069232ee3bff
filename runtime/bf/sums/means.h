#pragma once

#include "bf/core/exponential.h"
#include "bf/sums/planes.h"

// Boxes of means z = sum_l x_l y_l, x being the softmax of scores. Proof:
// docs/proofs/contraction.md, "Means".

namespace bf {

// find_quotients() ends then; most columns do after four.
constexpr int kMostPasses = 24;

static inline double missed_of_sums(int k) {
  return (k + 8) * 0x1p-52;
}

static inline double lost_of_sums(double most, int k) {
  return most * missed_of_sums(k) + k * 0x1p-1070;
}

// A column of y: what is taken off its elements, and their ends. Where rows of x add up to 1, z is
// shift + sum_l x (y - shift), and lies between those ends.
struct ContractedColumn {
  double shift = 0, low = -__builtin_inf(), high = __builtin_inf();
};

// Each column is kept as three doubles.
struct ContractedColumns {
  double* numbers;

  void put(std::ptrdiff_t j, const ContractedColumn& column) const {
    numbers[3 * j] = column.shift;
    numbers[3 * j + 1] = column.low;
    numbers[3 * j + 2] = column.high;
  }
  ContractedColumn operator[](std::ptrdiff_t j) const {
    return {numbers[3 * j], numbers[3 * j + 1], numbers[3 * j + 2]};
  }
};

// A row's weights up to a common factor, from the boxes of its scores: the powers of their lower
// ends from below and of their upper ends from above, relative to the largest lower end, so that
// they add up to 1 or more. score: of each element of x, or -1 where it is 0. Returns false where
// a power is too large.
template <typename Sources>
static inline bool powers_of_row(int k, int first, Sources gather_x, const std::int32_t* score,
                                 const double* centre, const float* radius, double* low,
                                 double* high) {
  double floor = -__builtin_inf();
  for (int l = 0; l < k; ++l) {
    const std::int32_t s = score[source_of(gather_x, first + l)];
    low[l] = high[l] = -__builtin_inf();
    if (s < 0) continue;
    low[l] = sub_down(centre[s], static_cast<double>(radius[s]));
    high[l] = add_up(centre[s], static_cast<double>(radius[s]));
    floor = low[l] > floor ? low[l] : floor;
  }
  if (!(floor >= -__DBL_MAX__)) return false;
  bool known = true;
  for (int l = 0; l < k; ++l) known = known && sub_up(high[l], floor) <= kMostExponent;
  if (!known) return false;
  const auto make = [=](auto lanes, int l) {
    using P = Powers<decltype(lanes)::value>;
    using Doubles = typename P::Doubles;
    const Doubles most = load_rows<Doubles>(high + l), from = P::all(floor);
    const Doubles power = P::up(P::sub_up(most, from));
    store_rows(low + l, P::down(P::sub_down(load_rows<Doubles>(low + l), from)));
    store_rows(high + l, most == P::all(-__builtin_inf()) ? P::all(0) : power);
  };
  int l = 0;
  if constexpr (kNeuronLanes > 1)
    for (; l + kNeuronLanes <= k; l += kNeuronLanes) make(Count<kNeuronLanes>{}, l);
  for (; l < k; ++l) make(Count<1>{}, l);
  return true;
}

template <int kLanes, typename Longs>
static inline bool some_lane(Longs moves) {
  if constexpr (kLanes > 1)
    return Lanes<kLanes>::any(moves);
  else
    return moves != 0;
}

// The largest sums of w (y - shift), or the least, for kLanes columns, the weights w being between
// low and high, y at the ends of that side: to nearest. magnitude: of their parts; weight: of w.
template <int kLanes, bool kUpper>
struct WeighedDistances {
  using Doubles = typename VectorOf<double, kLanes>::type;
  Doubles sum = {}, magnitude = {}, weight = {};

  WeighedDistances(int k, const double* low, const double* high, const double* ends,
                   std::ptrdiff_t step, Doubles shift) {
    for (int l = 0; l < k; ++l) {
      const Doubles far = load_rows<Doubles>(ends + l * step) - shift;
      const Doubles least = Doubles{} + low[l], all = Doubles{} + high[l];
      const Doubles w = (kUpper ? far > Doubles{} : far < Doubles{}) ? all : least;
      const Doubles part = far * w;
      sum += part;
      magnitude += part < Doubles{} ? -part : part;
      weight += w;
    }
  }
};

// Newton's method for the shifts at which these sums are 0. Each step goes further by what sums may
// miss, and so ends just behind the shift that it looks for, where no mean is: at once, or from
// before it when it began far behind. shifts: where it begins; becomes where it ends. bounds: the
// last shift that no mean passes; infinite where none is known.
template <int kLanes, bool kUpper>
static inline void find_quotients(int k, const double* low, const double* high, const double* ends,
                                  std::ptrdiff_t step, double* shifts, double* bounds) {
  using Distances = WeighedDistances<kLanes, kUpper>;
  using Doubles = typename Distances::Doubles;
  constexpr double kOutward = kUpper ? 1 : -1;
  constexpr double kClose = 16;  // margins
  const auto size = [](Doubles x) { return x < Doubles{} ? -x : x; };
  const double missed = missed_of_sums(k), least = k * 0x1p-1070;
  Doubles shift = load_rows<Doubles>(shifts), bound = Doubles{} + kOutward * __builtin_inf();
  for (int pass = 1; pass <= kMostPasses; ++pass) {
    const Distances made(k, low, high, ends, step, shift);
    const Doubles behind = -kOutward * made.sum, lost = made.magnitude * missed + least;
    const Doubles margin = lost + made.weight * (size(shift) * 0x1p-51);
    const Doubles next = shift + kOutward * ((4 * margin - behind) / made.weight);
    const Doubles last = bound, distance = size(last);
    const auto known = made.magnitude <= __DBL_MAX__;
    const auto passed = known & (behind >= lost);
    bound = passed ? shift : last;
    const auto ends_here = passed & ((distance <= __DBL_MAX__) | (behind <= kClose * margin));
    const auto moves = known & !ends_here & (next != shift);
    if (!some_lane<kLanes>(moves)) break;
    shift = moves ? next : shift;
  }
  store_rows(shifts, shift);
  store_rows(bounds, bound);
}

// The boxes of one batch entry's means. columns: the ends of y's elements, in rows of n, and the
// shifts where the last row's ends were found, n of each side. low_weight, high_weight: of one row.
struct Means {
  int k, n;
  double* columns;
  ContractedColumns hulls;
  double *low_weight, *high_weight;

  double* low() const { return columns; }
  double* high() const { return columns + std::ptrdiff_t{k} * n; }
  double* below() const { return columns + 2 * std::ptrdiff_t{k} * n; }
  double* above() const { return columns + 3 * std::ptrdiff_t{k} * n; }

  template <int kLanes>
  void bound(int j, bool known, double* centre, float* radius) const {
    double up[kLanes], down[kLanes];
    for (int q = 0; q < kLanes; ++q) {
      up[q] = __builtin_inf();
      down[q] = -__builtin_inf();
    }
    if (known) {
      find_quotients<kLanes, true>(k, low_weight, high_weight, high() + j, n, above() + j, up);
      find_quotients<kLanes, false>(k, low_weight, high_weight, low() + j, n, below() + j, down);
    }
    for (int q = 0; q < kLanes; ++q) {
      const ContractedColumn hull = hulls[j + q];
      store_box(down[q] > hull.low ? down[q] : hull.low, up[q] < hull.high ? up[q] : hull.high,
                centre + q, radius + q);
    }
  }
};

// The boxes of the means of batch entry b, of m rows. score: of each element of x, or -1 where it
// is 0; centre_s, radius_s: the scores' boxes. scratch: as of relax_contraction().
template <typename SourcesX, typename SourcesY>
static inline void bound_means(int b, int m, int n, int k, SourcesX gather_x, SourcesY gather_y,
                               const double* centre_y, const float* radius_y,
                               const std::int32_t* score, const double* centre_s,
                               const float* radius_s, double* scratch,
                               const ContractedColumns& hulls, double* centre_out,
                               float* radius_out) {
  constexpr int kLanes = kNeuronLanes;
  double* const row = scratch + kContractionPanels * std::ptrdiff_t{k} * n;
  const Means means = {k, n, scratch, hulls, row, row + k};
  for (int j = 0; j < n; ++j) {
    for (int l = 0; l < k; ++l) {
      const int g = source_of(gather_y, (b * n + j) * k + l);
      const std::ptrdiff_t at = std::ptrdiff_t{l} * n + j;
      means.low()[at] = sub_down(centre_y[g], static_cast<double>(radius_y[g]));
      means.high()[at] = add_up(centre_y[g], static_cast<double>(radius_y[g]));
    }
    const ContractedColumn hull = hulls[j];
    means.above()[j] = means.below()[j] = 0.5 * hull.low + 0.5 * hull.high;
  }
  for (int i = b * m; i < (b + 1) * m; ++i) {
    const bool known = powers_of_row(k, i * k, gather_x, score, centre_s, radius_s,
                                     means.low_weight, means.high_weight);
    double* const centres = centre_out + std::ptrdiff_t{i} * n;
    float* const radii = radius_out + std::ptrdiff_t{i} * n;
    int j = 0;
    for (; j + kLanes <= n; j += kLanes) means.bound<kLanes>(j, known, centres + j, radii + j);
    for (; j < n; ++j) means.bound<1>(j, known, centres + j, radii + j);
  }
}

}  // namespace bf
