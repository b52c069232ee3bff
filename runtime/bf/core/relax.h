#pragma once

#include "bf/contract/integers.h"
#include "bf/contract/tables.h"
#include "bf/core/bounds.h"
#include "bf/core/lanes.h"

// Relaxations of layers: the scalar ones of bounds.h, and the same on lanes, where each lane goes
// through the same operations in the same order.

namespace bf {

// ---- on lanes

// A Relaxation in each lane.
template <int kCount>
struct LaneRelaxation {
  using L = Lanes<kCount>;
  typename L::Floats slope_upper, slope_lower;
  typename L::Doubles offset_upper, offset_lower, centre;
  typename L::Floats radius;
};

// relax_identity.
template <int kCount>
BF_LANES LaneRelaxation<kCount> relax_identity(typename Lanes<kCount>::Doubles centre,
                                               typename Lanes<kCount>::Doubles low,
                                               typename Lanes<kCount>::Doubles high) {
  using L = Lanes<kCount>;
  LaneRelaxation<kCount> made;
  made.slope_upper = made.slope_lower = typename L::Floats{} + 1.0f;
  made.centre = 0.5 * low + 0.5 * high;
  made.offset_upper = L::sub_up(centre, made.centre);
  made.offset_lower = L::sub_down(centre, made.centre);
  made.radius = L::float_up(L::larger(L::sub_up(high, made.centre), L::sub_up(made.centre, low)));
  return made;
}

template <int kCount>
BF_LANES LaneRelaxation<kCount> choose(typename Lanes<kCount>::Longs condition,
                                       const LaneRelaxation<kCount>& a,
                                       const LaneRelaxation<kCount>& b) {
  const auto narrow = __builtin_convertvector(condition, typename Lanes<kCount>::Ints);
  return {narrow ? a.slope_upper : b.slope_upper,
          narrow ? a.slope_lower : b.slope_lower,
          condition ? a.offset_upper : b.offset_upper,
          condition ? a.offset_lower : b.offset_lower,
          condition ? a.centre : b.centre,
          narrow ? a.radius : b.radius};
}

// relax_identity of a layer's own box is made as in bounds.h.
template <int kCount>
BF_LANES LaneRelaxation<kCount> relax_identity(typename Lanes<kCount>::Doubles centre,
                                               typename Lanes<kCount>::Doubles below,
                                               typename Lanes<kCount>::Doubles above,
                                               typename Lanes<kCount>::Doubles low,
                                               typename Lanes<kCount>::Doubles high) {
  using L = Lanes<kCount>;
  LaneRelaxation<kCount> made = relax_identity<kCount>(centre, low, high);
  const typename L::Longs around =
      (below == above) & (above >= 0) & (above <= static_cast<double>(kMaxFloat));
  LaneRelaxation<kCount> same = {};
  same.slope_upper = same.slope_lower = made.slope_upper;
  same.centre = centre;
  same.radius = __builtin_convertvector(above, typename L::Floats);
  return choose<kCount>(around, same, made);
}

// relax_unstable where both ends are finite.
template <int kCount>
BF_LANES LaneRelaxation<kCount> relax_finite(typename Lanes<kCount>::Doubles centre,
                                             typename Lanes<kCount>::Doubles low,
                                             typename Lanes<kCount>::Doubles high) {
  using L = Lanes<kCount>;
  using Doubles = typename L::Doubles;
  LaneRelaxation<kCount> made;
  made.slope_upper = nearest_floats<typename L::Floats>(high / (high - low));
  const Doubles steep = high > -low ? L::all(1) : L::all(0);
  made.slope_lower = __builtin_convertvector(steep, typename L::Floats);
  const Doubles slope = L::wide(made.slope_upper);
  const Doubles intercept =
      L::larger(L::mul_up(slope, -low), L::mul_up(L::sub_up(L::all(1), slope), high));
  made.centre = 0.5 * high;
  made.offset_upper = L::sub_up(L::add_up(L::mul_up(slope, centre), intercept), made.centre);
  made.offset_lower = L::sub_down(steep * centre, made.centre);
  made.radius = L::float_up(high - made.centre);
  return made;
}

// relax_relu: all of its cases, of which each lane takes its own.
template <int kCount>
BF_LANES LaneRelaxation<kCount> relax_relu(typename Lanes<kCount>::Doubles centre,
                                           typename Lanes<kCount>::Doubles low,
                                           typename Lanes<kCount>::Doubles high) {
  using Made = LaneRelaxation<kCount>;
  const Made zero = {};
  Made unknown = {};
  unknown.offset_upper = Lanes<kCount>::all(__builtin_inf());
  unknown.radius = __builtin_inff() + typename Lanes<kCount>::Floats{};
  using Longs = typename Lanes<kCount>::Longs;
  const Longs active = (low >= 0) & (high <= __DBL_MAX__);
  Made made = zero;
  if (Lanes<kCount>::any(~(active | (high <= 0)))) {
    made = choose<kCount>((low >= -__DBL_MAX__) & (high <= __DBL_MAX__),
                          relax_finite<kCount>(centre, low, high), unknown);
    made = choose<kCount>(high <= 0, zero, made);
  }
  if (!Lanes<kCount>::any(active)) return made;
  return choose<kCount>(active, relax_identity<kCount>(centre, low, high), made);
}

// The arrays that relax() reads, from one neuron on.
struct NeuronsView {
  const double* centre;
  const float* below;
  const float* above;
  const float* radius;

