#pragma once

#include "bf/contract/integers.h"
#include "bf/contract/tables.h"
#include "bf/core/bounds.h"
#include "bf/sums/terms.h"

// The centre of each row of an affine layer misses at most a number of that row alone:
//   |z_j - (centre_j + sum_k w*_jk (a_k - c_k))| <= row_j <= the layer's kCentreSlack.
// row: [n][kBoxes]; slack: the SlackTerms of the layer, [kSlack][kBoxes].
//
// Rows whose computed radius is far more than the layer's slack take that: it adds nothing that
// their own rounding would not. The others are open: they sum their |w_jk| |c_k| and |b_j|, by
// weights that were read already and inputs that are not 0. While a row is open its number is minus
// that sum, its sign set even for 0.
//
// Proof. The layer's slack holds for every row. Of an open row, `relative` counts the roundings of
// its centre relative to S = sum_k |w_jk||c_k| + factor |b_j|, as it does for the layer relative to
// row_norm max|c| + bias_norm; factor - 1 is what b_j itself may miss, divided by `relative`. S is
// a sum of at most 2^29 numbers >= 0 in double: a factor 1 + 2^-20 is more than it loses. Products
// below the normal range of double, and those of the radius in float, are counted by `absolute`. A
// sum that is NaN leaves the layer's slack.

