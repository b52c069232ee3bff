#pragma once

#include <cstddef>
#include <cstdint>

#include "bounds.h"
#include "terms.h"

// Backward rows through layers that are not dense: coefficients over a layer's activations become
// coefficients over the tensors that its terms read. Coefficients are [element][kRows] floats; a
// row's sums stay in its lane. Sums of rows are [3][kRows]: offsets, prices, spreads.
//
// Note [depths]. How many float roundings one product A_j w_jk passes through, its own included,
// until it is stored; the planner's gamma is of at least that many. N: most products that read one
// input (column_entries). Every addition of another term or reader to the same buffer (`add`)
// rounds once more what is there.
//   conv_backward          min(32, N) + ceil(N / 32): chains of 32 products, the last one shorter,
//                          then one addition per chain; the first of each is to zero, and exact.
//   conv_backward, wide    exact products, sums in double, n <= N roundings of double, then one to
//                          float when stored.
//   sparse_backward        N + 1, gather_backward N.
//   relax_rows, product_rows, max_backward: products with offsets and prices are exact in double;
//                          a layer's sum of at most 2^22 of them costs less than one float
//                          rounding, its addition to the row's float sum another, and every later
//                          layer's addition one more.
// A product below the normal range loses at most 2^-150, as does a sum when it is stored there;
// additions of floats do not. slack[2] of the layer counts them.

#define BF_RESTRICT __restrict
#if defined(__clang__)
#define BF_UNROLL_ROWS _Pragma("clang loop unroll(full)")
#else
#define BF_UNROLL_ROWS _Pragma("GCC unroll 16")
#endif

namespace bf {

// ---- vectors of rows

#if defined(__AVX512F__)
constexpr int kVectorBytes = 64;
#elif defined(__AVX__)
constexpr int kVectorBytes = 32;
#elif defined(__SSE2__) || defined(__ARM_NEON)
constexpr int kVectorBytes = 16;
#else
constexpr int kVectorBytes = 4;
#endif

// Lanes of a native vector that divide the rows.
template <typename T>
constexpr int lanes_of(int rows) {
  int lanes =
      kVectorBytes > static_cast<int>(sizeof(T)) ? kVectorBytes / static_cast<int>(sizeof(T)) : 1;
  while (rows % lanes != 0) lanes /= 2;
  return lanes;
}

template <typename T, int kLanes>
struct VectorOf {
  typedef T type __attribute__((vector_size(kLanes * sizeof(T))));
};
template <typename T>
struct VectorOf<T, 1> {
  typedef T type;
};

template <typename V>
static inline V load_rows(const void* from) {
  V value;
  __builtin_memcpy(&value, from, sizeof value);
  return value;
}

template <typename V>
static inline void store_rows(void* to, V value) {
  __builtin_memcpy(to, &value, sizeof value);
}

// A vector of floats as one of `To`, of as many lanes.
template <typename To, int kLanes>
static inline To convert_rows(typename VectorOf<float, kLanes>::type value) {
  if constexpr (kLanes == 1)
    return static_cast<To>(value);
  else
    return __builtin_convertvector(value, To);
}

// ---- rows

template <int kRows>
static inline void clear_rows(int n, float* coefficients) {
  for (std::ptrdiff_t i = 0; i < std::ptrdiff_t{n} * kRows; ++i) coefficients[i] = 0;
}

// to += from, n neurons.
template <int kRows>
BF_ROUTINE add_rows(int n, const float* BF_RESTRICT from, float* BF_RESTRICT to) {
  for (std::ptrdiff_t i = 0; i < std::ptrdiff_t{n} * kRows; ++i) to[i] += from[i];
}

// A layer's sums of A offset and |A| price over its neurons, for each row in double; then added to
// the rows' float sums. Every product is exact.
template <int kRows>
struct RowSums {
  static constexpr int kLanes = lanes_of<double>(kRows);
  static constexpr int kVectors = kRows / kLanes;
  using Floats = typename VectorOf<float, kLanes>::type;
  using Doubles = typename VectorOf<double, kLanes>::type;
  Doubles offset[kVectors] = {};
  Doubles price[kVectors] = {};

  static Floats all(float x) { return x - Floats{}; }

  // Vector v of the rows; offsets of negative coefficients and of the others.
  void add(int v, Floats a, Floats below_zero, Floats others, float cost) {
    const Floats chosen = a < Floats{} ? below_zero : others;
    const Floats size = a < Floats{} ? -a : a;
    offset[v] += convert_rows<Doubles, kLanes>(a) * convert_rows<Doubles, kLanes>(chosen);
    price[v] += convert_rows<Doubles, kLanes>(size) * static_cast<double>(cost);
  }

