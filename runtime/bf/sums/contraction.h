#pragma once

#include "bf/sums/means.h"

// Products of matrices of two computed tensors, in batches of m x k times k x n:
//   z[(b m + i) n + j] = sum_l x[gather_x((b m + i) k + l)] y[gather_y((b n + j) k + l)].
// Boxes are those of products in planes.h, added up, and planes are such mixtures that nothing is
// stored for a single product. Proof: docs/proofs/contraction.md.

namespace bf {

// One element of a factor: its ends, the larger magnitude of both, its centre and radius, and a
// bound of |centre| that covers the rounding of small ones to float; infinite where no float is
// near the centre.
struct FactorElement {
  double low, high, most, centre, radius, size;
};

// shift: what is taken off it, up to the rounding of the centre.
static inline FactorElement factor_element(double centre, float radius, double shift = 0) {
  const double r = static_cast<double>(radius);
  FactorElement made = {sub_down(centre, r), add_up(centre, r), 0, centre - shift, r, 0};
  if (shift != 0) {
    made.low = sub_down(made.low, shift);
    made.high = sub_up(made.high, shift);
  }
  const double below = -made.low;
  made.most = below > made.high ? below : made.high;
  const bool has_float = __builtin_fabsf(nearest_float(made.centre)) <= kMaxFloat;
  made.size = has_float ? __builtin_fabs(made.centre) + 0x1p-120 : __builtin_inf();
  return made;
}

// The numbers of FactorElement apart, in rows of n: of one batch entry's columns, or of one row.
struct FactorPanels {
  double* low;
  std::ptrdiff_t step;  // from one kind of numbers to the next

  void put(std::ptrdiff_t at, const FactorElement& e) const {
    const double numbers[kContractionPanels] = {e.low, e.high, e.most, e.centre, e.radius, e.size};
    for (int p = 0; p < kContractionPanels; ++p) low[p * step + at] = numbers[p];
  }
};

// Sums over l for kLanes columns, to nearest.
template <int kLanes>
struct ContractionSums {
  using Doubles = typename VectorOf<double, kLanes>::type;
  Doubles low = {}, high = {}, most = {};       // of the products' ends, and of magnitudes
  Doubles centre = {}, rest = {}, spread = {};  // of x y, r s, and |x| s + |y| r

  static Doubles smaller(Doubles a, Doubles b) { return a < b ? a : b; }
  static Doubles larger(Doubles a, Doubles b) { return a > b ? a : b; }

  void add_box(const double* x, std::ptrdiff_t of_x, const double* y, std::ptrdiff_t of_y) {
    const Doubles low_y = load_rows<Doubles>(y), high_y = load_rows<Doubles>(y + of_y);
    const double low_x = x[0], high_x = x[of_x];
    const Doubles a = low_x * low_y, b = low_x * high_y, c = high_x * low_y, d = high_x * high_y;
    low += smaller(smaller(a, b), smaller(c, d));
    high += larger(larger(a, b), larger(c, d));
  }

  void add_most(const double* x, std::ptrdiff_t of_x, const double* y, std::ptrdiff_t of_y) {
    most += x[2 * of_x] * load_rows<Doubles>(y + 2 * of_y);
  }

