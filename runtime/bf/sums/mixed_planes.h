#pragma once

#include "bf/sums/contraction.h"
#include "bf/sums/planes.h"
#include "bf/sums/slopes.h"

// Rows that choose planes of the products and lower lines of the maxima that they pass:
// docs/proofs/optimised-slopes.md. Choices are in [0, 1]. Bounds hold for any; the steps that find
// good ones need no direction of rounding.
//
// Products are those of contraction.h; those of relax_product() are batches of one product each.
// With |dx| <= r and |dy| <= s, McCormick's four planes are, for t = 1 and t = -1,
//   dx dy >= t (s dx + r dy) - r s,    dx dy <= t (s dx - r dy) + r s,
// and so are those for all t between, as mixtures. A row takes t = 2 share - 1, of which the sign
// over y is turned where it reads the upper plane.

namespace bf {

// ---- products

// Offsets and factors' radii: of upper bounds, then of lower ones, batch m n floats each; the radii
// of y, which are slopes over x, [batch n][k]; those of x, over y, [batch m][k].
//
// offsets, over_x, over_y: the table of relax_contraction(), of `sums`, or of relax_product().
// has_box: elements whose slopes are all 0 have the box in place of planes, and no radii (k is 1).
//
// A row's slope over x is t' = fl(b + fl(t s)), b = over_x: off by at most
// u (|b| + 2 s) (1 + u) + 2^-150 of b + t s. What it multiplies is within r of 0. The sums that the
// slopes enter round as before, of at most (|b| + s)(1 + 3u) r instead of |b| r. So with
// R = sum_l r s and S = sum_l (|b| r + |a| s) the price per |A| grows by
//   product (2 R + 4u (S + 2 R)) + u (1 + u) (S + 4 R) + 2^-150 sum_l (r + s),
// and more pays for the roundings of R and S. Offsets of sums pay u (1 + 16u) (S + 2 R) of it.
template <typename SourcesX, typename SourcesY>
BF_ROUTINE mixed_planes(int batch, int m, int n, int k, bool has_box, bool sums, SourcesX gather_x,
                        SourcesY gather_y, const float* radius_x, const float* radius_y,
                        const float* offsets, const float* over_x, const float* over_y,
                        const PlaneErrors& errors, float* planes) {
  const std::ptrdiff_t out = std::ptrdiff_t{batch} * m * n;
  float* const radii_y = planes + 2 * out;
  float* const radii_x = radii_y + std::ptrdiff_t{batch} * n * k;
  const auto known = [](float radius) { return radius <= kMaxFloat ? radius : 0.0f; };
  const auto is_flat = [&](int place) {
    return has_box && over_x[place] == 0 && over_y[place] == 0;
  };
  for (int place = 0; place < batch * n * k; ++place)
    radii_y[place] = is_flat(place) ? 0.0f : known(radius_y[source_of(gather_y, place)]);
  for (int place = 0; place < batch * m * k; ++place)
    radii_x[place] = is_flat(place) ? 0.0f : known(radius_x[source_of(gather_x, place)]);
  const double factor = price_factor(errors.offset) * (1 + missed_of_sums(k)) * kDoubleSlack;
  for (int row = 0; row < batch * m; ++row)
    for (int j = 0; j < n; ++j) {
      const std::ptrdiff_t i = std::ptrdiff_t{row} * n + j;
      const std::ptrdiff_t of_x = std::ptrdiff_t{row} * k;
      const std::ptrdiff_t of_y = (std::ptrdiff_t{row / m} * n + j) * k;
      double rest = 0, spread = 0, reach = 0;
      for (int l = 0; l < k; ++l) {
        const double r = static_cast<double>(radii_x[of_x + l]);
        const double s = static_cast<double>(radii_y[of_y + l]);
        rest += r * s;
        spread += __builtin_fabs(static_cast<double>(over_x[of_y + l])) * r +
                  __builtin_fabs(static_cast<double>(over_y[of_x + l])) * s;
        reach += r + s;
      }
      const double entered = errors.product * (2 * rest + 0x1p-22 * (spread + 2 * rest));
      const double unpaid = sums ? 2 * rest : spread + 4 * rest;
      const double chosen = 0x1p-24 * (1 + 0x1p-20) * unpaid + 0x1p-149 * reach;
      const double price = (entered + chosen) * factor;
      planes[i] = float_up(add_up(static_cast<double>(offsets[i]), price));
      planes[out + i] = float_down(sub_down(static_cast<double>(offsets[out + i]), price));
    }
}

// Takes rows to one factor as contraction_backward() does, whose slopes these mix with the other
// factor's radii. share: of z.
template <int kRows, typename Sources>
BF_ROUTINE mixed_planes_backward(int batch, int m, int n, int k, bool first, Sources source,
                                 const float* slopes, const float* radii,
                                 const float* BF_RESTRICT share, int in,
                                 const float* BF_RESTRICT coefficients_in, bool add,
                                 float* BF_RESTRICT coefficients_out) {
  using Floats = typename VectorOf<float, lanes_of<float>(kRows)>::type;
  contract_rows<kRows, 1>(
      batch, m, n, k, first, source, in, coefficients_in, add, coefficients_out,
      [=](const Floats& a, std::ptrdiff_t at) {
        Floats t = load_rows<Floats>(share + at) * 2.0f - 1.0f;
        if (!first) t = a < Floats{} ? -t : t;
        return [=](std::ptrdiff_t place, Floats* sums) {
          sums[0] += a * (slopes[place] + t * radii[place]);
        };
      },
      [](const Floats* sums, std::ptrdiff_t) -> Floats { return sums[0]; });
}

// The values of z at the rows' points, on the planes that the rows chose, and the shares' next
// values: a row's bound changes with t by A (s dx + r dy), or A (s dx - r dy) where A < 0.
template <int kRows, typename SourcesX, typename SourcesY>
BF_ROUTINE step_planes(int batch, int m, int n, int k, SourcesX gather_x, SourcesY gather_y,
                       const float* over_x, const float* over_y, const float* planes,
                       const SlopeAscent& ascent, const float* BF_RESTRICT x,
                       const float* BF_RESTRICT y, const float* BF_RESTRICT coefficients,
                       float* BF_RESTRICT share, float* BF_RESTRICT mean, float* BF_RESTRICT square,
                       float* BF_RESTRICT values) {
  constexpr int kLanes = lanes_of<float>(kRows);
  using Floats = typename VectorOf<float, kLanes>::type;
  using Ints = typename VectorOf<std::int32_t, kLanes>::type;
  const auto all = [](float number) { return number - Floats{}; };
  const std::ptrdiff_t out = std::ptrdiff_t{batch} * m * n;
  const float* const radii_y = planes + 2 * out;
  const float* const radii_x = radii_y + std::ptrdiff_t{batch} * n * k;
  for (int row = 0; row < batch * m; ++row)
    for (int j = 0; j < n; ++j) {
      const std::ptrdiff_t i = std::ptrdiff_t{row} * n + j;
      const int of_x = row * k, of_y = (row / m * n + j) * k;
      for (int v = 0; v < kRows / kLanes; ++v) {
        Floats made = {}, by_x = {}, by_y = {};
        for (int l = 0; l < k; ++l) {
          const std::ptrdiff_t g = source_of(gather_x, of_x + l);
          const std::ptrdiff_t h = source_of(gather_y, of_y + l);
          const Floats dx = load_rows<Floats>(x + g * kRows + v * kLanes);
          const Floats dy = load_rows<Floats>(y + h * kRows + v * kLanes);
          made += dx * over_x[of_y + l] + dy * over_y[of_x + l];
          by_x += dx * radii_y[of_y + l];
          by_y += dy * radii_x[of_x + l];
        }
        const std::ptrdiff_t at = i * kRows + v * kLanes;
        const Floats a = load_rows<Floats>(coefficients + at);
        const Floats chosen = load_rows<Floats>(share + at);
        const Floats apart = a < Floats{} ? by_x - by_y : by_x + by_y;
        const Floats offset = a < Floats{} ? all(planes[i]) : all(planes[out + i]);
        store_rows(values + at, made + (chosen * 2.0f - 1.0f) * apart + offset);
        ascend<Floats, Ints>(ascent, a * apart, chosen, mean + at, square + at, share + at);
      }
    }
}

// ---- maxima

// A lower bound of z_i is any mean of its candidates. A row gives shares to those that RelaxMax did
// not choose, in their order, each of what is left, and the rest to the chosen one: no share is
// crown's line. The parts are floats that add up to A exactly.

// Offsets of the candidates as lower bounds, one float each; -infinity where nothing is known of
// one, which then gets no part. Prices as in relax_max(); the sum has a product for each candidate.
BF_ROUTINE mixed_maxima(int rows, const std::int32_t* row_start, const std::int32_t* column,
                        const double* centre_in, const float* radius_in, const double* centre_out,
                        const float* radius_out, const PlaneErrors& errors, float* candidates) {
  const double offset = errors.offset + missed_of_sums(row_start[rows]);
  for (int i = 0; i < rows; ++i)
    for (int k = row_start[i]; k < row_start[i + 1]; ++k) {
      const double lower = sub_down(centre_in[column[k]], centre_out[i]);
      const double spread =
          static_cast<double>(radius_in[column[k]]) + static_cast<double>(radius_out[i]);
      const double lost = errors.product * spread + offset * __builtin_fabs(lower);
      const float made = float_down(lower - lost * price_factor(offset));
      candidates[k] = made >= -kMaxFloat ? made : -__builtin_inff();
    }
}

// Returns what is left of `rest` >= 0 when a share is taken, such that rest less it is a float.
// Proof. It is fl(rest w) or rest - fl(rest w) for a float w in [1/2, 1]. Rounding is monotone, so
// that fl(rest w) lies in [rest / 2, rest], where differences are exact (Sterbenz), or rest is an
// odd multiple of the least float, of which all differences are floats. The products are made in
// double, exactly, and rounded once: a compiler that fuses them with differences changes nothing.
template <typename Doubles, int kLanes, typename Floats>
static inline Floats left_of(Floats rest, Floats share) {
  const auto widen = [](Floats x) { return convert_rows<Doubles, kLanes>(x); };
  const auto narrow = [](Doubles x) {
    if constexpr (kLanes == 1)
      return static_cast<float>(x);
    else
      return __builtin_convertvector(x, Floats);
  };
  const Floats half = 0.5f - Floats{};
  const Floats larger = share >= half ? share : 1.0f - share;
  const Floats part = narrow(widen(rest) * widen(larger));
  return share >= half ? rest - part : part;
}

// Takes rows through maxima as max_backward() does, with parts of their own. candidates: those of
// mixed_maxima().
template <int kRows>
BF_ROUTINE mixed_maxima_backward(int rows, const std::int32_t* row_start,
                                 const std::int32_t* column, const float* table,
                                 const std::int32_t* choice, const float* candidates,
                                 const float* BF_RESTRICT share, int in,
                                 const float* BF_RESTRICT coefficients_in, bool add,
                                 float* BF_RESTRICT coefficients_out, float* BF_RESTRICT sums) {
  using Sums = RowSums<kRows>;
  using Floats = typename Sums::Floats;
  using Doubles = typename Sums::Doubles;
  constexpr int kLanes = Sums::kLanes;
  const auto widen = [](Floats x) { return convert_rows<Doubles, kLanes>(x); };
  Sums made;
  if (!add) clear_rows<kRows>(in, coefficients_out);
  for (int i = 0; i < rows; ++i) {
    const Floats upper = Sums::all(table[kMaxUpper * rows + i]);
    const Floats kept = Sums::all(table[kMaxConstant * rows + i] != 0 ? 0.0f : 1.0f);
    float last = table[kMaxLower * rows + i];
    const float* const row = coefficients_in + std::ptrdiff_t{i} * kRows;
    for (int k = row_start[i]; k < row_start[i + 1]; ++k)
      if (column[k] == choice[i]) last = candidates[k];
    BF_UNROLL_ROWS for (int v = 0; v < Sums::kVectors; ++v) {
      const Floats a = load_rows<Floats>(row + v * kLanes);
      Floats rest = a < Floats{} ? Floats{} : a;
      for (int k = row_start[i]; k < row_start[i + 1]; ++k) {
        if (column[k] == choice[i] || !(candidates[k] >= -kMaxFloat)) continue;
        const Floats chosen = load_rows<Floats>(share + std::ptrdiff_t{k} * kRows + v * kLanes);
        const Floats left = left_of<Doubles, kLanes>(rest, chosen);
        const Floats part = rest - left;
        float* const to = coefficients_out + std::ptrdiff_t{column[k]} * kRows + v * kLanes;
        store_rows(to, load_rows<Floats>(to) + part);
        made.offset[v] += widen(part) * static_cast<double>(candidates[k]);
        rest = left;
      }
      float* const to = coefficients_out + std::ptrdiff_t{choice[i]} * kRows + v * kLanes;
      store_rows(to, load_rows<Floats>(to) + (a < Floats{} ? a * kept : rest));
      made.add(v, a < Floats{} ? a : rest, upper, Sums::all(last));
    }
  }
  made.store(sums);
}

// The values of z at the rows' points, and the shares' next values. V being the mean of what comes
// after a candidate, a row's bound changes with its share by A (x - V), times what is left before
// it, which is left out: steps do not hang on a gradient's scale.
template <int kRows>
BF_ROUTINE step_maxima(int rows, const std::int32_t* row_start, const std::int32_t* column,
                       const float* table, const std::int32_t* choice, const float* candidates,
                       const SlopeAscent& ascent, const float* BF_RESTRICT from,
                       const float* BF_RESTRICT coefficients, float* BF_RESTRICT share,
                       float* BF_RESTRICT mean, float* BF_RESTRICT square,
                       float* BF_RESTRICT values) {
  constexpr int kLanes = lanes_of<float>(kRows);
  using Floats = typename VectorOf<float, kLanes>::type;
  using Ints = typename VectorOf<std::int32_t, kLanes>::type;
  const auto all = [](float x) { return x - Floats{}; };
  for (int i = 0; i < rows; ++i) {
    const Floats kept = all(table[kMaxConstant * rows + i] != 0 ? 0.0f : 1.0f);
    for (int v = 0; v < kRows / kLanes; ++v) {
      const std::ptrdiff_t row = std::ptrdiff_t{i} * kRows + v * kLanes;
      const Floats a = load_rows<Floats>(coefficients + row);
      const Floats x = load_rows<Floats>(from + std::ptrdiff_t{choice[i]} * kRows + v * kLanes);
      Floats later = x + table[kMaxLower * rows + i];
      for (int k = row_start[i + 1] - 1; k >= row_start[i]; --k) {
        if (column[k] == choice[i] || !(candidates[k] >= -kMaxFloat)) continue;
        const std::ptrdiff_t at = std::ptrdiff_t{k} * kRows + v * kLanes;
        const Floats own = load_rows<Floats>(from + std::ptrdiff_t{column[k]} * kRows + v * kLanes);
        const Floats apart = own + candidates[k] - later;
        const Floats chosen = load_rows<Floats>(share + at);
        ascend<Floats, Ints>(ascent, a > Floats{} ? a * apart : Floats{}, chosen, mean + at,
                             square + at, share + at);
        later += chosen * apart;
      }
      store_rows(values + row, a < Floats{} ? kept * x + table[kMaxUpper * rows + i] : later);
    }
  }
}

}  // namespace bf
