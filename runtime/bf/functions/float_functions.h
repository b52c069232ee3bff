#pragma once

#include "bf/contract/integers.h"
#include "bf/core/vectors.h"

// Elementwise functions in float32, for processors that have no doubles: tables of polynomials,
// made and proven at compile time, and their use. Proof: docs/proofs/float-functions.md.

namespace bf {

enum class FloatFunctionForm : std::uint8_t {
  kPieces,
  kExponential,  // x = k ln 2 + r: 2^k p(r), p over pieces
};

// f lies in [low, high] wherever it may turn in [from, to].
struct FloatTurn {
  float from, to, low, high;
};

// Piece i holds the floats from start_i on, up to the start of the next one. There f is
// sum_k coefficient_ik (x - origin_i)^k up to error_i and a part of the value: see float_ends().
struct FloatFunction {
  FloatFunctionForm form;
  int monotone;  // 1: f never decreases, -1: never increases, 0: it may turn, but in `turn` alone
  int degree;
  int pieces;
  int turns;
  const float* start;  // the first is -inf
  const float* origin;
  const float* coefficient;  // [pieces][degree + 1]
  const float* error;
  const FloatTurn* turn;
  float least, most;  // f lies between them at every real number
};

struct FloatRange {
  float low, high;
};

struct FloatValue {
  float value, error;
};

// The polynomial of the piece that holds x, by Horner's rule, fused or not; and the piece's error.
static inline FloatValue float_polynomial(const FloatFunction& f, float x) {
  int piece = 0;
  for (int count = f.pieces; count > 1;) {
    const int half = count / 2;
    piece += f.start[piece + half] <= x ? half : 0;
    count -= half;
  }
  const float* c = f.coefficient + static_cast<std::ptrdiff_t>(piece) * (f.degree + 1);
  const float t = x - f.origin[piece];
  float value = c[f.degree];
  for (int k = f.degree - 1; k >= 0; --k) value = value * t + c[k];
  return {value, f.error[piece]};
}

// 2^k, -126 <= k <= 127.
static inline float float_two_to(int k) {
  const std::uint32_t bits = static_cast<std::uint32_t>(k + 127) << 23;
  float made;
  __builtin_memcpy(&made, &bits, sizeof made);
  return made;
}

// e^x = 2^k p, |p - e^r| <= error, -104 <= x <= 89.
//
// Proof that r errs by 2^-25 at most. ln 2 = high + low up to 2^-44. high has 15 bits and k at most
// 8, so that k high is exact. For k = 0 nothing is subtracted; else |x| > 0.34, so that x and
// k high are multiples of 2^-25 and their difference, below 2^-1, is exact. k low < 2^-12 rounds by
// 2^-37 and misses 2^-36, the last difference rounds by 2^-26.
struct FloatPower {
  FloatValue reduced;
  int k;
};
static inline FloatPower float_power(const FloatFunction& f, float x) {
  const int k = static_cast<int>(x * 0x1.715476p+0f + (x < 0 ? -0.5f : 0.5f));
  const float whole = static_cast<float>(k);
  const float r = (x - whole * 0x1.62e4p-1f) - whole * 0x1.7f7d1cp-20f;
  return {float_polynomial(f, r), k};
}

// Bounds of f by a value that was computed of it: |f - value| is at most `error` and 4u |value|,
// u = 2^-24, so that 8u pay for the roundings here. What is no number has the bounds of all values.
static inline FloatRange float_ends(const FloatFunction& f, const FloatValue& at) {
  const float error = at.error + __builtin_fabsf(at.value) * 0x1p-21f;
  const float low = at.value - error;
  const float high = at.value + error;
  return {low > f.least ? low : f.least, high < f.most ? high : f.most};
}

// Bounds of f at x, which is a float; of all values where x is infinite or no number.
static inline FloatRange float_bounds(const FloatFunction& f, float x) {
  if (f.form == FloatFunctionForm::kPieces) return float_ends(f, float_polynomial(f, x));
  if (!(x < 88)) return {x >= 88 ? 0x1p126f : 0.0f, __builtin_inff()};
  if (!(x > -86)) return {0, 0x1p-124f};
  const FloatPower at = float_power(f, x);
  const FloatRange reduced = float_ends(f, at.reduced);
  const float scale = float_two_to(at.k);  // the products are exact: p > 0.7 and k > -125
  return {reduced.low * scale, reduced.high * scale};
}

// f over [low, high].
static inline FloatRange float_range(const FloatFunction& f, float low, float high) {
  const FloatRange left = float_bounds(f, low);
  const FloatRange right = float_bounds(f, high);
  if (f.monotone > 0) return {left.low, right.high};
  if (f.monotone < 0) return {right.low, left.high};
  FloatRange made = {left.low < right.low ? left.low : right.low,
                     left.high > right.high ? left.high : right.high};
  for (int i = 0; i < f.turns; ++i) {
    const FloatTurn& turn = f.turn[i];
    if (!(turn.from <= high && turn.to >= low)) continue;
    made.low = turn.low < made.low ? turn.low : made.low;
    made.high = turn.high > made.high ? turn.high : made.high;
  }
  return made;
}

// The interval pass through n functions: bounds of arguments -> centres and radii of values, in
// place. gamma: of the readers, and the rounding of the centre.
static inline void interval_function(int n, const FloatFunction& f, float gamma,
                                     float* BF_RESTRICT low_centre,
                                     float* BF_RESTRICT high_radius) {
  for (int j = 0; j < n; ++j) {
    const FloatRange range = float_range(f, low_centre[j], high_radius[j]);
    const float centre = 0.5f * (range.low + range.high);
    const float width = range.high - range.low;
    low_centre[j] = centre;
    high_radius[j] = width * 0x1.000004p-1f + __builtin_fabsf(centre) * gamma;
  }
}

// f at x, for plain inference.
static inline float float_value(const FloatFunction& f, float x) {
  if (f.form == FloatFunctionForm::kPieces) return float_polynomial(f, x).value;
  if (!(x < 89)) return x >= 89 ? __builtin_inff() : x;
  if (!(x > -104)) return 0;
  const FloatPower at = float_power(f, x);
  const int half = at.k / 2;  // of subnormals alone the last product rounds
  return at.reduced.value * float_two_to(half) * float_two_to(at.k - half);
}

// Plain inference of n functions, in place.
static inline void apply_function(int n, const FloatFunction& f, float* x) {
  for (int j = 0; j < n; ++j) x[j] = float_value(f, x[j]);
}

}  // namespace bf