  void add_plane(const double* x, std::ptrdiff_t of_x, const double* y, std::ptrdiff_t of_y) {
    const Doubles radius_y = load_rows<Doubles>(y + 4 * of_y);
    centre += x[3 * of_x] * load_rows<Doubles>(y + 3 * of_y);
    rest += x[4 * of_x] * radius_y;
    spread += x[5 * of_x] * radius_y + x[4 * of_x] * load_rows<Doubles>(y + 5 * of_y);
  }
};

// One output's sums, and what they may miss: relative `missed` to `most`, which is too small by as
// much, and what underflows.
struct ContractedElement {
  double low, high, most, centre, rest, spread;
};

// The mean of the centres of `count` elements is the shift, where their distances from it are less
// than those from 0, together.
template <typename Sources>
static inline ContractedColumn convex_column(Sources source, int first, int count,
                                             const double* centre, const float* radius) {
  ContractedColumn made = {0, __builtin_inf(), -__builtin_inf()};
  double sum = 0, from_zero = 0, from_mean = 0;
  for (int l = 0; l < count; ++l) {
    const int at = source_of(source, first + l);
    const double r = static_cast<double>(radius[at]);
    const double low = sub_down(centre[at], r), high = add_up(centre[at], r);
    made.low = low < made.low ? low : made.low;
    made.high = high > made.high ? high : made.high;
    sum += centre[at];
    from_zero += __builtin_fabs(centre[at]);
  }
  const double mean = sum / count;
  for (int l = 0; l < count; ++l)
    from_mean += __builtin_fabs(centre[source_of(source, first + l)] - mean);
  if (from_mean < from_zero) made.shift = mean;
  return made;
}

// The box of z, or all reals where some end is not finite: products with an infinite end make
// `most` infinite or no number, as it is a sum of products of all magnitudes.
static inline void store_contracted(const ContractedElement& e, int k, double* centre,
                                    float* radius) {
  const double lost = lost_of_sums(e.most, k);
  const bool finite = e.most <= __DBL_MAX__;
  const double low = finite ? sub_down(e.low, lost) : -__builtin_inf();
  const double high = finite ? add_up(e.high, lost) : __builtin_inf();
  store_box(low, high, centre, radius);
}

// Offsets of z's planes, with what they pay per |A|; see relax_product(). With R = sum r s and
// S = `spread`, rows sum at most S + R per |A|. Slopes miss u S, and contraction_backward() rounds
// twice more, by at most u (S + 2 R).
static inline void put_contracted(const ContractedElement& e, int k, double shift, double z,
                                  float radius, const PlaneErrors& errors, int n, float* offsets) {
  constexpr double kSlopeError = 0x1p-24 * (1 + 0x1p-20);
  const double missed = missed_of_sums(k);
  const double rounded = kSlopeError * (2 * e.spread + 2 * e.rest);
  const double lost = e.most * missed + (e.rest + rounded) * (1 + missed) + 0x1p-1000;
  const bool known = e.most <= __DBL_MAX__ && radius <= kMaxFloat && e.spread <= __DBL_MAX__;
  const double above = add_up(e.centre, shift), below = add_down(e.centre, shift);
  const double upper =
      known ? add_up(sub_up(shift != 0 ? above : e.centre, z), lost) : __builtin_inf();
  const double lower =
      known ? sub_down(sub_down(shift != 0 ? below : e.centre, z), lost) : -__builtin_inf();
  const double spread = (e.spread + e.rest) * (1 + missed + 0x1p-22) + static_cast<double>(radius);
  put_offsets(upper, lower, errors, spread, n, offsets);
}

// A centre as a slope; 0 where no float is near it: its products' offsets are infinite then.
static inline float slope_of(double centre) {
  const float slope = nearest_float(centre);
  return __builtin_fabsf(slope) <= kMaxFloat ? slope : 0.0f;
}

// The table holds of a factor's elements slopes c - r h, radii r and half ratios h, `count` numbers
// each, c being the centres. Half ratios are near half of ratio_of().
struct FactorTable {
  float* slopes;
  std::ptrdiff_t count;

