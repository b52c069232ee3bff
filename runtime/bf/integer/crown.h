#pragma once

#include "bf/contract/integers.h"
#include "bf/integer/codes.h"
#include "bf/integer/layers.h"

// Rows of dense layers that go back over the layers before them, in integers:
// docs/proofs/integer-crown.md. The planner has checked that no sum overflows.

namespace bf::integer {

// Lines beside the codes of a row's sum S, for every sum that occurs, in codes times 2^fraction:
// at most max(slope S + above, low 2^fraction), at least min(slope S + below, high 2^fraction).
struct Line {
  std::int64_t slope, above, below;
  std::uint8_t low, high;
};

// slope S + offset, in codes times 2^fraction.
struct Side {
  std::int64_t slope, offset;
};

// A neuron on the box: its sum lies in [low, high], and there its code between two lines.
struct Relaxed {
  Side upper, lower;
  std::int32_t low, high;
};
static_assert(sizeof(Relaxed) == 40, "the planner places arrays of them");

// Takes a row over the codes that `layer` reads, times a power of two, back to the input's codes,
// and returns its largest value (up) or its least. `next`: room for another row.
using Back = std::int64_t (*)(int layer, bool up, std::int64_t* row, std::int64_t* next,
                              void* workspace);

// A layer, and memory for two rows of coefficients.
struct CrownLayer {
  int layer, rows, columns, shift, fraction;
  std::int64_t* row;
  std::int64_t* next;
};

// A place of the workspace.
template <typename T>
static inline T* room_at(void* workspace, std::size_t offset) {
  return static_cast<T*>(static_cast<void*>(static_cast<Code*>(workspace) + offset));
}

// A line over numbers that are convex in S between the ends: through the higher of both lines of
// one slope; `below`: the mirror image, of concave ones.
static inline Side chord(std::int64_t at_low, std::int64_t at_high, std::int32_t low,
                         std::int32_t high, bool below) {
  const std::int64_t slope = (at_high - at_low) / (std::int64_t{high} - low);
  const std::int64_t a = at_low - slope * low;
  const std::int64_t b = at_high - slope * high;
  return {slope, (a < b) == below ? a : b};
}

// A neuron whose sums are low to high, which have the codes least to most.
static inline Relaxed relax(const Line& line, int fraction, std::int32_t low, std::int32_t high,
                            Code least, Code most) {
  const std::int64_t unit = std::int64_t{1} << fraction;
  Relaxed made = {{0, most * unit}, {0, least * unit}, low, high};
  if (least == most) return made;
  const std::int64_t at_low = line.slope * low;
  const std::int64_t at_high = line.slope * high;
  const auto above = [&](std::int64_t at) {
    return at + line.above > line.low * unit ? at + line.above : line.low * unit;
  };
  const auto below = [&](std::int64_t at) {
    return at + line.below < line.high * unit ? at + line.below : line.high * unit;
  };
  if (above(at_low) + above(at_high) < 2 * most * unit)
    made.upper = chord(above(at_low), above(at_high), low, high, false);
  if (below(at_low) + below(at_high) > 2 * least * unit)
    made.lower = chord(below(at_low), below(at_high), low, high, true);
  return made;
}

// x 2^-bits, rounded up or down.
static inline std::int64_t shifted(std::int64_t x, int bits, bool up) {
  return up ? -(-x >> bits) : x >> bits;
}

// A row over a layer's codes becomes one over the codes that the layer reads. Returns what it adds
// to the row's constant. weights: [rows][columns].
template <typename Weight>
static inline std::int64_t pass(const Weight* weights, const Relaxed* relaxed, int rows,
                                int columns, int fraction, bool up, const std::int64_t* row,
                                std::int64_t* next) {
  const std::int64_t below_one = (std::int64_t{1} << fraction) - 1;
  std::int64_t constant = 0;
  for (int k = 0; k < columns; ++k) next[k] = 0;
  for (int i = 0; i < rows; ++i, weights += columns) {
    const std::int64_t a = row[i];
    if (a == 0) continue;
    const Relaxed& neuron = relaxed[i];
    const Side& side = (a > 0) == up ? neuron.upper : neuron.lower;
    constant +=
        a * (side.offset >> fraction) + shifted(a * (side.offset & below_one), fraction, up);
    if (side.slope == 0) continue;
    const std::int64_t product = a * side.slope;
    const std::int64_t factor = product >> fraction;
    // The bits that are left out of the factor are less than 1: times the sum, between 0 and it.
    if ((product & below_one) != 0) {
      const std::int32_t end = up ? neuron.high : neuron.low;
      if ((end > 0) == up) constant += end;
    }
    for (int k = 0; k < columns; ++k) next[k] += factor * weights[k];
  }
  return constant;
}

// The largest (up) or the least value of a row over codes.
static inline std::int64_t end_of(const std::int64_t* row, int columns, const Code* lower,
                                  const Code* upper, bool up) {
  std::int64_t sum = 0;
  for (int k = 0; k < columns; ++k) sum += row[k] * ((row[k] > 0) == up ? upper[k] : lower[k]);
  return sum;
}

// Bounds of a row's sum: of its codes, and of the input's codes behind all layers.
template <typename Weight>
static inline Sums bound_sum(const CrownLayer& at, const Weight* weights, const Code* lower,
                             const Code* upper, Back back, void* workspace) {
  Sums sums = {0, 0};
  for (int k = 0; k < at.columns; ++k) sums.add(weights[k], lower[k], upper[k]);
  if (at.layer == 0 || sums.low == sums.high) return sums;
  for (int up = 0; up < 2; ++up) {
    for (int k = 0; k < at.columns; ++k) at.row[k] = weights[k] * (std::int64_t{1} << at.shift);
    const std::int64_t end = back(at.layer, up != 0, at.row, at.next, workspace);
    const std::int64_t sum = shifted(end, at.shift, up == 0);
    if (up == 0 && sum > sums.low) sums.low = static_cast<std::int32_t>(sum);
    if (up != 0 && sum < sums.high) sums.high = static_cast<std::int32_t>(sum);
  }
  return sums;
}

// Bounds of the codes of W x, and the lines of its neurons.
template <typename Rounding, typename Weight, typename Row>
static inline void crown_dense(const CrownLayer& at, const Weight* weights, const Row* codes,
                               const Line* lines, const Code* lower, const Code* upper,
                               Code* out_lower, Code* out_upper, Relaxed* relaxed, Back back,
                               void* workspace) {
  for (int i = 0; i < at.rows; ++i) {
    const Sums sums = bound_sum(at, weights + i * at.columns, lower, upper, back, workspace);
    out_lower[i] = Rounding::code(codes[i], sums.low);
    out_upper[i] = Rounding::code(codes[i], sums.high);
    relaxed[i] = relax(lines[i], at.fraction, sums.low, sums.high, out_lower[i], out_upper[i]);
  }
}

// Bounds of outputs that are sums themselves: dequantize_sums().
template <typename Weight>
static inline void crown_outputs(const CrownLayer& at, const Weight* weights,
                                 const SumBounds* bounds, int shift, const Code* lower,
                                 const Code* upper, float* out_lower, float* out_upper, Back back,
                                 void* workspace) {
  for (int i = 0; i < at.rows; ++i) {
    const Sums sums = bound_sum(at, weights + i * at.columns, lower, upper, back, workspace);
    write_bounds(bounds[i], sums, shift, out_lower + i, out_upper + i);
  }
}

// Tightens bounds of the rows of a property, whose upper ones have the rows' slack on top. A
// negative shift leaves out low bits of the weights.
template <typename Weight>
static inline void crown_rows(const CrownLayer& at, const Weight* weights,
                              const std::int64_t* slack, const Code* upper, std::int64_t* row_lower,
                              std::int64_t* row_upper, Back back, void* workspace) {
  const int left = at.shift > 0 ? at.shift : 0;
  const int right = at.shift < 0 ? -at.shift : 0;
  for (int i = 0; i < at.rows; ++i, weights += at.columns)
    for (int up = 0; up < 2; ++up) {
      std::int64_t rest = 0;
      for (int k = 0; k < at.columns; ++k) {
        const std::int64_t weight = weights[k];
        at.row[k] = (weight >> right) * (std::int64_t{1} << left);
        if (up != 0 && (weight & ((std::int64_t{1} << right) - 1)) != 0) rest += upper[k];
      }
      const std::int64_t end = rest + back(at.layer, up != 0, at.row, at.next, workspace);
      const std::int64_t cut = shifted(end, left, up == 0);
      const std::int64_t most = (std::int64_t{1} << 62) >> right;  // beyond it no row is
      if (cut >= most || cut <= -most) continue;
      const std::int64_t sum = cut * (std::int64_t{1} << right);
      if (up == 0 && sum > row_lower[i]) row_lower[i] = sum;
      if (up != 0 && sum + slack[i] < row_upper[i]) row_upper[i] = sum + slack[i];
    }
}

}  // namespace bf::integer