  void store(float* sums) const {
    double offsets[kRows], prices[kRows];
    __builtin_memcpy(offsets, offset, sizeof offsets);
    __builtin_memcpy(prices, price, sizeof prices);
    for (int r = 0; r < kRows; ++r) {
      sums[r] = static_cast<float>(static_cast<double>(sums[r]) + offsets[r]);
      sums[kRows + r] = static_cast<float>(static_cast<double>(sums[kRows + r]) + prices[r]);
    }
  }
};

// Through the relaxation of n neurons: A over a' becomes A slope over z, chosen by A's sign. table:
// as relax() makes it; price: its row of prices for the products that follow. In place, or not.
template <int kRows>
BF_ROUTINE relax_rows(int n, const float* table, const float* price, const float* from, float* to,
                      float* sums) {
  using Sums = RowSums<kRows>;
  using Floats = typename Sums::Floats;
  Sums made;
  for (int j = 0; j < n; ++j) {
    const Floats slope_upper = Sums::all(table[j]), slope_lower = Sums::all(table[n + j]);
    const Floats offset_upper = Sums::all(table[2 * n + j]);
    const Floats offset_lower = Sums::all(table[3 * n + j]);
    const std::ptrdiff_t row = std::ptrdiff_t{j} * kRows;
    BF_UNROLL_ROWS for (int v = 0; v < Sums::kVectors; ++v) {
      const Floats a = load_rows<Floats>(from + row + v * Sums::kLanes);
      store_rows(to + row + v * Sums::kLanes, a * (a < Floats{} ? slope_upper : slope_lower));
      made.add(v, a, offset_upper, offset_lower, price[j]);
    }
  }
  made.store(sums);
}

// ---- convolutions

constexpr int kChain = 32;  // products in one float32 sum: note [depths]

template <bool kWide>
struct SumOf {
  typedef float type;
};
template <>
struct SumOf<true> {
  typedef double type;
};

// sums[c][r] += sum over j < count of weight[j weight_step + c column_step] * row j of
// coefficients, rows `step` apart.
template <int kRows, int kColumns, typename Sum>
static inline void add_products(const float* weight, std::ptrdiff_t weight_step, int column_step,
                                const float* coefficients, std::ptrdiff_t step, int count,
                                Sum* sums) {
  constexpr int kLanes = lanes_of<Sum>(kRows);
  constexpr int kVectors = kRows / kLanes;
  using Vector = typename VectorOf<Sum, kLanes>::type;
  Vector sum[kColumns][kVectors];
  BF_UNROLL_ROWS for (int c = 0; c < kColumns; ++c)
      BF_UNROLL_ROWS for (int v = 0; v < kVectors; ++v) sum[c][v] =
          load_rows<Vector>(sums + c * kRows + v * kLanes);
  for (int j = 0; j < count; ++j, weight += weight_step, coefficients += step) {
    Vector a[kVectors];
    BF_UNROLL_ROWS for (int v = 0; v < kVectors; ++v) a[v] = convert_rows<Vector, kLanes>(
        load_rows<typename VectorOf<float, kLanes>::type>(coefficients + v * kLanes));
    BF_UNROLL_ROWS for (int c = 0; c < kColumns; ++c) {
      const Sum w = static_cast<Sum>(weight[c * column_step]);
      BF_UNROLL_ROWS for (int v = 0; v < kVectors; ++v) sum[c][v] += a[v] * w;
    }
  }
  BF_UNROLL_ROWS for (int c = 0; c < kColumns; ++c)
      BF_UNROLL_ROWS for (int v = 0; v < kVectors; ++v)
          store_rows(sums + c * kRows + v * kLanes, sum[c][v]);
}

// Two levels of sums for kColumns x kRows coefficients.
template <int kRows, int kColumns, bool kWide>
struct ConvSums {
  using Sum = typename SumOf<kWide>::type;
  Sum chain[kColumns * kRows] = {};
  Sum total[kColumns * kRows] = {};
  int used = 0;  // products in the chain

  void flush() {
    for (int i = 0; i < kColumns * kRows; ++i) {
      total[i] += chain[i];
      chain[i] = 0;
    }
    used = 0;
  }

