#pragma once

#include "bf/contract/integers.h"
#include "bf/contract/tables.h"
#include "bf/core/bounds.h"
#include "bf/sums/backward.h"
#include "bf/sums/terms.h"

// Backward rows that choose the lower slopes of the ReLUs that they pass, each row its own:
// docs/proofs/optimised-slopes.md. Bounds hold for any slopes in [0, 1]; of what is here only
// relax_slopes(), relax_free_rows() and the range of the slopes are part of the proof. The rest
// finds good slopes: a walk from the corner of the box where a row is least, forward along the
// lines that the row chose, and a step along the gradient. No sum there needs a direction.
//
// Values, slopes and coefficients are [element][kRows] floats; values are relative to the centres.

namespace bf {

// ---- tables

// One ReLU's part of a table for rows that choose slopes: the SlopeRows, each of n floats. The
// lower slope is fixed where the sign is known, or nothing is.
//
// Proof. A < 0 takes the upper line, as in relax(). For A >= 0 and a float slope in [0, 1],
// Lambda = fl(A slope) lies in [0, A], since rounding is monotone and 0 and A are floats. So
// t = Lambda / A lies in [0, 1], relu(z) >= t z whatever z is, and with m <= centre,
// o <= -centre' (the activation's)
//   A (relu(z) - centre') >= Lambda z - A centre'
//                         >= Lambda (z - centre) + Lambda m + A o:
// the rounding of Lambda chooses another slope and costs nothing. |m| <= reach as 0 lies in
// [low, high]. What remains is a price, paid as price_factor() says, by m what is lost per Lambda:
// the product's and the centres' rounding and the sum of Lambda m; by o what is lost per A: the sum
// of A o and in wide rows the rounding of A itself.
static inline void relax_slopes(int n, const double* centre, const float* below, const float* above,
                                const float* radius, const RelaxErrors& errors, const double* row,
                                const float* table, const double* activation_centre,
                                const float* activation_radius, float* slopes) {
  const double factor = price_factor(errors.offset);
  for (int j = 0; j < n; ++j) {
    const double low = sub_down(centre[j], static_cast<double>(below[j]));
    const double high = add_up(centre[j], static_cast<double>(above[j]));
    const bool finite = low >= -__DBL_MAX__ && high <= __DBL_MAX__;
    const bool free = low < 0 && high > 0 && finite;
    const double up = static_cast<double>(table[kSlopeUpper * n + j]);
    const double down = static_cast<double>(table[kSlopeLower * n + j]);
    const double b = __builtin_fabs(static_cast<double>(below[j]));
    const double a = __builtin_fabs(static_cast<double>(above[j]));
    const double reach = b > a ? b : a;
    const double middle = free ? centre[j] : 0;
    const double upper =
        finite ? upper_offset(up, centre[j], low, high, activation_centre[j]) : __builtin_inf();
    const double lower =
        free ? -activation_centre[j] : sub_down(down * centre[j], activation_centre[j]);
    const double spread = static_cast<double>(radius[j]) * errors.inflate;
    const double stored = errors.stored * static_cast<double>(activation_radius[j]);
    const double coefficient = up == down ? 0 : errors.slope * up * reach;
    slopes[kFreeUpper * n + j] = table[kSlopeUpper * n + j];
    slopes[kFreeLower * n + j] = free ? -1.0f : table[kSlopeLower * n + j];
    for (int wide = 0; wide < 2; ++wide) {
      const double product = (wide != 0 ? errors.wide : errors.product) * spread + row[j];
      const double kept = wide != 0 ? stored : 0;
      const double line = (up == 0 ? 0 : up * product) + coefficient;
      const auto paid = [&](double lost, double offset) {
        return (lost + errors.offset * __builtin_fabs(offset)) * factor;
      };
      const std::ptrdiff_t first = wide != 0 ? kFreeWideUpper : kFreeOffsetUpper;
      float* const to = slopes + first * n + j;
      to[0] = float_up(upper + paid(line + kept, upper));
      to[n] = float_down(lower - paid(kept, lower));
      to[2 * n] = float_down(middle - paid(product, middle));
    }
  }
}

// ---- rows

// Slopes to begin with: those of the relaxation's lower lines.
template <int kRows>
BF_ROUTINE start_slopes(int n, const float* table, float* BF_RESTRICT slope) {
  for (int j = 0; j < n; ++j)
    for (int r = 0; r < kRows; ++r)
      slope[std::ptrdiff_t{j} * kRows + r] = table[kSlopeLower * n + j];
}

// Passes rows through n ReLUs: A over a' becomes A slope over z. offsets: three rows of the table,
// for the products that follow. slope: each in [0, 1].
template <int kRows>
BF_ROUTINE relax_free_rows(int n, const float* slopes, const float* offsets,
                           const float* BF_RESTRICT slope, const float* BF_RESTRICT from,
                           float* BF_RESTRICT to, float* sums) {
  using Sums = RowSums<kRows>;
  using Floats = typename Sums::Floats;
  using Doubles = typename Sums::Doubles;
  constexpr int kLanes = Sums::kLanes;
  const auto widen = [](Floats x) { return convert_rows<Doubles, kLanes>(x); };
  Sums made;
  for (int j = 0; j < n; ++j) {
    const float fixed = slopes[kFreeLower * n + j];
    const Floats upper = Sums::all(slopes[j]);
    const Floats offset_upper = Sums::all(offsets[j]), offset_lower = Sums::all(offsets[n + j]);
    const double middle = static_cast<double>(offsets[2 * n + j]);
    const float* const own = slope + std::ptrdiff_t{j} * kRows;
    const float* const in = from + std::ptrdiff_t{j} * kRows;
    float* const out = to + std::ptrdiff_t{j} * kRows;
    BF_UNROLL_ROWS for (int v = 0; v < Sums::kVectors; ++v) {
      const Floats a = load_rows<Floats>(in + v * kLanes);
      const Floats chosen = fixed < 0 ? load_rows<Floats>(own + v * kLanes) : Sums::all(fixed);
      const Floats lower = a * chosen;
      const Floats kept = a < Floats{} ? Floats{} : lower;
      store_rows(out + v * kLanes, a < Floats{} ? a * upper : lower);
      made.add(v, a, offset_upper, offset_lower);
      made.offset[v] += widen(kept) * middle;
    }
  }
  made.store(sums);
}

// ---- the walk forward

// The corner of the box at which each row is least, relative to the centre.
template <int kRows>
BF_ROUTINE corner_values(int n, const float* radius, const float* BF_RESTRICT coefficients,
                         float* BF_RESTRICT values) {
  for (int k = 0; k < n; ++k)
    for (int r = 0; r < kRows; ++r) {
      const std::ptrdiff_t at = std::ptrdiff_t{k} * kRows + r;
      values[at] = coefficients[at] > 0 ? -radius[k] : radius[k];
    }
}

// kOuts outputs of a panel: the weight of (output, input) is at weight[input panel + output].
template <int kRows, int kOuts>
static inline void dense_outputs(const float* weight, int in, int panel, const float* from,
                                 float* to) {
  constexpr int kLanes = lanes_of<float>(kRows);
  constexpr int kVectors = kRows / kLanes;
  using Floats = typename VectorOf<float, kLanes>::type;
  Floats sum[kOuts][kVectors] = {};
  for (int k = 0; k < in; ++k, weight += panel, from += kRows) {
    Floats x[kVectors];
    BF_UNROLL_ROWS for (int v = 0; v < kVectors; ++v) x[v] = load_rows<Floats>(from + v * kLanes);
    BF_UNROLL_ROWS for (int o = 0; o < kOuts; ++o) BF_UNROLL_ROWS for (int v = 0; v < kVectors; ++v)
        sum[o][v] += x[v] * weight[o];
  }
  BF_UNROLL_ROWS for (int o = 0; o < kOuts; ++o) BF_UNROLL_ROWS for (int v = 0; v < kVectors; ++v)
      store_rows(to + o * kRows + v * kLanes, sum[o][v]);
}

// Accumulators that fit the registers beside a row's vectors.
constexpr int outputs_together(int vectors) {
  const int most = (kVectorBytes == 64 ? 24 : kVectorBytes == 4 ? 8 : 12) / vectors;
  return most >= 8 ? 8 : most >= 4 ? 4 : most >= 2 ? 2 : 1;
}

// weight: [out / panel][in][panel].
template <int kRows>
BF_ROUTINE dense_values(const float* weight, int in, int out, int panel,
                        const float* BF_RESTRICT from, float* BF_RESTRICT to) {
  constexpr int kOuts = outputs_together(kRows / lanes_of<float>(kRows));
  for (int first = 0; first < out; first += panel, weight += std::ptrdiff_t{panel} * in) {
    const int end = out - first < panel ? out - first : panel;
    int o = 0;
    for (; o + kOuts <= end; o += kOuts)
      dense_outputs<kRows, kOuts>(weight + o, in, panel, from,
                                  to + std::ptrdiff_t{first + o} * kRows);
    for (; o < end; ++o)
      dense_outputs<kRows, 1>(weight + o, in, panel, from, to + std::ptrdiff_t{first + o} * kRows);
  }
}

// Output (n, o, p) and kOuts - 1 channels after it, all of one group.
template <int kRows, int kOuts>
static inline void conv_outputs(const ConvShape& shape, const float* weight, const float* from,
                                bool add, int n, int o, const int (&p)[3], float* to) {
  constexpr int kLanes = lanes_of<float>(kRows);
  constexpr int kVectors = kRows / kLanes;
  using Floats = typename VectorOf<float, kLanes>::type;
  const int group = in_group(shape), tap_count = taps(shape);
  const int first = o / out_group(shape) * group;  // the group's first input channel
  const std::ptrdiff_t step = std::ptrdiff_t{shape.in.channel} * kRows;
  Floats sum[kOuts][kVectors] = {};
  int q[3] = {0, 0, 0};
  int tap = 0;
  for (int tz = 0; tz < shape.kernel[0]; ++tz) {
    q[0] = read_by(shape, 0, p[0], tz);
    for (int ty = 0; ty < shape.kernel[1]; ++ty) {
      q[1] = read_by(shape, 1, p[1], ty);
      for (int tx = 0; tx < shape.kernel[2]; ++tx, ++tap) {
        q[2] = read_by(shape, 2, p[2], tx);
        if (q[0] < 0 || q[1] < 0 || q[2] < 0) continue;
        const float* w = weight + weight_place(shape, o, 0, tap);
        const float* x = from + element(shape.in, n, first, q) * kRows;
        for (int i = 0; i < group; ++i, w += tap_count * out_group(shape), x += step)
          BF_UNROLL_ROWS for (int v = 0; v < kVectors; ++v) {
            const Floats value = load_rows<Floats>(x + v * kLanes);
            BF_UNROLL_ROWS for (int c = 0; c < kOuts; ++c) sum[c][v] += value * w[c];
          }
      }
    }
  }
  BF_UNROLL_ROWS for (int c = 0; c < kOuts; ++c) {
    float* const out = to + (element(shape.out, n, o, p) + c * shape.out.channel) * kRows;
    BF_UNROLL_ROWS for (int v = 0; v < kVectors; ++v) {
      const Floats before = add ? load_rows<Floats>(out + v * kLanes) : Floats{};
      store_rows(out + v * kLanes, before + sum[c][v]);
    }
  }
}

template <int kRows>
BF_ROUTINE conv_values(const ConvShape& shape, const float* weight, const float* BF_RESTRICT from,
                       bool add, float* BF_RESTRICT to) {
  constexpr int kOuts = outputs_together(kRows / lanes_of<float>(kRows)) / 2;
  constexpr int kTogether = kOuts < 1 ? 1 : kOuts;
  const int group = out_group(shape);
  int p[3] = {0, 0, 0};
  for (int n = 0; n < shape.batch; ++n)
    for (p[0] = 0; p[0] < shape.out_size[0]; ++p[0])
      for (p[1] = 0; p[1] < shape.out_size[1]; ++p[1])
        for (p[2] = 0; p[2] < shape.out_size[2]; ++p[2])
          for (int o = 0, end = group; o < shape.out_channels; end += group) {
            for (; o + kTogether <= end; o += kTogether)
              conv_outputs<kRows, kTogether>(shape, weight, from, add, n, o, p, to);
            for (; o < end; ++o) conv_outputs<kRows, 1>(shape, weight, from, add, n, o, p, to);
          }
}

template <int kRows>
BF_ROUTINE sparse_values(int rows, const std::int32_t* row_start, const std::int32_t* column,
                         const float* weight, const float* BF_RESTRICT from, bool add,
                         float* BF_RESTRICT to) {
  if (!add) clear_rows<kRows>(rows, to);
  for (int i = 0; i < rows; ++i)
    for (int k = row_start[i]; k < row_start[i + 1]; ++k)
      for (int r = 0; r < kRows; ++r)
        to[std::ptrdiff_t{i} * kRows + r] +=
            weight[k] * from[std::ptrdiff_t{column[k]} * kRows + r];
}

template <int kRows, typename Sources>
BF_ROUTINE gather_values(int rows, Sources source, const float* BF_RESTRICT from, bool add,
                         float* BF_RESTRICT to) {
  if (!add) clear_rows<kRows>(rows, to);
  for (int i = 0; i < rows; ++i) {
    const int k = source_of(source, i);
    if (k < 0) continue;
    for (int r = 0; r < kRows; ++r)
      to[std::ptrdiff_t{i} * kRows + r] += from[std::ptrdiff_t{k} * kRows + r];
  }
}

// z of n neurons -> a', along the lines of a relaxation table; in place.
template <int kRows>
BF_ROUTINE line_values(int n, const float* table, const float* BF_RESTRICT coefficients,
                       float* BF_RESTRICT values) {
  for (int j = 0; j < n; ++j)
    for (int r = 0; r < kRows; ++r) {
      const std::ptrdiff_t at = std::ptrdiff_t{j} * kRows + r;
      const bool negative = coefficients[at] < 0;
      values[at] = table[(negative ? kSlopeUpper : kSlopeLower) * n + j] * values[at] +
                   table[(negative ? kOffsetUpper : kOffsetLower) * n + j];
    }
}

// ---- steps

// 1 / sqrt(x) for normal x > 0, to about 1e-7. Source of the start: Lomont 2003, "Fast inverse
// square root"; each Newton step squares the relative error of 3.5 %.
template <typename Floats, typename Ints>
static inline Floats inverse_root(Floats x) {
  Ints bits;
  __builtin_memcpy(&bits, &x, sizeof bits);
  bits = 0x5f375a86 - (bits >> 1);
  Floats y;
  __builtin_memcpy(&y, &bits, sizeof y);
  for (int i = 0; i < 3; ++i) y = y * (1.5f - 0.5f * x * y * y);
  return y;
}

// Adam with a rate of 0.1 that falls by 2 % each time (Kingma and Ba 2015, arXiv:1412.6980; the
// constants are those of auto_LiRPA, Xu et al. 2021, arXiv:2011.13824).
struct SlopeAscent {
  static constexpr float kMean = 0.9f, kSquare = 0.999f, kDecay = 0.98f;
  float rate = 0.1f / kDecay, mean_power = 1, square_power = 1;
  float factor = 0;  // rate sqrt(1 - square_power) / (1 - mean_power)

