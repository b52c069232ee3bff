#include "aot/check/sigmoid.h"

#include <algorithm>

namespace bf_check {
namespace {

constexpr unsigned kFine = 128, kSquares = 12, kTerms = 16, kErrors = 64;
constexpr unsigned kFar = 64;  // beyond it s is taken for something between s(64) and 1
constexpr int kTangentSteps = 8;

// Bounds of e^x in 2^-128, for 0 <= x <= 64 in 2^-bits: (e^y)^4096 with y = x / 4096. The series of
// e^y is cut behind 16 terms, each of which is rounded down twice.
Range exponential(const Int& x, unsigned bits) {
  Int term = Int(1) << kFine;
  Range e{term, 0};
  for (unsigned n = 1; n <= kTerms; ++n) {
    term = (term * x >> (bits + kSquares)) / n;
    e.low += term;
  }
  e.high = e.low + kErrors;
  for (unsigned i = 0; i < kSquares; ++i) {
    e.low = e.low * e.low >> kFine;
    e.high = (e.high * e.high >> kFine) + 1;
  }
  return e;
}

// Bounds of s' = s (1 - s), in the unit 2^-fine of those of s.
Range derivative(const Range& s, unsigned fine) {
  const Int one = Int(1) << fine;
  return {s.low * (one - s.high) >> fine, (s.high * (one - s.low) >> fine) + 1};
}

}  // namespace

// With e = e^|z|, s(|z|) = e / (e + 1), and s(-z) = 1 - s(z).
Range sigmoid(i64 z, const Grid& grid) {
  const unsigned fine = grid.weight_bits + grid.value_bits;
  const Int one = Int(1) << fine, far = Int(kFar) << grid.value_bits, size = abs(Int(z));
  const Range e = exponential(std::min(size, far), grid.value_bits);
  const Int unit = Int(1) << kFine;
  Range s{(e.low << fine) / (e.low + unit), (e.high << fine) / (e.high + unit) + 1};
  if (size > far) s.high = one;
  return z >= 0 ? s : Range{one - s.high, one - s.low};
}

// The slope k is not above s'(t), and so s(z) - k z is at most its value at `low`, or what its
// tangent at t has at `high`. t and k are a rule: where `high` is positive the line is above s for
// each t from 0 to `high`, else for t = high and any k.
Line line_above(i64 low, i64 high, const Grid& grid) {
  const unsigned bits = grid.value_bits, fine = grid.weight_bits + bits;
  const Range start = sigmoid(low, grid);
  i64 t = high, below = std::max<i64>(0, low + (high - low) / 2);
  for (int i = 0; i < kTangentSteps && t > below; ++i) {
    const i64 middle = i == 0 ? below : below + (t - below) / 2;
    const Range s = sigmoid(middle, grid);
    const Int fall = derivative(s, fine).low * (middle - low);
    (fall <= (s.high - start.low) << bits ? t : below) = middle;
  }
  const Range s = sigmoid(t, grid), tangent = derivative(s, fine);
  Int slope = tangent.low;
  if (t > low) slope = std::min(slope, Int(((s.high - start.low) << bits) / (t - low)));
  slope >>= bits;
  const Int rest = (tangent.high - (slope << bits)) * (high - t) >> bits;
  const Int at_low = start.high - slope * low, at_t = s.high - slope * t + rest + 1;
  const Int offset = -(-std::max(at_low, at_t) >> grid.weight_bits);
  return {slope.get_si(), to_i64(offset, kValueSize, "a sigmoid's line")};
}

Line line_below(i64 low, i64 high, const Grid& grid) {
  const Line mirrored = line_above(-high, -low, grid);
  return {mirrored.slope, (i64{1} << grid.value_bits) - mirrored.offset};
}

}  // namespace bf_check
