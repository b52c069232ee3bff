#pragma once

#include "bf/c/balls.h"
#include "bf/c/relax.h"

// Balls around the centres of layers, and what rows gain in them: bf/sums/ball_layers.h in C99.

// At least the root of a sum of at most 2^29 squares that was computed in double.
BF_FUNCTION double bf_root_of_squares(double sum) {
  return bf_root_above(bf_float_up(sum * (1.0 + 0x1p-20))) * (1.0 + 0x1p-50);
}

// Returns how far all activations that a term reads are from their centres.
BF_FUNCTION double bf_within_of(int in, BF_GLOBAL const float* radius,
                                BF_GLOBAL const double* reach_in, double inflate) {
  double within = 0.0;
  double squares = 0.0;
  for (int k = 0; k < in; ++k) {
    const double r = (double)radius[k];
    const double own = (double)bf_ball_radius(radius[k]);
    squares += r * r;
    within = own > within ? own : within;
  }
  if (reach_in == NULL) return within * inflate;
  const double side = bf_root_of_squares(squares);
  return *reach_in < side ? *reach_in : side;
}

// Computes how far a term of a layer, and each output's part of it, are from their centres. Items
// share outputs alone: in a sum that they share, squares would have another order.
BF_FUNCTION void bf_ball_term(int in, BF_GLOBAL const float* radius,
                              BF_GLOBAL const double* reach_in, double inflate, double norm,
                              int out, BF_GLOBAL const float* rows, bool add,
                              BF_GLOBAL double* reach, BF_GLOBAL float* half) {
  const double within = bf_within_of(in, radius, reach_in, inflate);
  BF_ONCE* reach = ((add ? *reach : 0.0) + norm * within) * BF_DOUBLE_SLACK;
  BF_EACH (j, out) {
    const double reached = (double)rows[j] * within;
    half[j] = bf_float_up(((add ? (double)half[j] : 0.0) + reached) * BF_DOUBLE_SLACK);
  }
}

// Adds to *reach what the centres of n neurons may miss.
BF_FUNCTION void bf_widen_reach(int n, BF_GLOBAL const double* row, BF_GLOBAL double* reach) {
  double squares = 0.0;
  for (int j = 0; j < n; ++j) squares += row[j] * row[j];
  *reach = (*reach + bf_root_of_squares(squares)) * BF_DOUBLE_SLACK;
}

// Adds what the centres may miss, and tightens n neurons' bounds.
BF_FUNCTION void bf_meet_ball(int n, BF_GLOBAL const float* half, BF_GLOBAL const double* row,
                              BF_GLOBAL float* below, BF_GLOBAL float* above,
                              BF_GLOBAL double* reach) {
  BF_ONCE bf_widen_reach(n, row, reach);
  BF_EACH (j, n) {
    const float reached = bf_float_up(((double)half[j] + row[j]) * BF_DOUBLE_SLACK);
    if (reached < below[j]) below[j] = reached;
    if (reached < above[j]) above[j] = reached;
  }
}

enum { BF_COARSE_TRIES = 4, BF_FINE_TRIES = 8, BF_GAIN_BLOCK = 32 };

// The arrays of a layer that gains read, and a row's coefficients over its activations.
typedef struct bf_gain_view {
  int n;
  int rows;
  BF_GLOBAL const double* centre;
  BF_GLOBAL const float* below;
  BF_GLOBAL const float* above;
  BF_GLOBAL const float* table;
  BF_GLOBAL const float* from;
} bf_gain_view;

// The best gain of a row, and the curve that it came from.
typedef struct bf_row_gain {
  double best;
  float curve;
} bf_row_gain;

BF_FUNCTION float bf_gap_distance(float distance) {
  return distance >= 0x1p-100f && distance <= FLT_MAX ? distance : 0.0f;
}

// The least value of slope max(distance - d, 0) + d^2 / (4 curve) over all d, or less.
BF_FUNCTION float bf_least_gap(float size, float slope, float distance, float curve) {
  const float steep = size * (slope * (1.0f - 0x1p-21f));
  const float counted = steep >= 0x1p-126f ? steep : 0.0f;
  const float most = distance * (0.5f / curve);
  const float w = counted < most ? counted : most;
  return w * (distance - curve * w);
}

