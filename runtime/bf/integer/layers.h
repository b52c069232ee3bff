#pragma once

#include "bf/contract/integers.h"
#include "bf/integer/box.h"
#include "bf/integer/codes.h"

// Exact images of boxes of codes, layer by layer: docs/proofs/integer-grid.md. Every routine reads
// a tensor as the bounds `lower` and `upper` of its codes and makes those of its result. Sums are
// of int32; the planner has checked that none overflows.

namespace bf::integer {

// Bounds of a sum of products.
struct Sums {
  std::int32_t low, high;

  // A weight times a code between low_code and high_code. In line even where code is to be small:
  // it is most of the work.
  __attribute__((always_inline)) void add(std::int32_t weight, std::int32_t low_code,
                                          std::int32_t high_code) {
    if (weight >= 0) {
      low += weight * low_code;
      high += weight * high_code;
    } else {
      low += weight * high_code;
      high += weight * low_code;
    }
  }
};

// The rows of W x, to every `stride`-th code. weights: [rows][columns].
template <typename Rounding, typename Weight, typename Row>
static inline void dense(const Weight* weights, const Row* codes, int rows, int columns,
                         const Code* lower, const Code* upper, Code* out_lower, Code* out_upper,
                         int stride = 1) {
  for (int i = 0; i < rows; ++i) {
    Sums sums = {0, 0};
    for (int k = 0; k < columns; ++k) sums.add(*weights++, lower[k], upper[k]);
    *out_lower = Rounding::code(codes[i], sums.low);
    *out_upper = Rounding::code(codes[i], sums.high);
    out_lower += stride;
    out_upper += stride;
  }
}

// The bits of the largest float that is at most `number` 2^-shift, or, `up`, of the smallest that
// is at least that. |number| < 2^62, 0 <= shift <= 100: no float is subnormal or infinite.
static inline std::uint32_t float_bits(std::int64_t number, int shift, bool up) {
  if (number == 0) return 0;
  const bool negative = number < 0;
  std::uint64_t magnitude = static_cast<std::uint64_t>(negative ? -number : number);
  int exponent = 127 + 23 - shift;  // of a magnitude of 24 bits
  bool rest = false;
  while (magnitude >= (std::uint64_t{1} << 24)) {
    rest = rest || (magnitude & 1) != 0;
    magnitude >>= 1;
    ++exponent;
  }
  for (; magnitude < (std::uint64_t{1} << 23); --exponent) magnitude <<= 1;
  // A carry into the exponent is the next float, too.
  std::uint32_t bits = (static_cast<std::uint32_t>(exponent) << 23) +
                       (static_cast<std::uint32_t>(magnitude) & 0x7fffffu);
  if (rest && up != negative) ++bits;
  return negative ? bits | 0x80000000u : bits;
}

// multiplier sum + low_addend and + high_addend are on both sides of 2^shift times an output.
struct SumBounds {
  std::int64_t multiplier, low_addend, high_addend;
};

// Writes bounds of an output that is a sum itself.
static inline void write_bounds(const SumBounds& of, const Sums& sums, int shift, float* lower,
                                float* upper) {
  const std::uint32_t low = float_bits(of.multiplier * sums.low + of.low_addend, shift, false);
  const std::uint32_t high = float_bits(of.multiplier * sums.high + of.high_addend, shift, true);
  __builtin_memcpy(lower, &low, sizeof low);
  __builtin_memcpy(upper, &high, sizeof high);
}

// Bounds of outputs that are sums themselves. weights: [rows][columns].
template <typename Weight>
static inline void dequantize_sums(const Weight* weights, const SumBounds* bounds, int shift,
                                   int rows, int columns, const Code* lower, const Code* upper,
                                   float* out_lower, float* out_upper) {
  for (int i = 0; i < rows; ++i) {
    Sums sums = {0, 0};
    for (int k = 0; k < columns; ++k) sums.add(*weights++, lower[k], upper[k]);
    write_bounds(bounds[i], sums, shift, out_lower + i, out_upper + i);
  }
}

// Steps between neighbours of an image in memory, elements.
struct Strides {
  int offset, batch, channel, z, y, x;
};

// Three spatial dimensions, z y x; see ConvGeometry in the planner.
struct Convolution {
  int batch, groups, in_group, out_group;
  int in_size[3], out_size[3], kernel[3], stride[3], dilation[3], pad[3];
  Strides in, out;
};

// Codes of one window, [in_group][taps], which begins at position `from`; `zero` outside of the
// image. `at`: of the first channel at position 0.
static inline void copy_window(const Convolution& c, int at, const int from[3], Code zero,
                               const Code* lower, const Code* upper, Code* window_lower,
                               Code* window_upper) {
  for (int i = 0; i < c.in_group; ++i, at += c.in.channel)
    for (int a = 0; a < c.kernel[0]; ++a) {
      const int z = from[0] + a * c.dilation[0];
      for (int b = 0; b < c.kernel[1]; ++b) {
        const int y = from[1] + b * c.dilation[1];
        const bool inside = z >= 0 && z < c.in_size[0] && y >= 0 && y < c.in_size[1];
        const int row = at + z * c.in.z + y * c.in.y;
        int x = from[2];
        for (int d = 0; d < c.kernel[2]; ++d, x += c.dilation[2]) {
          const bool in = inside && x >= 0 && x < c.in_size[2];
          *window_lower++ = in ? lower[row + x * c.in.x] : zero;
          *window_upper++ = in ? upper[row + x * c.in.x] : zero;
        }
      }
    }
}

// weights: [out_channels][in_group][taps]; codes: of each output channel; zero: the code of what
// lies outside of the image.
template <typename Rounding, typename Weight, typename Row>
static inline void convolve(const Convolution& c, const Weight* weights, const Row* codes,
                            Code zero, const Code* lower, const Code* upper, Code* window_lower,
                            Code* window_upper, Code* out_lower, Code* out_upper) {
  const int filter = c.in_group * c.kernel[0] * c.kernel[1] * c.kernel[2];
  for (int n = 0; n < c.batch; ++n)
    for (int z = 0; z < c.out_size[0]; ++z)
      for (int y = 0; y < c.out_size[1]; ++y)
        for (int x = 0; x < c.out_size[2]; ++x) {
          const int from[3] = {z * c.stride[0] - c.pad[0], y * c.stride[1] - c.pad[1],
                               x * c.stride[2] - c.pad[2]};
          int in = c.in.offset + n * c.in.batch;
          int out = c.out.offset + n * c.out.batch + z * c.out.z + y * c.out.y + x * c.out.x;
          for (int g = 0; g < c.groups; ++g) {
            copy_window(c, in, from, zero, lower, upper, window_lower, window_upper);
            dense<Rounding>(weights + g * c.out_group * filter, codes + g * c.out_group,
                            c.out_group, filter, window_lower, window_upper, out_lower + out,
                            out_upper + out, c.out.channel);
            in += c.in_group * c.in.channel;
            out += c.out_group * c.out.channel;
          }
        }
}

// Every weight is 1.
struct Ones {
  std::int32_t operator[](int) const { return 1; }
};

// Row i sums weights_k x_{column_k} for start_i <= k < start_{i + 1}. Rows: Own or First.
template <typename Rounding, typename Rows, typename Weights, typename Index, typename Row>
static inline void sparse(const Index* start, const Index* column, const Weights& weights,
                          const Row* codes, int rows, const Code* lower, const Code* upper,
                          Code* out_lower, Code* out_upper) {
  for (int i = 0; i < rows; ++i) {
    Sums sums = {0, 0};
    for (int k = start[i]; k < start[i + 1]; ++k)
      sums.add(weights[k], lower[column[k]], upper[column[k]]);
    const Row& row = codes[Rows()[i]];
    out_lower[i] = Rounding::code(row, sums.low);
    out_upper[i] = Rounding::code(row, sums.high);
  }
}

// a_weight a + b_weight b + addend, elementwise; both weights are positive.
struct PairSum {
  std::int64_t a_weight, b_weight, addend;
  std::uint8_t shift, odd, low, high;
};

template <typename Rounding>
static inline void add(const PairSum& sum, const Code* a, const Code* b, int n, Code* out) {
  for (int i = 0; i < n; ++i)
    out[i] = Rounding::code_of(sum, sum.a_weight * a[i] + sum.b_weight * b[i] + sum.addend);
}

// A sum with codes `first` + how many of `count` steps are at most a_weight a + b_weight b.
struct PairSteps {
  std::int64_t a_weight, b_weight;
  const std::int64_t* steps;
  std::uint8_t first, count;
};

static inline void add(const PairSteps& sum, const Code* a, const Code* b, int n, Code* out) {
  for (int i = 0; i < n; ++i)
    out[i] = static_cast<Code>(
        sum.first + count_up_to(sum.steps, sum.count, sum.a_weight * a[i] + sum.b_weight * b[i]));
}

// The largest of x_{source_k} for start_i <= k < start_{i + 1}; no row is empty.
template <typename Index>
static inline void largest(const Index* start, const Index* source, int rows, const Code* x,
                           Code* out) {
  for (int i = 0; i < rows; ++i) {
    Code most = 0;
    for (int k = start[i]; k < start[i + 1]; ++k)
      if (x[source[k]] > most) most = x[source[k]];
    out[i] = most;
  }
}

// x_{source_i}.
template <typename Source>
static inline void gather(const Source& source, int n, const Code* x, Code* out) {
  for (int i = 0; i < n; ++i) out[i] = x[source[i]];
}

// Each bound `slack` codes further out, from 0 to `highest`.
static inline void loosen(int slack, int highest, int n, const Code* lower, const Code* upper,
                          Code* out_lower, Code* out_upper) {
  for (int i = 0; i < n; ++i) {
    out_lower[i] = clamped(lower[i] - slack, 0, highest);
    out_upper[i] = clamped(upper[i] + slack, 0, highest);
  }
}

enum class CodeOrder : std::uint8_t { kRises, kFalls, kNeither };

struct CodeTable {
  const Code* code;  // [256]
  CodeOrder order;
};

// Functions of single codes: the least and the largest that a table has between the bounds.
template <typename Source, typename Table>
static inline void look_up(const CodeTable* tables, const Source& source, const Table& table, int n,
                           const Code* lower, const Code* upper, Code* out_lower, Code* out_upper) {
  for (int i = 0; i < n; ++i) {
    const CodeTable& of = tables[table[i]];
    const int low = lower[source[i]];
    const int high = upper[source[i]];
    Code least = of.code[of.order == CodeOrder::kFalls ? high : low];
    Code most = of.code[of.order == CodeOrder::kFalls ? low : high];
    if (of.order == CodeOrder::kNeither)
      for (int c = low; c <= high; ++c) {
        if (of.code[c] < least) least = of.code[c];
        if (of.code[c] > most) most = of.code[c];
      }
    out_lower[i] = least;
    out_upper[i] = most;
  }
}

}  // namespace bf::integer
