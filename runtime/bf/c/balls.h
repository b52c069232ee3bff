#pragma once

#include "bf/c/core.h"

// Ends of backward rows over the ellipsoid and the cross-polytope in a box, and over one-hot
// inputs: bf/sums/balls.h and bf/sums/one_hot.h in C99. Proofs: docs/proofs/balls.md,
// docs/proofs/one-hot.md.

// Returns at least (1 - 2^-51) sqrt(x) for a normal float x > 0; x itself where it is infinite or
// NaN.
BF_FUNCTION double bf_root_above(float x) {
  if (!(x <= FLT_MAX)) return (double)x;
  const double value = (double)x;
  double y = (double)bf_float_of_bits((bf_bits_of_float(x) >> 1) + 0x1fc00000u);
  for (int step = 0; step < 3; ++step) y = 0.5 * (y + value / y);
  return y;
}

// A radius of a ball, not below the normal range.
BF_FUNCTION float bf_ball_radius(float radius) {
  return radius > 0.0f && radius < 0x1p-126f ? 0x1p-126f : radius;
}

// spread_r = sqrt(sum_k (A_kr radius_k)^2), rounded up.
BF_FUNCTION void bf_concretize_euclid(int rows, BF_GLOBAL const float* coefficients,
                                      BF_GLOBAL const float* radius, int inputs,
                                      BF_GLOBAL float* spread) {
  BF_EACH (r, rows) {
    float sum = (float)inputs * 0x1p-120f;
    for (ptrdiff_t k = 0; k < inputs; ++k) {
      const float part = coefficients[k * rows + r] * bf_ball_radius(radius[k]);
      sum += part * part;
    }
    spread[r] = bf_float_up(bf_root_above(sum));
  }
}

// spread_r = the largest |A_kr| radius_k; NaN where one of them is infinite or NaN.
BF_FUNCTION void bf_concretize_sum(int rows, BF_GLOBAL const float* coefficients,
                                   BF_GLOBAL const float* radius, int inputs,
                                   BF_GLOBAL float* spread) {
  BF_EACH (r, rows) {
    float largest = 0.0f;
    float finite = 0.0f;
    for (ptrdiff_t k = 0; k < inputs; ++k) {
      const float a = coefficients[k * rows + r];
      const float part = (a < 0.0f ? -a : a) * bf_ball_radius(radius[k]);
      largest = bf_larger_float(part, largest);
      finite += part * 0.0f;
    }
    spread[r] = largest + finite;
  }
}

// The sums of a row over a group of one-hot inputs, and over all of them.
typedef struct bf_one_hot_sums {
  double reach;
  double all;
} bf_one_hot_sums;

// Adds the group of `size` inputs from `first` on to row r's sums.
BF_FUNCTION void bf_add_one_hot(int rows, BF_GLOBAL const float* coefficients,
                                BF_GLOBAL const float* radius, ptrdiff_t first, int size, int r,
                                bf_one_hot_sums* sums) {
  double least = 0.0;
  double sum = 0.0;
  bool varies = false;
  for (ptrdiff_t k = first; k < first + size; ++k) {
    if (bf_is_zero_float(radius[k])) continue;
    const double wide = (double)coefficients[k * rows + r];
    const double part = wide * (double)radius[k];
    const double magnitude = part < 0.0 ? -part : part;
    sums->all += magnitude + (wide < 0.0 ? -wide : wide) * 0x1p-126;
    sum += part;
    least = varies && !(part < least) ? least : part;
    varies = true;
  }
  if (varies) sums->reach += sum - 2.0 * least;
}

// Bounds rows over inputs of which, in each group of `size`, one that varies is at its upper end
// and the others are at their lower ends.
BF_FUNCTION void bf_concretize_one_hot(int rows, BF_GLOBAL const float* coefficients,
                                       BF_GLOBAL const float* radius, int inputs, int size,
                                       double slack, BF_GLOBAL float* sums,
                                       BF_GLOBAL float* spread) {
  BF_EACH (r, rows) {
    bf_one_hot_sums made = {0.0, 0.0};
    for (ptrdiff_t first = 0; first < inputs; first += size)
      bf_add_one_hot(rows, coefficients, radius, first, size, r, &made);
    const double most = made.reach + slack * made.all;
    const bool within = most < 0.0;
    spread[r] = within ? 0.0f : bf_float_up(most);
    if (within) sums[r] = bf_float_down(bf_sub_down((double)sums[r], most));
  }
}