// The least gap between neuron j's line and the ReLU, for a coefficient.
BF_FUNCTION float bf_gap_of_neuron(const bf_gain_view* z, ptrdiff_t j, float a, float curve) {
  const float size = a < 0.0f ? -a : a;
  const float upper = z->table[BF_SLOPE_UPPER * (ptrdiff_t)z->n + j];
  const float lower = z->table[BF_SLOPE_LOWER * (ptrdiff_t)z->n + j];
  if (a < 0.0f) {
    const float down = bf_least_gap(size, upper, bf_gap_distance(z->below[j]), curve);
    const float up = bf_least_gap(size, 1.0f - upper, bf_gap_distance(z->above[j]), curve);
    return down < up ? down : up;
  }
  return bf_least_gap(size, z->centre[j] > 0.0 ? 1.0f - lower : lower,
                      bf_gap_distance(bf_float_down(bf_magnitude_double(z->centre[j]))), curve);
}

// Tries a curve for row r.
BF_FUNCTION void bf_try_curve(const bf_gain_view* z, int r, double reach, float curve,
                              bf_row_gain* made) {
  double sum = 0.0;
  float part = 0.0f;
  int held = 0;
  for (ptrdiff_t j = 0; j < z->n; ++j) {
    if (!bf_is_unstable(z->centre, z->below, z->above, (int)j)) continue;
    part += bf_gap_of_neuron(z, j, z->from[j * z->rows + r], curve);
    if (++held < BF_GAIN_BLOCK) continue;
    sum += (double)part;
    part = 0.0f;
    held = 0;
  }
  sum += (double)part;
  const double price = reach * reach / (4.0 * (double)curve) * BF_DOUBLE_SLACK;
  const double gain = sum * (1.0 - 0x1p-18) - price - 0x1p-100;
  if (!(gain > made->best && gain <= DBL_MAX)) return;
  made->best = gain;
  made->curve = curve;
}

// The gain of row r.
BF_FUNCTION double bf_gain_of_row(const bf_gain_view* z, int r, double reach) {
  const float finer[BF_FINE_TRIES] = {0.35f, 0.5f, 0.7f, 0.85f, 1.2f, 1.45f, 2.0f, 2.9f};
  double squares = 0.0;
  for (ptrdiff_t j = 0; j < z->n; ++j) {
    const double a = (double)z->from[j * z->rows + r];
    if (bf_is_unstable(z->centre, z->below, z->above, (int)j)) squares += a * a;
  }
  float first = bf_nearest_float(reach / (2.0 * bf_root_of_squares(squares)));
  if (!(first >= 0x1p-60f && first <= 0x1p60f)) first = 1.0f;
  bf_row_gain made = {0.0, first};
  for (int t = 0; t < BF_COARSE_TRIES; ++t, first *= 4.0f) bf_try_curve(z, r, reach, first, &made);
  if (!(made.best > 0.0)) return 0.0;
  const float around = made.curve;
  for (int t = 0; t < BF_FINE_TRIES; ++t) bf_try_curve(z, r, reach, around * finer[t], &made);
  return made.best;
}

// Adds what rows gain at a ReLU layer of n neurons whose z is within *reach of its centre.
BF_FUNCTION void bf_ball_gain(int rows, int n, BF_GLOBAL const double* centre,
                              BF_GLOBAL const float* below, BF_GLOBAL const float* above,
                              BF_GLOBAL const float* table, BF_GLOBAL const double* reach,
                              BF_GLOBAL const float* from, BF_GLOBAL float* gain) {
  const bf_gain_view z = {n, rows, centre, below, above, table, from};
  if (!(*reach > 0.0 && *reach <= (double)FLT_MAX)) return;
  BF_EACH (r, rows) {
    const double more = bf_gain_of_row(&z, r, *reach);
    if (more > 0.0) gain[r] = bf_float_down(bf_add_down((double)gain[r], more));
  }
}

// Adds the gains of all layers to the rows' sums.
BF_FUNCTION void bf_take_ball_gain(int rows, BF_GLOBAL const float* gain, BF_GLOBAL float* sums) {
  BF_EACH (r, rows)
    if (gain[r] > 0.0f) sums[r] = bf_float_down(bf_add_down((double)sums[r], (double)gain[r]));
}