  NeuronsView from(std::ptrdiff_t j) const {
    return {centre + j, below + j, above + j, radius + j};
  }
};

// The arrays that relax() writes. table: the first row's place, `row` floats from one to the next,
// or null.
struct RelaxedView {
  float* table;
  std::ptrdiff_t row;
  double* centre;
  float* radius;

  RelaxedView from(std::ptrdiff_t j) const {
    return {table == nullptr ? nullptr : table + j, row, centre + j, radius + j};
  }
};

// Neurons, or boxes, of one vector: relax() on each lane. Returns what goes to the sum of reaches.
// Everything is read before anything is written.
template <int kCount>
BF_LANES typename Lanes<kCount>::Doubles relax_lanes(bool relu, const NeuronsView& z,
                                                     const RelaxErrors& errors,
                                                     typename Lanes<kCount>::Doubles own,
                                                     const RelaxedView& out) {
  using L = Lanes<kCount>;
  using Doubles = typename L::Doubles;
  const Doubles middle = load_rows<Doubles>(z.centre);
  const Doubles down_by = L::wide(z.below), up_by = L::wide(z.above);
  const Doubles low = L::sub_down(middle, down_by);
  const Doubles high = L::add_up(middle, up_by);
  const Doubles spread = L::wide(z.radius) * errors.inflate;
  const Doubles reach = L::larger(L::size(down_by), L::size(up_by));
  if (relu && !L::any(~((high <= 0) & ~(low >= 0)))) {  // all dead, as most of many layers are
    for (int i = 0; out.table != nullptr && i < kRelaxRows; ++i)
      store_rows(out.table + i * out.row, typename L::Floats{});
    store_rows(out.centre, Doubles{});
    store_rows(out.radius, typename L::Floats{});
    return out.table != nullptr ? Doubles(reach + spread + own) : Doubles{};
  }
  const LaneRelaxation<kCount> line =
      relu ? relax_relu<kCount>(middle, low, high)
           : relax_identity<kCount>(middle, down_by, up_by, low, high);
  Doubles reached = {};
  if (out.table != nullptr) {
    const Doubles up = L::wide(line.slope_upper);
    const Doubles down = L::wide(line.slope_lower);
    const Doubles steep = L::larger(up, down);
    const Doubles offset = L::larger(L::size(line.offset_upper), L::size(line.offset_lower));
    const Doubles inexact = up == down ? Doubles{} : up;
    const Doubles product = steep == 0 ? Doubles{} : steep * (errors.product * spread + own);
    const Doubles wide = steep == 0 ? Doubles{} : steep * (errors.wide * spread + own);
    const Doubles slope = inexact == 0 ? Doubles{} : errors.slope * inexact * reach;
    const Doubles common = slope + errors.offset * offset;
    const Doubles stored = errors.stored * L::wide(line.radius);
    const double factor = price_factor(errors.offset);
    const Doubles price = (product + common) * factor,
                  wide_price = (wide + common + stored) * factor;
    store_rows(out.table + kSlopeUpper * out.row, line.slope_upper);
    store_rows(out.table + kSlopeLower * out.row, line.slope_lower);
    store_rows(out.table + kOffsetUpper * out.row, L::float_up(line.offset_upper + price));
    store_rows(out.table + kOffsetLower * out.row, L::float_down(line.offset_lower - price));
    store_rows(out.table + kWideOffsetUpper * out.row, L::float_up(line.offset_upper + wide_price));
    store_rows(out.table + kWideOffsetLower * out.row,
               L::float_down(line.offset_lower - wide_price));
    reached = reach + spread + own;
  }
  store_rows(out.centre, line.centre);
  store_rows(out.radius, line.radius);
  return reached;
}

// ---- of one neuron

// Writes neuron j's line, with what it pays; returns what goes to the sum of reaches.
static inline double put_relaxation(std::ptrdiff_t j, const NeuronsView& z,
                                    const RelaxErrors& errors, double own, const Relaxation& line,
                                    const RelaxedView& out) {
  if (out.table == nullptr) {
    out.centre[j] = line.centre;
    out.radius[j] = line.radius;
    return 0;
  }
  const double b = __builtin_fabs(static_cast<double>(z.below[j]));
  const double a = __builtin_fabs(static_cast<double>(z.above[j]));
  const double reach = b > a ? b : a;
  const double up = static_cast<double>(line.slope_upper);
  const double down = static_cast<double>(line.slope_lower);
  const double steep = up > down ? up : down;
  const double offset_up = __builtin_fabs(line.offset_upper);
  const double offset_down = __builtin_fabs(line.offset_lower);
  const double offset = offset_up > offset_down ? offset_up : offset_down;
  const double inexact = up == down ? 0 : up;  // slopes 0 and 1 multiply exactly
  const double spread = static_cast<double>(z.radius[j]) * errors.inflate;
  const double product = steep == 0 ? 0 : steep * (errors.product * spread + own);
  const double wide = steep == 0 ? 0 : steep * (errors.wide * spread + own);
  const double slope = inexact == 0 ? 0 : errors.slope * inexact * reach;
  const double common = slope + errors.offset * offset;
  const double stored = errors.stored * static_cast<double>(line.radius);
  const double factor = price_factor(errors.offset);
  out.table[kSlopeUpper * out.row + j] = line.slope_upper;
  out.table[kSlopeLower * out.row + j] = line.slope_lower;
  put_offsets(line.offset_upper, line.offset_lower, (product + common) * factor, out.row,
              out.table + kOffsetUpper * out.row + j);
  put_offsets(line.offset_upper, line.offset_lower, (wide + common + stored) * factor, out.row,
              out.table + kWideOffsetUpper * out.row + j);
  out.centre[j] = line.centre;
  out.radius[j] = line.radius;
  return reach + spread + own;
}

// The lines of relax_relu or relax_identity, with another centre of a': that of z, or 0 where a
// ReLU makes it 0. A neuron that is 0 throughout has no other.
static inline Relaxation relax_point(bool relu, double centre, double low, double high) {
  Relaxation made = relu ? relax_relu(centre, low, high) : relax_identity(centre, low, high);
  if (relu && high <= 0) return made;
  made.centre = relu && !(centre > 0) ? 0 : centre;
  if (!relu || (low >= 0 && high <= __DBL_MAX__)) {
    made.offset_upper = sub_up(centre, made.centre);
    made.offset_lower = sub_down(centre, made.centre);
  } else {
    if (low >= -__DBL_MAX__ && high <= __DBL_MAX__)
      made.offset_upper =
          upper_offset(static_cast<double>(made.slope_upper), centre, low, high, made.centre);
    made.offset_lower = sub_down(static_cast<double>(made.slope_lower) * centre, made.centre);
  }
  const double right = sub_up(high, made.centre);
  const double left = sub_up(made.centre, relu && low < 0 ? 0 : low);
  made.radius = float_up(right > left ? right : left);
  return made;
}

// relax() on neuron j, or relax_at_points(); returns what goes to the sum of reaches.
template <bool kAtPoints>
static inline double relax_neuron(std::ptrdiff_t j, bool relu, const NeuronsView& z,
                                  const RelaxErrors& errors, double own, const RelaxedView& out) {
  const double low = sub_down(z.centre[j], static_cast<double>(z.below[j]));
  const double high = add_up(z.centre[j], static_cast<double>(z.above[j]));
  const Relaxation line = kAtPoints ? relax_point(relu, z.centre[j], low, high)
                          : relu    ? relax_relu(z.centre[j], low, high)
                                 : relax_identity(z.centre[j], z.below[j], z.above[j], low, high);
  return put_relaxation(j, z, errors, own, line, out);
}

// ---- of a layer

static_assert(kPartialSums % kNeuronLanes == 0, "bf: a part for each lane");

// relax() on whole vectors; returns how many neurons these are.
template <int kLanes>
static inline int relax_vectors(int n, bool relu, const NeuronsView& z, const RelaxErrors& errors,
                                const double* row, double (&reach)[kPartialSums],
                                const RelaxedView& out) {
  int j = 0;
  if constexpr (kLanes > 1) {
    using L = Lanes<kLanes>;
    using Doubles = typename L::Doubles;
    for (; j + kLanes <= n; j += kLanes) {
      double* const part = reach + j % kPartialSums;
      const Doubles own = row == nullptr ? Doubles{} : load_rows<Doubles>(row + j);
      const Doubles reached = relax_lanes<kLanes>(relu, z.from(j), errors, own, out.from(j));
      store_rows(part, Doubles(load_rows<Doubles>(part) + reached));
    }
  }
  return j;
}

static inline void put_underflow(int n, double reach, double* slack) {
  slack[kUnderflowSlack] =
      (static_cast<double>(n) * (1 + slack[kRadiusSlack]) + reach) * (1 + 0x1p-20);
}

// relax() of n neurons, or relax_at_points().
template <bool kAtPoints>
static inline void relax_layer(int n, bool relu, const NeuronsView& z, const RelaxErrors& errors,
                               double* slack, const double* row, const RelaxedView& out) {
  double reach[kPartialSums] = {};
  int j = kAtPoints ? 0 : relax_vectors<kNeuronLanes>(n, relu, z, errors, row, reach, out);
  for (int s = j % kPartialSums; j < n; ++j, s = (s + 1) % kPartialSums)
    reach[s] += relax_neuron<kAtPoints>(j, relu, z, errors, row == nullptr ? 0 : row[j], out);
  if (out.table == nullptr) return;
  for (int s = 1; s < kPartialSums; ++s) reach[0] += reach[s];
  put_underflow(n, reach[0], slack);
}

// The relaxation of a layer of n neurons as the RelaxRows of a table, and the centre and radius of
// its activations.
//
// A backward row holds sum_j A_j (a'_j - centre'_j). With the line of A_j's sign,
//   A_j (a'_j - centre'_j) >= A_j slope (z_j - centre_j) + A_j offset,
// and the offset is farther out, as price_factor() says, by a price that covers, per |A_j|:
//   product: the next product's rounding, and its weights': |A_j| s (product P_j + row_j), where
//            P_j = sum_k |w_jk| radius_k bounds what the coefficients' errors multiply, and
//            s = max(|slope|) the coefficient it starts from;
//   slope:   Lambda = fl(A_j slope) is off by at most u |A_j| slope, times |z_j - centre_j|;
//            slopes 0 and 1 are exact;
//   offset:  the float sum of A_j offset;
//   stored:  in wide rows, A_j itself is a double sum rounded to float: off by at most u |A_j|,
//            times |a'_j - centre'_j| <= the activation's radius.
// Double roundings here: the factor kDoubleSlack. Underflow: slack[kUnderflowSlack], in units that
// the rows scale. Without a table only the centres and radii are made, and `radius`, `slack` and
// `row` are not touched. centre_out may be centre; radius_out may be below, above or radius:
// nothing of neuron j is read once these are written.
static inline void relax(int n, bool relu, const double* centre, const float* below,
                         const float* above, const float* radius, const RelaxErrors& errors,
                         double* slack, const double* row, float* table, double* centre_out,
                         float* radius_out) {
  relax_layer<false>(n, relu, {centre, below, above, radius}, errors, slack, row,
                     {table, n, centre_out, radius_out});
}

// relax() with the centres of relax_point(): docs/proofs/balls.md, "Balls of layers".
static inline void relax_at_points(int n, bool relu, const double* centre, const float* below,
                                   const float* above, const float* radius,
                                   const RelaxErrors& errors, double* slack, const double* row,
                                   float* table, double* centre_out, float* radius_out) {
  relax_layer<true>(n, relu, {centre, below, above, radius}, errors, slack, row,
                    {table, n, centre_out, radius_out});
}

// The boxes of a' = relu(z) or a' = z alone.
static inline void relax_box(int n, bool relu, const double* centre, const float* below,
                             const float* above, double* centre_out, float* radius_out) {
  relax(n, relu, centre, below, above, below, RelaxErrors{}, nullptr, nullptr, nullptr, centre_out,
        radius_out);
}

}  // namespace bf