  // Columns `distance` apart in `out`.
  void store(bool add, float* out, std::ptrdiff_t distance) {
    flush();
    for (int c = 0; c < kColumns; ++c)
      for (int r = 0; r < kRows; ++r) {
        float& to = out[c * distance + r];
        const Sum sum = total[c * kRows + r];
        to = static_cast<float>(add ? static_cast<Sum>(to) + sum : sum);
      }
  }
};

// Input (n, c, q) and kColumns - 1 channels after it, all of one group: everything that reads them.
template <int kRows, int kColumns, bool kWide>
static inline void conv_pixel(const ConvShape& shape, const float* weight,
                              const float* coefficients_in, bool add, int n, int c,
                              const int (&q)[3], float* coefficients_out) {
  const int group = in_group(shape), readers = out_group(shape), tap_count = taps(shape);
  const int first = c / group * readers;  // the group's first output channel
  const std::ptrdiff_t weight_step = std::ptrdiff_t{group} * tap_count;
  const std::ptrdiff_t step = std::ptrdiff_t{shape.out.channel} * kRows;
  ConvSums<kRows, kColumns, kWide> sums;
  int p[3] = {0, 0, 0};
  int tap = 0;
  for (int tz = 0; tz < shape.kernel[0]; ++tz) {
    p[0] = reader_of(shape, 0, q[0], tz);
    for (int ty = 0; ty < shape.kernel[1]; ++ty) {
      p[1] = reader_of(shape, 1, q[1], ty);
      for (int tx = 0; tx < shape.kernel[2]; ++tx, ++tap) {
        p[2] = reader_of(shape, 2, q[2], tx);
        if (p[0] < 0 || p[1] < 0 || p[2] < 0) continue;
        const float* w = weight + first * weight_step + c % group * tap_count + tap;
        const float* a = coefficients_in + element(shape.out, n, first, p) * kRows;
        for (int o = 0, count; o < readers; o += count) {
          if (!kWide && sums.used == kChain) sums.flush();
          const int room = kWide ? readers : kChain - sums.used;
          count = readers - o < room ? readers - o : room;
          sums.used += count;
          add_products<kRows, kColumns>(w + o * weight_step, weight_step, tap_count, a + o * step,
                                        step, count, sums.chain);
        }
      }
    }
  }
  sums.store(add, coefficients_out + element(shape.in, n, c, q) * kRows,
             std::ptrdiff_t{shape.in.channel} * kRows);
}

// coefficients_out (=, or += when `add`) W^T coefficients_in.
template <int kRows, bool kWide>
BF_ROUTINE conv_backward(const ConvShape& shape, const float* weight,
                         const float* BF_RESTRICT coefficients_in, bool add,
                         float* BF_RESTRICT coefficients_out) {
  // Channels whose sums share a load of the coefficients; scalar code has too few registers.
  constexpr int kColumns = kVectorBytes == 4 ? 1 : kWide ? 2 : 4;
  const int group = in_group(shape);
  int q[3] = {0, 0, 0};
  for (int n = 0; n < shape.batch; ++n)
    for (q[0] = 0; q[0] < shape.in_size[0]; ++q[0])
      for (q[1] = 0; q[1] < shape.in_size[1]; ++q[1])
        for (q[2] = 0; q[2] < shape.in_size[2]; ++q[2])
          for (int c = 0, end = group; c < shape.in_channels; end += group) {
            for (; c + kColumns <= end; c += kColumns)
              conv_pixel<kRows, kColumns, kWide>(shape, weight, coefficients_in, add, n, c, q,
                                                 coefficients_out);
            if constexpr (kColumns > 1)
              for (; c < end; ++c)
                conv_pixel<kRows, 1, kWide>(shape, weight, coefficients_in, add, n, c, q,
                                            coefficients_out);
          }
}

// ---- sparse matrices and gathers: every entry adds to the input that it reads

template <int kRows>
BF_ROUTINE sparse_backward(int rows, const std::int32_t* row_start, const std::int32_t* column,
                           const float* weight, int in, const float* BF_RESTRICT coefficients_in,
                           bool add, float* BF_RESTRICT coefficients_out) {
  if (!add) clear_rows<kRows>(in, coefficients_out);
  for (int i = 0; i < rows; ++i) {
    const float* const a = coefficients_in + std::ptrdiff_t{i} * kRows;
    for (int k = row_start[i]; k < row_start[i + 1]; ++k) {
      const float w = weight[k];
      float* const to = coefficients_out + std::ptrdiff_t{column[k]} * kRows;
      for (int r = 0; r < kRows; ++r) to[r] += w * a[r];
    }
  }
}

template <int kRows, typename Sources>
BF_ROUTINE gather_backward(int rows, Sources source, int in,
                           const float* BF_RESTRICT coefficients_in, bool add,
                           float* BF_RESTRICT coefficients_out) {
  if (!add) clear_rows<kRows>(in, coefficients_out);
  for (int i = 0; i < rows; ++i) {
    const int k = source_of(source, i);
    if (k < 0) continue;
    const float* const a = coefficients_in + std::ptrdiff_t{i} * kRows;
    float* const to = coefficients_out + std::ptrdiff_t{k} * kRows;
    for (int r = 0; r < kRows; ++r) to[r] += a[r];
  }
}

}  // namespace bf