  void put(std::ptrdiff_t place, double centre, float radius) const {
    const float known = radius <= kMaxFloat ? radius : 0.0f;
    const float half = 0.5f * ratio_of(centre, known);
    slopes[place] = slope_of(centre - static_cast<double>(known) * static_cast<double>(half));
    slopes[count + place] = known;
    slopes[2 * count + place] = half;
  }
};

// The sums of kLanes outputs from one row and as many columns; boxes: also those of their ends.
template <int kLanes>
static inline void contract(int k, int n, const double* row, const double* columns, bool boxes,
                            bool planes, std::ptrdiff_t of_y, ContractedElement* made) {
  ContractionSums<kLanes> sums;
  const auto column = [=](int l) { return columns + std::ptrdiff_t{l} * n; };
  if (boxes)
    for (int l = 0; l < k; ++l) sums.add_box(row + l, k, column(l), of_y);
  for (int l = 0; l < k; ++l) sums.add_most(row + l, k, column(l), of_y);
  if (planes)
    for (int l = 0; l < k; ++l) sums.add_plane(row + l, k, column(l), of_y);
  double numbers[6][kLanes];
  store_rows(numbers[0], sums.low);
  store_rows(numbers[1], sums.high);
  store_rows(numbers[2], sums.most);
  store_rows(numbers[3], sums.centre);
  store_rows(numbers[4], sums.rest);
  store_rows(numbers[5], sums.spread);
  for (int j = 0; j < kLanes; ++j)
    made[j] = {numbers[0][j], numbers[1][j], numbers[2][j],
               numbers[3][j], numbers[4][j], numbers[5][j]};
}

// score: of means, the score of each element of x, or -1 where it is 0, with the scores' boxes:
// rows of x are the softmax of their scores. Else null. Of means, x is read with a table alone.
// scratch: kContractionPanels k (n + 1) + 3 n doubles. table: the offsets of upper and of lower
// bounds, batch m n floats each; x's centres [batch m][k], and y's [batch n][k] less the shifts of
// their columns, which are slopes over the other factor in the middle; and the FactorTable of x,
// then that of y. Or null for boxes alone, and slack is not touched.
template <typename SourcesX, typename SourcesY>
BF_ROUTINE relax_contraction(int batch, int m, int n, int k, SourcesX gather_x, SourcesY gather_y,
                             const double* centre_x, const float* radius_x, const double* centre_y,
                             const float* radius_y, const std::int32_t* score,
                             const double* centre_s, const float* radius_s,
                             const PlaneErrors& errors, double* scratch, double* slack,
                             float* table, double* centre_out, float* radius_out) {
  constexpr int kLanes = kNeuronLanes;
  const bool convex = score != nullptr;
  const int out = batch * m * n;
  const std::ptrdiff_t of_y = std::ptrdiff_t{k} * n;
  const FactorPanels columns = {scratch, of_y};
  const FactorPanels row = {scratch + kContractionPanels * of_y, k};
  float* const slopes_x = table == nullptr ? nullptr : table + 2 * std::ptrdiff_t{out};
  float* const slopes_y = table == nullptr ? nullptr : slopes_x + std::ptrdiff_t{batch} * m * k;
  const std::ptrdiff_t count_x = std::ptrdiff_t{batch} * m * k;
  const std::ptrdiff_t count_y = std::ptrdiff_t{batch} * n * k;
  float* const factors = table == nullptr ? nullptr : slopes_y + count_y;
  const FactorTable table_x = {factors, count_x};
  const FactorTable table_y = {table == nullptr ? nullptr : factors + 3 * count_x, count_y};
  const ContractedColumns of_columns = {row.low + kContractionPanels * std::ptrdiff_t{k}};
  double reach = 0;
  for (int b = 0; b < batch; ++b) {
    if (convex) {
      for (int j = 0; j < n; ++j)
        of_columns.put(j, convex_column(gather_y, (b * n + j) * k, k, centre_y, radius_y));
      bound_means(b, m, n, k, gather_x, gather_y, centre_y, radius_y, score, centre_s, radius_s,
                  scratch, of_columns, centre_out, radius_out);
      if (table == nullptr) continue;
    }
    for (int j = 0; j < n; ++j)
      for (int l = 0; l < k; ++l) {
        const int place = (b * n + j) * k + l;
        const int g = source_of(gather_y, place);
        const FactorElement element =
            factor_element(centre_y[g], radius_y[g], convex ? of_columns[j].shift : 0);
        columns.put(std::ptrdiff_t{l} * n + j, element);
        reach += static_cast<double>(m) * static_cast<double>(radius_y[g]);
        if (table == nullptr) continue;
        slopes_y[place] = slope_of(element.centre);
        table_y.put(place, element.centre, radius_y[g]);
      }
    for (int i = 0; i < m; ++i) {
      for (int l = 0; l < k; ++l) {
        const int place = (b * m + i) * k + l;
        const int g = source_of(gather_x, place);
        row.put(l, factor_element(centre_x[g], radius_x[g]));
        reach += static_cast<double>(n) * static_cast<double>(radius_x[g]);
        if (table == nullptr) continue;
        slopes_x[place] = slope_of(centre_x[g]);
        table_x.put(place, centre_x[g], radius_x[g]);
      }
      for (int j = 0; j < n;) {
        ContractedElement made[kLanes];
        const int count = n - j >= kLanes ? kLanes : 1;
        if (count == kLanes)
          contract<kLanes>(k, n, row.low, columns.low + j, !convex, table != nullptr, of_y, made);
        else
          contract<1>(k, n, row.low, columns.low + j, !convex, table != nullptr, of_y, made);
        for (int q = 0; q < count; ++q, ++j) {
          const int at = (b * m + i) * n + j;
          if (!convex) store_contracted(made[q], k, centre_out + at, radius_out + at);
          if (table != nullptr)
            put_contracted(made[q], k, convex ? of_columns[j].shift : 0, centre_out[at],
                           radius_out[at], errors, out, table + at);
        }
      }
    }
  }
  if (table == nullptr) return;
  slack[kCentreSlack] = slack[kRadiusSlack] = slack[kOpenRows] = 0;
  slack[kUnderflowSlack] = (static_cast<double>(out) + 3 * reach) * (1 + 0x1p-20);
}

// One factor's coefficients: those of z times slopes, added where the factor is read from. The
// factor has m rows and the other one n, in each batch entry; coefficients of z are [m][n] if it is
// the `first`, else [n][m]. parts_of(a, at): for the vector `a` of coefficients, whose place is
// `at`, a function that adds to kSums sums what a place of the other factor, [batch n][k], gives.
// sum_of(sums, place): the coefficient of the factor's own place, [batch m][k].
template <int kRows, int kSums, typename Sources, typename PartsOf, typename SumOf>
static inline void contract_rows(int batch, int m, int n, int k, bool first, Sources source, int in,
                                 const float* BF_RESTRICT coefficients_in, bool add,
                                 float* BF_RESTRICT coefficients_out, const PartsOf& parts_of,
                                 const SumOf& sum_of) {
  constexpr int kLanes = lanes_of<float>(kRows);
  constexpr int kVectors = kRows / kLanes;
  constexpr int kTile = kVectors > 4 ? 1 : kVectors > 2 ? 2 : 4;  // elements of a row at a time
  using Floats = typename VectorOf<float, kLanes>::type;
  if (!add) clear_rows<kRows>(in, coefficients_out);
  const std::ptrdiff_t of_row = first ? n : 1, of_other = (first ? 1 : m) * std::ptrdiff_t{kRows};
  const auto sum = [&](auto tile, int b, int i, int l) {
    constexpr int kCount = decltype(tile)::value;
    const std::ptrdiff_t row = std::ptrdiff_t{b} * m + i;
    Floats made[kCount][kVectors][kSums] = {};
    std::ptrdiff_t at = (std::ptrdiff_t{b} * m * n + i * of_row) * kRows;
    std::ptrdiff_t other = std::ptrdiff_t{b} * n * k + l;
    for (int j = 0; j < n; ++j, at += of_other, other += k)
      BF_UNROLL_ROWS for (int v = 0; v < kVectors; ++v) {
        const Floats vector = load_rows<Floats>(coefficients_in + at + v * kLanes);
        const auto add_part = parts_of(vector, at + v * kLanes);
        BF_UNROLL_ROWS for (int q = 0; q < kCount; ++q) add_part(other + q, made[q][v]);
      }
    for (int q = 0; q < kCount; ++q) {
      const std::ptrdiff_t own = row * k + l + q;
      const int to_element = source_of(source, static_cast<int>(own));
      float* const to = coefficients_out + std::ptrdiff_t{to_element} * kRows;
      for (int v = 0; v < kVectors; ++v)
        store_rows(to + v * kLanes, load_rows<Floats>(to + v * kLanes) + sum_of(made[q][v], own));
    }
  };
  for (int b = 0; b < batch; ++b)
    for (int i = 0; i < m; ++i) {
      int l = 0;
      for (; l + kTile <= k; l += kTile) sum(Count<kTile>{}, b, i, l);
      for (int rest = k % kTile; rest > 0; --rest) sum(Count<1>{}, b, i, k - rest);
    }
}

// With the half ratios h of x and g of y, products have the mixtures t = -(h + g) below, and h - g
// above. So the slope over x is b - s g - s h where A > 0, and b - s g + s h where A < 0: the sum
// of A times the `slopes` b - s g of the other factor, less h times the sum of |A| times its
// `radii`. That over y is alike. halves: the factor's own half ratios, [batch m][k].
template <int kRows, typename Sources>
BF_ROUTINE contraction_backward(int batch, int m, int n, int k, bool first, Sources source,
                                const float* slopes, const float* radii, const float* halves,
                                int in, const float* BF_RESTRICT coefficients_in, bool add,
                                float* BF_RESTRICT coefficients_out) {
  using Floats = typename VectorOf<float, lanes_of<float>(kRows)>::type;
  contract_rows<kRows, 2>(
      batch, m, n, k, first, source, in, coefficients_in, add, coefficients_out,
      [=](const Floats& a, std::ptrdiff_t) {
        const Floats magnitude = a < Floats{} ? -a : a;
        return [=](std::ptrdiff_t place, Floats* sums) {
          sums[0] += a * slopes[place];
          sums[1] += magnitude * radii[place];
        };
      },
      [=](const Floats* sums, std::ptrdiff_t place) -> Floats {
        return sums[0] - sums[1] * halves[place];
      });
}

}  // namespace bf
