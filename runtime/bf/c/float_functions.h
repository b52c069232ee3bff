#pragma once

#include "bf/c/intervals.h"

// Elementwise functions in float32: bf/functions/float_functions.h in C99. Proof:
// docs/proofs/float-functions.md.

typedef enum bf_float_form { BF_FLOAT_PIECES, BF_FLOAT_EXPONENTIAL } bf_float_form;

// Holds the bounds of a function where it may turn in [from, to].
typedef struct bf_float_turn {
  float from;
  float to;
  float low;
  float high;
} bf_float_turn;

// A table, in the order of FloatFunction.
typedef struct bf_float_function {
  bf_float_form form;
  int monotone;
  int degree;
  int pieces;
  int turns;
  BF_CONSTANT const float* start;
  BF_CONSTANT const float* origin;
  BF_CONSTANT const float* coefficient;
  BF_CONSTANT const float* error;
  BF_CONSTANT const bf_float_turn* turn;
  float least;
  float most;
} bf_float_function;

typedef struct bf_float_value_error {
  float value;
  float error;
} bf_float_value_error;

// The polynomial of the piece that holds x, and the piece's error.
BF_FUNCTION bf_float_value_error bf_float_polynomial(BF_CONSTANT const bf_float_function* f,
                                                     float x) {
  int piece = 0;
  int count = f->pieces;
  while (count > 1) {
    const int half = count / 2;
    piece += f->start[piece + half] <= x ? half : 0;
    count -= half;
  }
  BF_CONSTANT const float* const c = f->coefficient + (ptrdiff_t)piece * (f->degree + 1);
  const float t = x - f->origin[piece];
  float value = c[f->degree];
  for (int k = f->degree - 1; k >= 0; --k) value = value * t + c[k];
  const bf_float_value_error made = {value, f->error[piece]};
  return made;
}

// 2^k, -126 <= k <= 127.
BF_FUNCTION float bf_float_two_to(int k) {
  return bf_float_of_bits((uint32_t)(k + 127) << 23);
}

// e^x = 2^k p, -104 <= x <= 89.
BF_FUNCTION bf_float_value_error bf_float_power(BF_CONSTANT const bf_float_function* f, float x,
                                                int* k) {
  *k = (int)(x * 0x1.715476p+0f + (x < 0.0f ? -0.5f : 0.5f));
  const float whole = (float)*k;
  const float r = (x - whole * 0x1.62e4p-1f) - whole * 0x1.7f7d1cp-20f;
  return bf_float_polynomial(f, r);
}

// Bounds of f by a value that was computed of it; of all values where that is no number.
BF_FUNCTION bf_ends bf_float_ends(BF_CONSTANT const bf_float_function* f,
                                  const bf_float_value_error* at) {
  const float error = at->error + bf_magnitude_float(at->value) * 0x1p-21f;
  const float low = at->value - error;
  const float high = at->value + error;
  const bf_ends made = {low > f->least ? low : f->least, high < f->most ? high : f->most};
  return made;
}

// Bounds of f at x; of all values where x is infinite or no number.
BF_FUNCTION bf_ends bf_float_bounds(BF_CONSTANT const bf_float_function* f, float x) {
  bf_ends made = {0.0f, 0x1p-124f};
  if (f->form == BF_FLOAT_PIECES) {
    const bf_float_value_error at = bf_float_polynomial(f, x);
    made = bf_float_ends(f, &at);
  } else if (!(x < 88.0f)) {
    made.low = x >= 88.0f ? 0x1p126f : 0.0f;
    made.high = BF_INFINITY;
  } else if (x > -86.0f) {
    int k = 0;
    const bf_float_value_error at = bf_float_power(f, x, &k);
    const bf_ends reduced = bf_float_ends(f, &at);
    const float scale = bf_float_two_to(k);
    made.low = reduced.low * scale;
    made.high = reduced.high * scale;
  }
  return made;
}

// f over [low, high].
BF_FUNCTION bf_ends bf_float_range(BF_CONSTANT const bf_float_function* f, float low, float high) {
  const bf_ends left = bf_float_bounds(f, low);
  const bf_ends right = bf_float_bounds(f, high);
  bf_ends made = {left.low < right.low ? left.low : right.low,
                  left.high > right.high ? left.high : right.high};
  if (f->monotone != 0) {
    made.low = f->monotone > 0 ? left.low : right.low;
    made.high = f->monotone > 0 ? right.high : left.high;
    return made;
  }
  for (int i = 0; i < f->turns; ++i) {
    BF_CONSTANT const bf_float_turn* const turn = f->turn + i;
    if (turn->from <= high && turn->to >= low) {
      made.low = turn->low < made.low ? turn->low : made.low;
      made.high = turn->high > made.high ? turn->high : made.high;
    }
  }
  return made;
}

// Bounds of n arguments -> centres and radii of values, in place.
BF_FUNCTION void bf_interval_function(int n, BF_CONSTANT const bf_float_function* f, float gamma,
                                      BF_GLOBAL float* low_centre, BF_GLOBAL float* high_radius) {
  BF_EACH (j, n) {
    const bf_ends range = bf_float_range(f, low_centre[j], high_radius[j]);
    const float centre = 0.5f * (range.low + range.high);
    const float width = range.high - range.low;
    low_centre[j] = centre;
    high_radius[j] = width * 0x1.000004p-1f + bf_magnitude_float(centre) * gamma;
  }
}

// f at x, for plain inference.
BF_FUNCTION float bf_float_value(BF_CONSTANT const bf_float_function* f, float x) {
  if (f->form == BF_FLOAT_PIECES) return bf_float_polynomial(f, x).value;
  if (!(x < 89.0f)) return x >= 89.0f ? BF_INFINITY : x;
  if (!(x > -104.0f)) return 0.0f;
  int k = 0;
  const float reduced = bf_float_power(f, x, &k).value;
  const int half = k / 2;
  return reduced * bf_float_two_to(half) * bf_float_two_to(k - half);
}

// Plain inference of n functions, in place.
BF_FUNCTION void bf_apply_function(int n, BF_CONSTANT const bf_float_function* f,
                                   BF_GLOBAL float* x) {
  BF_EACH (j, n) x[j] = bf_float_value(f, x[j]);
}
