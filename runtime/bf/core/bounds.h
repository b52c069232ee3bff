#pragma once

#include "bf.h"
#include "bf/contract/integers.h"
#include "bf/contract/tables.h"
#include "bf/core/lane_choice.h"
#include "bf/core/lanes.h"
#include "bf/core/live_neurons.h"
#include "bf/core/rounding.h"
#include "bf/core/vectors.h"

// The parts of a verifier that do not depend on its network's shape: input checks, the box, linear
// relaxations, and how a backward row becomes a bound. Generated code calls them between its
// kernels. All have internal linkage; none allocates, throws, or keeps state.
//
// Conventions. A tensor of activations is (centre, radius): |a_k - centre_k| <= radius_k. A
// pre-activation is (centre, below, above): centre - below <= z <= centre + above; below and above
// may be negative once tightened, or +inf where nothing is known. Centres are finite.
// u = 2^-24 and v = 2^-53 are the unit roundoffs of float and double.

namespace bf {

constexpr float kMaxFloat = __FLT_MAX__;

// A factor that covers 2^12 double roundings: (1 - v)^-4096 < 1 + 2^-40.
constexpr double kDoubleSlack = 0x1.0000000001p0;

// Sums over neurons are kept in so many parts, of every so-many-th neuron: one for each lane.
constexpr int kPartialSums = 8;

// ---- arguments

// BF_OK when the box is one that bounds are promised for. n: elements of lower and of upper.
static inline bf_status check_box(const float* lower, const float* upper, int n) {
  std::uint32_t bad = 0;
  for (int i = 0; i < n; ++i) {
    bad |= lower[i] <= upper[i] ? 0u : 1u;  // also catches NaN
    bad |= lower[i] >= -kMaxFloat ? 0u : 1u;
    bad |= upper[i] <= kMaxFloat ? 0u : 1u;
  }
  if (bad == 0) return BF_OK;
  for (int i = 0; i < n; ++i)
    if (lower[i] != lower[i] || upper[i] != upper[i]) return BF_NAN_INPUT;
  for (int i = 0; i < n; ++i)
    if (!(lower[i] <= upper[i])) return BF_EMPTY_BOX;
  return BF_INFINITE_BOX;
}

// check_box() of semantics float32: within `reach` no evaluation of the network overflows.
static inline bf_status check_box(const float* lower, const float* upper, int n, float reach) {
  if (const bf_status status = check_box(lower, upper, n)) return status;
  for (int i = 0; i < n; ++i)
    if (lower[i] < -reach || upper[i] > reach) return BF_FLOAT32_RANGE;
  return BF_OK;
}

// BF_OK when `workspace` can be used.
static inline bf_status check_workspace(const void* workspace, std::size_t bytes,
                                        std::size_t needed, std::size_t align) {
  if (workspace == nullptr) return needed == 0 ? BF_OK : BF_NULL_ARGUMENT;
  if (bytes < needed) return BF_WORKSPACE_TOO_SMALL;
  if (reinterpret_cast<std::uintptr_t>(workspace) % align != 0) return BF_WORKSPACE_MISALIGNED;
  return float_environment_ok() ? BF_OK : BF_FLOAT_ENVIRONMENT;
}

// ---- the box

// Interval method: float centre, and a radius with the reader's summation error gamma |centre| in
// it.
//
// Proof. Any float is a centre. d = max(fl(upper - c), fl(c - lower)) errs by at most u d, and
// subnormal differences are exact; so d (1 + 4u), rounded, is at least the true distance.
// |c| gamma may lose 2^-150 to underflow: the readers' absolute term pays for it.
static inline void bind_box(const float* lower, const float* upper, int n, float gamma,
                            float* centre, float* radius) {
  for (int i = 0; i < n; ++i) {
    const float c = 0.5f * lower[i] + 0.5f * upper[i];
    const float right = upper[i] - c;
    const float left = c - lower[i];
    const float distance = right > left ? right : left;
    centre[i] = c;
    radius[i] = distance * 0x1.000004p0f + __builtin_fabsf(c) * gamma;
  }
}

// Whole vectors of the box below; returns how many elements these are.
template <int kLanes>
static inline int bind_vectors(const float* lower, const float* upper, int n, double* centre,
                               float* radius) {
  int i = 0;
  if constexpr (kLanes > 1) {
    for (; i + kLanes <= n; i += kLanes)
      bind_lanes<kLanes>(lower + i, upper + i, centre + i, radius + i);
  }
  return i;
}

// Backward methods: double centre, float radius rounded up. The end of larger magnitude is exact,
// and both are where half of the width is a float: a box that ends where a domain does, or at a
// step, does so for good.
//
// Proof. Let |l| <= |h|, so that h >= 0 or l = h; the other case is its mirror image. r is at least
// (h - l) / 2, which makes h - 2 r <= l, and at most h. h - r is exact in double: where r is more
// than 2^-29 h, its 24 bits end within 53 of h's first one; where it is less, l and h are floats so
// near each other that they are equal, and r is 0.
static inline void bind_box(const float* lower, const float* upper, int n, double* centre,
                            float* radius) {
  for (int i = bind_vectors<kNeuronLanes>(lower, upper, n, centre, radius); i < n; ++i) {
    const double l = static_cast<double>(lower[i]);
    const double h = static_cast<double>(upper[i]);
    const float reach = float_up(0.5 * exact_sum_up(h, -l));
    const double r = static_cast<double>(reach);
    centre[i] = h >= -l ? h - r : l + r;
    radius[i] = reach;
  }
}

// ---- the interval around a double centre

// Bounds what the centre z_j = fl(W c + b) may miss, in double, for the neurons of one layer (see
// CentreAffine in the plan):
//   |z - (z_j + sum_k w*_jk (a_k - c_k))| <= relative (row_norm max|c| + bias_norm) + absolute
// slack: the SlackTerms: that bound; sum of the radii, or 0 without them; the others are left for
// relax() and row_slack.h.
static inline void centre_slack(const double* centre, const float* radius, int n, double relative,
                                double row_norm, double bias_norm, double absolute, double* slack) {
  double largest[kPartialSums] = {};
  double sums[kPartialSums] = {};
  const auto take = [&](int k, int s) {
    const double size = __builtin_fabs(centre[k]);
    largest[s] = size > largest[s] ? size : largest[s];
    if (radius != nullptr) sums[s] += static_cast<double>(radius[k]);
  };
  int first = 0;
  for (; first + kPartialSums <= n; first += kPartialSums)
    for (int s = 0; s < kPartialSums; ++s) take(first + s, s);
  for (int s = 0; first + s < n; ++s) take(first + s, s);
  for (int s = 1; s < kPartialSums; ++s) {
    largest[0] = largest[s] > largest[0] ? largest[s] : largest[0];
    sums[0] += sums[s];
  }
  slack[kCentreSlack] = (relative * (row_norm * largest[0] + bias_norm) + absolute) * kDoubleSlack;
  slack[kRadiusSlack] = sums[0] * (1 + 0x1p-20);  // n < 2^29 additions
}

// Whole vectors of interval_around(); returns how many neurons these are.
template <int kLanes>
static inline int interval_vectors(const float* radius, int n, double inflate, const double* row,
                                   float* below, float* above) {
  int j = 0;
  if constexpr (kLanes > 1) {
    using L = Lanes<kLanes>;
    for (; j + kLanes <= n; j += kLanes) {
      const auto own = load_rows<typename L::Doubles>(row + j);
      const auto reach = L::float_up(L::wide(radius + j) * inflate + own);
      store_rows(below + j, reach);
      store_rows(above + j, reach);
    }
  }
  return j;
}

// below_j = above_j >= inflate radius_j + row_j, the row's slack. `inflate` holds a factor for the
// roundings here. below and above may be radius.
static inline void interval_around(const float* radius, int n, double inflate, const double* row,
                                   float* below, float* above) {
  int j = interval_vectors<kNeuronLanes>(radius, n, inflate, row, below, above);
  for (; j < n; ++j)
    below[j] = above[j] = float_up(static_cast<double>(radius[j]) * inflate + row[j]);
}

// Uncertain weights get a bound of each neuron's own centre error: own_j = relative (|W| |c|)_j +
// absolute. magnitude_k >= |c_k| is the input of the product.
static inline void magnitudes(const double* centre, int n, float* magnitude) {
  for (int k = 0; k < n; ++k) magnitude[k] = float_up(__builtin_fabs(centre[k]));
}

// below_j = above_j >= inflate radius_j + own_j; radius_j grows by pay own_j, so that who loses
// radius_j / pay, or more, loses own_j as well. magnitude: |W| |c|, as computed; `relative`
// and `inflate` hold factors for its roundings and for those here. below and above may be radius.
static inline void interval_of_neurons(const float* magnitude, int n, double inflate,
                                       double relative, double absolute, double pay, float* radius,
                                       float* below, float* above) {
  for (int j = 0; j < n; ++j) {
    const double own = (static_cast<double>(magnitude[j]) * relative + absolute) * kDoubleSlack;
    const double spread = static_cast<double>(radius[j]);
    radius[j] = float_up((spread + own * pay) * kDoubleSlack);
    below[j] = above[j] = float_up(spread * inflate + own);
  }
}

// ---- linear relaxation

// Errors of a backward step that the offsets of a relaxation's table pay; see Relax in the plan.
struct RelaxErrors {
  double product;  // of the product with the layer's weights, relative to |A| |W| radius
  double wide;     // the same for products summed in double
  double stored;   // of a wide product when it is stored as float, relative
  double slope;    // of A x slope, relative
  double offset;   // of the sum of A x offset, relative; at most kMostPriced
  double inflate;  // on the layer's computed interval radius
};

// A row that loses at most |A| q at a neuron takes offsets o that are farther out by
// p = (q + gamma m) price_factor(gamma), m being the larger |o| of both lines: then the float32 sum
// of A offset, of relative error gamma, is at most what the row has left. u <= gamma <= 1/4.
//
// Proof. Let o' be o -+ p, rounded outward to float by d >= 0. The row's sum must lose (1 + u) q,
// as A x slope may have been rounded up, and gamma |o'| for what the sum rounds. |o'| <= m + p + d,
// and of d the row loses d > gamma d more: subnormal offsets, too, pay for their own rounding. So
// p >= (1 + u) q + gamma (m + p) will do, and that holds where price_factor (1 - gamma) >= 1 + u:
// (1 + 4 gamma)(1 - gamma) >= 1 for gamma <= 1/4, and 1 + 5u >= (1 + u)(1 + 2u) is left. 1 + 2u
// pays the addition in double, which may lose v (m + p): 2u p >= 2u gamma m >= 2^-47 m. One factor
// is for the roundings of p itself.
static inline double price_factor(double gamma) {
  return (1 + 4 * gamma) * (1 + 0x1.4p-22) * kDoubleSlack;
}

// One neuron's part of a relaxation.
struct Relaxation {
  float slope_upper, slope_lower;     // lines over z
  double offset_upper, offset_lower;  // line(centre of z) - centre of a', outward
  double centre;                      // of a'
  float radius;                       // of a'
};

// Writes both offsets of a table, moved outward by a price with price_factor(): to[0], to[n].
static inline void put_offsets(double upper, double lower, double price, std::ptrdiff_t n,
                               float* to) {
  to[0] = float_up(upper + price);
  to[n] = float_down(lower - price);
}

// a' = z, for z in [low, high].
static inline Relaxation relax_identity(double centre, double low, double high) {
  Relaxation made;
  made.slope_upper = made.slope_lower = 1;
  made.centre = 0.5 * low + 0.5 * high;
  made.offset_upper = sub_up(centre, made.centre);
  made.offset_lower = sub_down(centre, made.centre);
  const double right = sub_up(high, made.centre);
  const double left = sub_up(made.centre, low);
  made.radius = float_up(right > left ? right : left);
  return made;
}

// The same, for z within `below` below and `above` above of the centre, and in [low, high]. A box
// around its centre stays as it is: sums of integers stay exact.
static inline Relaxation relax_identity(double centre, float below, float above, double low,
                                        double high) {
  if (!(below == above && above >= 0 && above <= kMaxFloat))
    return relax_identity(centre, low, high);
  Relaxation made;
  made.slope_upper = made.slope_lower = 1;
  made.offset_upper = made.offset_lower = 0;
  made.centre = centre;
  made.radius = above;
  return made;
}

// The offset of the line above relu(z) with a slope s in [0, 1], z in [low, high]: s z + t is above
// iff it is at both ends, t = max(-s low, (1 - s) high), up. of: the centre of a'.
static inline double upper_offset(double slope, double centre, double low, double high, double of) {
  const double at_low = mul_up(slope, -low);
  const double at_high = mul_up(sub_up(1, slope), high);
  const double intercept = at_low > at_high ? at_low : at_high;
  return sub_up(add_up(mul_up(slope, centre), intercept), of);
}

// a' = relu(z) for z in [low, high], low <= 0 <= high or either infinite.
//   upper: slope s = float(high / (high - low)), any float in [0, 1] would do.
//   lower: slope 1 if high > -low, else 0 (the smaller area), through the origin: both lie below
//          relu everywhere.
// Source: Zhang et al. 2018, arXiv:1811.00866 (CROWN), adaptive lower slope.
static inline Relaxation relax_unstable(double centre, double low, double high) {
  Relaxation made;
  if (!(low >= -__DBL_MAX__ && high <= __DBL_MAX__)) {
    // Nothing is known above: only a' >= 0 holds. An infinite offset makes every bound that would
    // use the upper line infinite or NaN, which no tightening accepts.
    made.slope_upper = made.slope_lower = 0;
    made.offset_upper = __builtin_inf();
    made.offset_lower = 0;
    made.centre = 0;
    made.radius = __builtin_inff();
    return made;
  }
  made.slope_upper = nearest_float(high / (high - low));
  made.slope_lower = high > -low ? 1.0f : 0.0f;
  made.centre = 0.5 * high;
  made.offset_upper =
      upper_offset(static_cast<double>(made.slope_upper), centre, low, high, made.centre);
  made.offset_lower = sub_down(static_cast<double>(made.slope_lower) * centre, made.centre);
  made.radius = float_up(high - made.centre);  // exact: half of high
  return made;
}

// a' = relu(z): identity, zero or unstable.
static inline Relaxation relax_relu(double centre, double low, double high) {
  if (low >= 0 && high <= __DBL_MAX__) return relax_identity(centre, low, high);
  if (high <= 0) return Relaxation{0, 0, 0, 0, 0, 0};
  return relax_unstable(centre, low, high);
}

// ---- backward rows

// Returns true if the bounds leave the sign of neuron j open: sub_down(centre, below) < 0 <
// add_up(centre, above). Proof: a step outward from a float other than 0 does not pass 0, a sum of
// 0 takes none, and NaN becomes the infinity that leaves the sign open.
static inline bool is_unstable(const double* centre, const float* below, const float* above,
                               int j) {
  const bool active = centre[j] - static_cast<double>(below[j]) >= 0;
  const bool dead = centre[j] + static_cast<double>(above[j]) <= 0;
  return !(active | dead);
}

// The neurons of unknown sign, in order; returns their number. No branch: signs are hard to
// predict.
static inline int list_unstable(const double* centre, const float* below, const float* above, int n,
                                std::int32_t* neurons) {
  int count = 0;
  for (int j = 0; j < n; ++j) {  // a place that stays free is written over
    neurons[count] = j;
    count += is_unstable(centre, below, above, j) ? 1 : 0;
  }
  return count;
}

// All n neurons.
static inline int list_all(int n, std::int32_t* neurons) {
  for (int j = 0; j < n; ++j) neurons[j] = j;
  return n;
}

// Fills the list up to a multiple of `unit` by repeating its last neuron.
static inline void pad_list(std::int32_t* neurons, int count, int unit) {
  for (int i = count; count > 0 && i % unit != 0; ++i) neurons[i] = neurons[count - 1];
}

// The inputs whose first coefficients are made: as list_live() lists them, all where there is no
// list.
struct StartInputs {
  const std::int32_t* live;
  int count;
  std::ptrdiff_t operator[](int i) const { return live == nullptr ? i : live[1 + i]; }
};

// Rows of a vector of neurons and their negations; row_of(w): their weights of the input that w
// is the first weight of.
template <int kPairs, typename RowOf>
__attribute__((always_inline)) static inline void put_start_rows(const float* weight, int panel,
                                                                 StartInputs inputs,
                                                                 float* coefficients,
                                                                 RowOf row_of) {
  for (int i = 0; i < inputs.count; ++i) {
    const std::ptrdiff_t k = inputs[i];
    const auto row = row_of(weight + k * panel);
    float* const c = coefficients + k * (2 * kPairs);
    store_rows(c, row);
    store_rows(c + kPairs, decltype(row)(-row));
  }
}

#if defined(__AVX512F__)
template <int kPairs, int kLanes>
__attribute__((noinline, unused)) static void choose_start_rows(const float* weight, int panel,
                                                                StartInputs inputs,
                                                                const LaneChoice<kLanes>& choice,
                                                                float* coefficients) {
  constexpr int kMost = LaneChoice<kLanes>::kMostWindows;
  const auto put = [&](auto windows) __attribute__((always_inline)) {
    const LaneChoice<kLanes> here = choice;  // in registers
    put_start_rows<kPairs>(weight, panel, inputs, coefficients, [&](const float* w) {
      return here.template of<decltype(windows)::value>(w);
    });
  };
  if (choice.windows() <= 2)
    put(Count<2>{});
  else
    put(Count<kMost>{});
}
#endif

// The place of the first weight of a neuron in a table [out / panel][in][panel].
template <typename Index>
static inline std::ptrdiff_t weight_of(Index neuron, int in, int panel) {
  return static_cast<std::ptrdiff_t>(neuron / panel) * panel * in + neuron % panel;
}

// Coefficients [in][2 kPairs] of +z_i and -z_i over the layer's inputs, for kPairs neurons i: the
// rows of W and their negations. weight: [out / panel][in][panel]. A vector of neurons at a time:
// of neighbours, as all of a head are, one load. live_in: the inputs whose coefficients are made,
// as list_live() lists them; null: all.
template <int kPairs>
static inline void start_rows(const float* weight, int in, int panel, const std::int32_t* neurons,
                              float* coefficients, const std::int32_t* live_in = nullptr) {
  const StartInputs inputs = {live_in, live_in == nullptr ? in : live_in[0]};
  constexpr int kLanes = lanes_of<float>(kPairs);
  using Floats = typename VectorOf<float, kLanes>::type;
  for (int first = 0; first < kPairs; first += kLanes) {
    std::ptrdiff_t at[kLanes];
    bool neighbours = true;
    for (int r = 0; r < kLanes; ++r) {
      const int neuron = neurons[first + r];
      at[r] = weight_of(neuron, in, panel);
      neighbours = neighbours && at[r] == at[0] + r;
    }
#if defined(__AVX512F__)
    if constexpr (kLanes >= 8)
      if (LaneChoice<kLanes> choice; !neighbours && choice.make(neurons + first, in, panel)) {
        choose_start_rows<kPairs>(weight, panel, inputs, choice, coefficients + first);
        continue;
      }
#endif
    put_start_rows<kPairs>(weight, panel, inputs, coefficients + first, [&](const float* w) {
      float each[kLanes];
      if (!neighbours) {
        BF_UNROLL_ROWS for (int r = 0; r < kLanes; ++r) each[r] = w[at[r]];
      }
      return load_rows<Floats>(neighbours ? w + at[0] : each);
    });
  }
}

// Factors of the bounds of a tile; see BackwardRows in the plan.
struct RowErrors {
  double concretize_inflate;  // on the computed spread
  double weight_relative;     // of the rows' own weights
  double inflate;             // on the neurons' interval radius
  double absolute;            // underflow
  const double* row;          // what the centre of each neuron may miss
};

// Takes over what is tighter of the bounds that a neuron's two rows give.
static inline void tighten_neuron(int neuron, float down, float up, float* below, float* above) {
  if (down < below[neuron]) below[neuron] = down;
  if (up < above[neuron]) above[neuron] = up;
}

// Whole vectors of tighten_rows(); returns how many of the neurons these are.
template <int kLanes>
static inline int tighten_vectors(const std::int32_t* neurons, int count, int pairs,
                                  const float* sums, const RowErrors& errors, const float* radius,
                                  float* below, float* above) {
  int r = 0;
  if constexpr (kLanes > 1) {
    using L = Lanes<kLanes>;
    using Doubles = typename L::Doubles;
    const int rows = 2 * pairs;
    for (; r + kLanes <= count; r += kLanes) {
      float own_radius[kLanes], down[kLanes], up[kLanes];
      double missed[kLanes];
      BF_UNROLL_ROWS for (int l = 0; l < kLanes; ++l) {
        own_radius[l] = radius[neurons[r + l]];
        missed[l] = errors.row[neurons[r + l]];
      }
      Doubles own = load_rows<Doubles>(missed) + errors.absolute;
      if (errors.weight_relative != 0)
        own = errors.weight_relative * L::wide(own_radius) * errors.inflate + own;
      const auto reach = [&](int row) __attribute__((always_inline)) {
        const Doubles loss =
            (L::wide(sums + rows + row) * errors.concretize_inflate + own) * kDoubleSlack;
        return L::float_up(L::sub_up(loss, L::wide(sums + row)));
      };
      store_rows(down, reach(r));
      store_rows(up, reach(pairs + r));
      BF_UNROLL_ROWS for (int l = 0; l < kLanes; ++l)
          tighten_neuron(neurons[r + l], down[l], up[l], below, above);
    }
  }
  return r;
}

// Bounds what a row loses besides the terms of its sums. Exact weights lose nothing, also where
// nothing is known of the neuron's interval.
static inline double own_loss(const RowErrors& errors, float radius, double absolute) {
  if (errors.weight_relative == 0) return absolute;
  return errors.weight_relative * static_cast<double>(radius) * errors.inflate + absolute;
}

// Bounds how far below the centre the row's neuron, or its negative, may be.
static inline float reach_of_row(float offset, float spread, double own, const RowErrors& errors) {
  const double loss =
      (static_cast<double>(spread) * errors.concretize_inflate + own) * kDoubleSlack;
  return float_up(sub_up(loss, static_cast<double>(offset)));
}

// Turns row sums into bounds and keeps what is tighter. Row r (of +z_i) says
//   z_i - centre_i >= offset_r - spread_r - absolute,
// row pairs + r the same of -z_i. sums: [2][2 pairs]: offsets, spreads.
//
// Proof of the rounding: the positive terms are added with kDoubleSlack, the difference is rounded
// up. A NaN anywhere becomes +inf in float_up and tightens nothing.
static inline void tighten_rows(const std::int32_t* neurons, int count, int pairs,
                                const float* sums, const RowErrors& errors, const float* radius,
                                float* below, float* above) {
  const int rows = 2 * pairs;
  int r = tighten_vectors<kNeuronLanes>(neurons, count, pairs, sums, errors, radius, below, above);
  for (; r < count; ++r) {
    const int i = neurons[r];
    const double own = own_loss(errors, radius[i], errors.row[i] + errors.absolute);
    const auto reach = [&](int row) {
      return reach_of_row(sums[row], sums[rows + row], own, errors);
    };
    tighten_neuron(i, reach(r), reach(pairs + r), below, above);
  }
}

// Writes the line of a row of q = z_i or -z_i for branch and bound: its coefficients over the
// inputs, and behind them a float `least` with
//     q(x) >= least + |a_k| d_k   for every k, and for the sum over all,
// d_k >= 0 the distance of x_k from that end of the box at which a_k x_k is least. Clipping rests
// on it: docs/proofs/branch-and-bound.md. centre: of q. Coefficients may be infinite or NaN, least
// is -inf then.
static inline void keep_line(const float* over_inputs, int stride, int inputs, double centre,
                             float reach, float* line) {
  for (int k = 0; k < inputs; ++k) line[k] = over_inputs[std::ptrdiff_t{k} * stride];
  line[inputs] = float_down(sub_down(centre, static_cast<double>(reach)));
}

// The lines of both rows of all neurons in the rows' list. over_inputs: [inputs][2 pairs], other
// arguments as of tighten_rows. kept: null, or [neuron][2][inputs + 1] from neuron `position` on.
static inline void keep_coefficients(const std::int32_t* neurons, int count, int pairs, int inputs,
                                     const float* over_inputs, const float* sums,
                                     const RowErrors& errors, const float* radius,
                                     const double* centre, int position, float* kept) {
  if (kept == nullptr) return;
  const int rows = 2 * pairs;
  for (int r = 0; r < count; ++r) {
    const int i = neurons[r];
    float* const to = kept + std::ptrdiff_t{position + i} * 2 * (inputs + 1);
    const double own = own_loss(errors, radius[i], errors.row[i] + errors.absolute);
    const auto reach = [&](int row) {
      return reach_of_row(sums[row], sums[rows + row], own, errors);
    };
    keep_line(over_inputs + r, rows, inputs, centre[i], reach(r), to);
    keep_line(over_inputs + pairs + r, rows, inputs, -centre[i], reach(pairs + r), to + inputs + 1);
  }
}

// Writes the intervals of z of n neurons, rounded outward: the lower ends from kept[position] on,
// the upper ends `neurons` behind them. Does nothing where kept is null.
static inline void keep_ranges(int n, const double* centre, const float* below, const float* above,
                               int position, int neurons, float* kept) {
  if (kept == nullptr) return;
  float* const lower = kept + position;
  float* const upper = lower + neurons;
  for (int j = 0; j < n; ++j) {
    lower[j] = float_down(sub_down(centre[j], static_cast<double>(below[j])));
    upper[j] = float_up(add_up(centre[j], static_cast<double>(above[j])));
  }
}

// The caller's bounds of n head neurons, after ReLU when `relu`.
static inline void write_bounds(int n, bool relu, const double* centre, const float* below,
                                const float* above, float* lower, float* upper) {
  for (int j = 0; j < n; ++j) {
    const float low = float_down(exact_sum_down(centre[j], -static_cast<double>(below[j])));
    const float high = float_up(exact_sum_up(centre[j], static_cast<double>(above[j])));
    lower[j] = relu && low < 0 ? 0.0f : low;
    upper[j] = relu && high < 0 ? 0.0f : high;
  }
}

}  // namespace bf