namespace bf {

// A slack below this share of a row's radius is not made smaller: prices pay as much for the
// float32 roundings of coefficients.
constexpr double kSmallSlack = 0x1p-24;

static inline bool is_open_row(double row) {
  return __builtin_signbit(row) != 0;
}

// Returns true if a row of some box is open.
template <int kBoxes>
static inline bool has_open_rows(const double* slack) {
  for (int b = 0; b < kBoxes; ++b)
    if (slack[kOpenRows * kBoxes + b] > 0) return true;
  return false;
}

// Every row has the layer's slack, as in layers that round nothing or are no part of a bound.
template <int kBoxes>
static inline void common_slack(int n, double* slack, double* row) {
  for (int b = 0; b < kBoxes; ++b) slack[kOpenRows * kBoxes + b] = 0;
  for (int j = 0; j < n; ++j)
    for (int b = 0; b < kBoxes; ++b)
      row[std::ptrdiff_t{j} * kBoxes + b] = slack[kCentreSlack * kBoxes + b];
}

// Opens the rows of one vector that need a slack of their own: neurons, or boxes of one neuron.
// Returns -1 for each of them, and 0 for the others.
template <int kCount>
BF_LANES typename Lanes<kCount>::Longs open_rows(typename Lanes<kCount>::Doubles common,
                                                 typename Lanes<kCount>::Doubles bias,
                                                 const float* radius, double* row) {
  using L = Lanes<kCount>;
  const typename L::Longs small = common <= kSmallSlack * L::wide(radius);
  store_rows(row, small ? common : typename L::Doubles(-bias));
  return ~small;
}

// Whole vectors of start_row_slack() of one box; returns how many rows these are.
template <int kLanes>
static inline int open_vectors(const double* bias, int n, const float* radius, double factor,
                               double common, double* row, double* open) {
  int j = 0;
  if constexpr (kLanes > 1) {
    using L = Lanes<kLanes>;
    typename L::Longs count = {};
    for (; j + kLanes <= n; j += kLanes)
      count -= open_rows<kLanes>(L::all(common),
                                 factor * L::size(load_rows<typename L::Doubles>(bias + j)),
                                 radius + j, row + j);
    for (int l = 0; l < L::kLanes; ++l) *open += static_cast<double>(count[l]);
  }
  return j;
}

// Opens the rows that need a slack of their own. bias, run: as of start_sum(). radius: as computed.
template <int kBoxes>
static inline void start_row_slack(const double* bias, int n, int run, const float* radius,
                                   double factor, double* slack, double* row) {
  if constexpr (kBoxes == 1) {
    double open = 0;
    const double common = slack[kCentreSlack];
    int j = bias == nullptr || run > 1
                ? 0
                : open_vectors<kNeuronLanes>(bias, n, radius, factor, common, row, &open);
    for (; j < n; ++j) {
      const double size =
          bias == nullptr ? 0 : factor * __builtin_fabs(bias[run == 1 ? j : j / run]);
      const bool small = common <= kSmallSlack * static_cast<double>(radius[j]);
      row[j] = small ? common : -size;
      open += small ? 0 : 1;
    }
    slack[kOpenRows] = open;
  } else {
    using L = Lanes<kBoxes>;
    for (int v = 0; v < kBoxes; v += L::kLanes) {
      const auto common = load_rows<typename L::Doubles>(slack + kCentreSlack * kBoxes + v);
      typename L::Longs count = {};
      for (int j = 0; j < n; ++j) {
        const std::ptrdiff_t at = std::ptrdiff_t{j} * kBoxes + v;
        count -= open_rows<kBoxes>(common, L::all(factor * __builtin_fabs(bias[j])), radius + at,
                                   row + at);
      }
      for (int l = 0; l < L::kLanes; ++l)
        slack[kOpenRows * kBoxes + v + l] = static_cast<double>(count[l]);
    }
  }
}

// Adds the sums of so many rows of one panel to those that are open. weight: of the first of them.
template <int kTogether>
static inline void panel_row_slack(const float* weight, int in, int panel, const double* centre,
                                   int rows, double* row) {
  bool open = false;
  for (int l = 0; l < rows; ++l) open = open || is_open_row(row[l]);
  if (!open) return;
  double sums[kTogether] = {};
  for (int k = 0; k < in; ++k, weight += panel) {
    const double size = __builtin_fabs(centre[k]);
    if (size == 0) continue;
    BF_UNROLL_ROWS for (int l = 0; l < kTogether; ++l) sums[l] +=
        static_cast<double>(__builtin_fabsf(weight[l])) * size;
  }
  for (int l = 0; l < rows; ++l)
    if (is_open_row(row[l])) row[l] -= sums[l];
}

// weight: [out / panel][in][panel], the last panel padded.
template <int kBoxes>
BF_ROUTINE dense_row_slack(const float* weight, int in, int panel, const double* centre, int n,
                           const double* slack, double* row) {
  if (!has_open_rows<kBoxes>(slack)) return;
  if constexpr (kBoxes == 1) {
    const int together = panel % 8 == 0 ? 8 : 1;
    for (int j = 0; j < n; j += together) {
      const float* const first = weight + weight_of(j, in, panel);
      const int rows = together < n - j ? together : n - j;
      if (together == 8)
        panel_row_slack<8>(first, in, panel, centre, rows, row + j);
      else
        panel_row_slack<1>(first, in, panel, centre, rows, row + j);
    }
  } else {
    for (int j = 0; j < n; ++j) {
      double sums[kBoxes] = {};
      double* const of = row + std::ptrdiff_t{j} * kBoxes;
      bool open = false;
      for (int b = 0; b < kBoxes; ++b) open = open || is_open_row(of[b]);
      if (!open) continue;
      const float* const first = weight + weight_of(j, in, panel);
      for (int k = 0; k < in; ++k) {
        const double w = static_cast<double>(__builtin_fabsf(first[std::ptrdiff_t{k} * panel]));
        for (int b = 0; b < kBoxes; ++b)
          sums[b] += w * __builtin_fabs(centre[std::ptrdiff_t{k} * kBoxes + b]);
      }
      for (int b = 0; b < kBoxes; ++b)
        if (is_open_row(of[b])) of[b] -= sums[b];
    }
  }
}

// The terms of a sum layer.
BF_ROUTINE sparse_row_slack(int rows, const std::int32_t* row_start, const std::int32_t* column,
                            const float* weight, const double* centre, const double* slack,
                            double* row) {
  if (!has_open_rows<1>(slack)) return;
  for (int i = 0; i < rows; ++i) {
    if (!is_open_row(row[i])) continue;
    double sum = 0;
    for (int k = row_start[i]; k < row_start[i + 1]; ++k)
      sum += static_cast<double>(__builtin_fabsf(weight[k])) * __builtin_fabs(centre[column[k]]);
    row[i] -= sum;
  }
}

template <typename Sources>
BF_ROUTINE gather_row_slack(int rows, Sources source, const double* centre, const double* slack,
                            double* row) {
  if (!has_open_rows<1>(slack)) return;
  for (int i = 0; i < rows; ++i) {
    const int k = source_of(source, i);
    if (k >= 0 && is_open_row(row[i])) row[i] -= __builtin_fabs(centre[k]);
  }
}

// Closes the rows that are open.
template <int kBoxes>
static inline void finish_row_slack(int n, double relative, double absolute, const double* slack,
                                    double* row) {
  if (!has_open_rows<kBoxes>(slack)) return;
  for (int j = 0; j < n; ++j)
    for (int b = 0; b < kBoxes; ++b) {
      double& of = row[std::ptrdiff_t{j} * kBoxes + b];
      if (!is_open_row(of)) continue;
      const double common = slack[kCentreSlack * kBoxes + b];
      const double own = (relative * -of * (1 + 0x1p-20) + absolute) * kDoubleSlack;
      of = own < common ? own : common;
    }
}

}  // namespace bf
