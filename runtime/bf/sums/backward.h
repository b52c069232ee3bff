#pragma once

#include "bf/contract/chains.h"
#include "bf/contract/integers.h"
#include "bf/core/bounds.h"
#include "bf/core/vectors.h"
#include "bf/sums/live.h"
#include "bf/sums/terms.h"

// Backward rows through layers that are not dense: coefficients over a layer's activations become
// coefficients over the tensors that its terms read. Coefficients are [element][kRows] floats; a
// row's sums stay in its lane. Sums of rows are [2][kRows]: offsets, spreads.
//
// How many float roundings a product passes through in each routine:
// docs/proofs/backward-depths.md.

namespace bf {

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

// A layer's sum of A offset over its neurons, for each row in double; then added to the rows' float
// sums. Every product is exact.
template <int kRows>
struct RowSums {
  static constexpr int kLanes = lanes_of<double>(kRows);
  static constexpr int kVectors = kRows / kLanes;
  using Floats = typename VectorOf<float, kLanes>::type;
  using Doubles = typename VectorOf<double, kLanes>::type;
  Doubles offset[kVectors] = {};

  static Floats all(float x) { return x - Floats{}; }

  // Vector v of the rows; offsets of negative coefficients and of the others.
  void add(int v, Floats a, Floats below_zero, Floats others) {
    const Floats chosen = a < Floats{} ? below_zero : others;
    offset[v] += convert_rows<Doubles, kLanes>(a) * convert_rows<Doubles, kLanes>(chosen);
  }

  void store(float* sums) const {
    double offsets[kRows];
    __builtin_memcpy(offsets, offset, sizeof offsets);
    for (int r = 0; r < kRows; ++r)
      sums[r] = static_cast<float>(static_cast<double>(sums[r]) + offsets[r]);
  }
};

// RowSums with float chains of kSumChain neurons before the double sums.
template <int kRows>
struct LineSums {
  static constexpr int kLanes = lanes_of<float>(kRows);
  static constexpr int kVectors = kRows / kLanes;
  using Floats = typename VectorOf<float, kLanes>::type;
  Floats offset[kVectors] = {};
  double offsets[kRows] = {};
  int used = 0;  // neurons in the chain

  static Floats all(float x) { return x - Floats{}; }

  void add_chain(const Floats (&offset_chain)[kVectors]) {
    float chain[kRows];
    __builtin_memcpy(chain, offset_chain, sizeof chain);
    for (int r = 0; r < kRows; ++r) offsets[r] += static_cast<double>(chain[r]);
  }

  void store(float* sums) {
    add_chain(offset);
    for (int r = 0; r < kRows; ++r)
      sums[r] = static_cast<float>(static_cast<double>(sums[r]) + offsets[r]);
  }
};

// Pixels side by side: neuron and coefficient of the first one's channel 0, how far the next
// channels are, and the next pixels. Coefficients count in rows of kRows.
struct PixelLine {
  int pixels;
  int first, step;
  std::ptrdiff_t row, row_step;
  int next_first;
  std::ptrdiff_t next_row;
};

// Neurons of relax_rows(): of `pixels` pixels the channels channels_of(number). Not inlined: the
// loop needs all registers, for places from few pointers.
template <int kRows, typename ChannelsOf>
__attribute__((noinline)) static void relax_run(int n, const float* table, const float* offsets,
                                                const PixelLine& run, ChannelsOf channels_of,
                                                const float* from, float* to,
                                                LineSums<kRows>& made) {
  using Sums = LineSums<kRows>;
  using Floats = typename Sums::Floats;
  constexpr int kLanes = Sums::kLanes;
  const std::ptrdiff_t next = n, upper = offsets - table, lower = upper + next;
  const std::ptrdiff_t step = run.step, row_step = run.row_step * kRows;
  std::ptrdiff_t first = run.first, rows = run.row * kRows;
  Floats offset[Sums::kVectors];
  BF_UNROLL_ROWS for (int v = 0; v < Sums::kVectors; ++v) offset[v] = made.offset[v];
  int room = kSumChain - made.used;
  for (int x = 0; x < run.pixels; ++x) {
    const auto channels = channels_of(x);
    for (int k = 0; k < channels.count; ++k, --room) {
      if (room == 0) {
        made.add_chain(offset);
        BF_UNROLL_ROWS for (int v = 0; v < Sums::kVectors; ++v) offset[v] = Floats{};
        room = kSumChain;
      }
      const std::ptrdiff_t channel = channels[k];
      const float* const line = pinned(table + (first + channel * step));
      const std::ptrdiff_t row = rows + channel * row_step;
      const Floats slope_upper = Sums::all(line[0]), slope_lower = Sums::all(line[next]);
      const Floats offset_upper = Sums::all(line[upper]), offset_lower = Sums::all(line[lower]);
      BF_UNROLL_ROWS for (int v = 0; v < Sums::kVectors; ++v) {
        const Floats a = load_rows<Floats>(from + row + v * kLanes);
        const auto negative = a < Floats{};
        store_rows(to + row + v * kLanes, a * (negative ? slope_upper : slope_lower));
        offset[v] += a * (negative ? offset_upper : offset_lower);
      }
    }
    first += run.next_first;
    rows += run.next_row * kRows;
  }
  BF_UNROLL_ROWS for (int v = 0; v < Sums::kVectors; ++v) made.offset[v] = offset[v];
  made.used = kSumChain - room;
}

// Passes rows through the relaxation of n neurons: A over a' becomes A slope over z, by A's sign.
// table: as relax() makes it; offsets: its two rows for the products that follow. In place, or not.
template <int kRows>
BF_ROUTINE relax_rows(int n, const float* table, const float* offsets, const float* from, float* to,
                      float* sums) {
  LineSums<kRows> made;
  relax_run(
      n, table, offsets, PixelLine{1, 0, 1, 0, 1, 0, 0},
      [n](int) {
        return AllChannels{0, n};
      },
      from, to, made);
  made.store(sums);
}
template <bool kWide>
struct SumOf {
  typedef float type;
};
template <>
struct SumOf<true> {
  typedef double type;
};

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