  void next() {
    rate *= kDecay;
    mean_power *= kMean;
    square_power *= kSquare;
    const float rest = 1 - square_power;
    factor = rate * rest * inverse_root<float, std::int32_t>(rest) / (1 - mean_power);
  }
};

// No moments yet.
template <int kRows>
static inline void clear_moments(int n, float* mean, float* square) {
  clear_rows<kRows>(n, mean);
  clear_rows<kRows>(n, square);
}

// Moves choices of a row's vector along the gradient of its bound. A gradient that is not finite
// counts as 0; choices stay in [0, 1], the comparisons sending NaN to 0.
template <typename Floats, typename Ints>
static inline void ascend(const SlopeAscent& ascent, Floats gradient, Floats from, float* mean,
                          float* square, float* to) {
  constexpr float kMost = 0x1p60f;  // its square is a float
  const auto all = [](float x) { return x - Floats{}; };
  gradient = gradient > all(-kMost) ? gradient : Floats{};  // NaN too
  gradient = gradient < all(kMost) ? gradient : Floats{};
  const Floats m =
      load_rows<Floats>(mean) * SlopeAscent::kMean + gradient * (1 - SlopeAscent::kMean);
  const Floats q = load_rows<Floats>(square) * SlopeAscent::kSquare +
                   gradient * gradient * (1 - SlopeAscent::kSquare);
  store_rows(mean, m);
  store_rows(square, q);
  Floats next = from + ascent.factor * m * inverse_root<Floats, Ints>(q + 0x1p-120f);
  next = next > Floats{} ? next : Floats{};
  next = next < all(1) ? next : all(1);
  store_rows(to, next);
}

// z of n ReLUs -> a', along the lines that the rows chose, in place; and the slopes' next values. A
// row's bound changes with a slope by A z where A > 0.
template <int kRows>
BF_ROUTINE step_slopes(int n, const float* slopes, const SlopeAscent& ascent,
                       const float* BF_RESTRICT coefficients, float* BF_RESTRICT slope,
                       float* BF_RESTRICT mean, float* BF_RESTRICT square,
                       float* BF_RESTRICT values) {
  constexpr int kLanes = lanes_of<float>(kRows);
  using Floats = typename VectorOf<float, kLanes>::type;
  using Ints = typename VectorOf<std::int32_t, kLanes>::type;
  const auto all = [](float x) { return x - Floats{}; };
  for (int j = 0; j < n; ++j) {
    const float fixed = slopes[kFreeLower * n + j];
    const Floats upper = all(slopes[kFreeUpper * n + j]);
    const Floats offset_upper = all(slopes[kFreeOffsetUpper * n + j]);
    const Floats offset_lower = all(slopes[kFreeOffsetLower * n + j]);
    const Floats middle = all(slopes[kFreeCentre * n + j]);
    for (int v = 0; v < kRows / kLanes; ++v) {
      const std::ptrdiff_t at = std::ptrdiff_t{j} * kRows + v * kLanes;
      const Floats a = load_rows<Floats>(coefficients + at), value = load_rows<Floats>(values + at);
      const Floats s = fixed < 0 ? load_rows<Floats>(slope + at) : all(fixed);
      const Floats z = middle + value;
      store_rows(values + at, a < Floats{} ? upper * value + offset_upper : s * z + offset_lower);
      if (!(fixed < 0)) continue;
      ascend<Floats, Ints>(ascent, a > Floats{} ? a * z : Floats{}, s, mean + at, square + at,
                           slope + at);
    }
  }
}

}  // namespace bf
