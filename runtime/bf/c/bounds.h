#pragma once

#include "bf/c/core.h"

// bf/core/bounds.h and bf/core/live_neurons.h in C99, with their proofs and conventions: the
// box, the interval around a double centre, and how a backward row becomes a bound.

// Interval method: float centre, and a radius with the reader's summation error gamma |centre|.
BF_FUNCTION void bf_bind_float(BF_GLOBAL const float* lower, BF_GLOBAL const float* upper, int n,
                               float gamma, BF_GLOBAL float* centre, BF_GLOBAL float* radius) {
  BF_EACH (i, n) {
    const float c = 0.5f * lower[i] + 0.5f * upper[i];
    const float right = upper[i] - c;
    const float left = c - lower[i];
    const float distance = right > left ? right : left;
    centre[i] = c;
    radius[i] = distance * 0x1.000004p0f + bf_magnitude_float(c) * gamma;
  }
}

// Backward methods: double centre, float radius rounded up. The end of larger magnitude is exact.
BF_FUNCTION void bf_bind_one(double l, double h, BF_GLOBAL double* centre,
                             BF_GLOBAL float* radius) {
  const float reach = bf_float_up(0.5 * bf_exact_sum_up(h, -l));
  const double r = (double)reach;
  *centre = h >= -l ? h - r : l + r;
  *radius = reach;
}

BF_FUNCTION void bf_bind_double(BF_GLOBAL const float* lower, BF_GLOBAL const float* upper, int n,
                                BF_GLOBAL double* centre, BF_GLOBAL float* radius) {
  BF_EACH (i, n) bf_bind_one((double)lower[i], (double)upper[i], &centre[i], &radius[i]);
}

// The doubles of a layer's slack: SlackTerm in bf/contract/tables.h.
enum { BF_CENTRE_SLACK, BF_RADIUS_SLACK, BF_UNDERFLOW_SLACK, BF_OPEN_ROWS, BF_SLACK };

// The largest magnitude of centres, and the sum of radii.
typedef struct bf_sizes {
  double largest;
  double radii;
} bf_sizes;

#if BF_ITEMS > 1

// bf_sizes_of() of C, of which items make the parts.
BF_FUNCTION bf_sizes bf_sizes_of(BF_GLOBAL const double* centre, BF_GLOBAL const float* radius,
                                 int n, BF_LOCAL bf_team* team) {
  bf_sizes made = {0.0, 0.0};
  BF_EACH (s, BF_PARTIAL_SUMS) {
    double largest = 0.0;
    double sum = 0.0;
    for (int k = s; k < n; k += BF_PARTIAL_SUMS) {
      const double size = bf_magnitude_double(centre[k]);
      largest = size > largest ? size : largest;
      if (radius != NULL) sum += (double)radius[k];
    }
    team->sums[s] = largest;
    team->sums[BF_PARTIAL_SUMS + s] = sum;
  }
  BF_BARRIER;
  for (int s = 0; s < BF_PARTIAL_SUMS; ++s) {
    const double largest = team->sums[s];
    made.largest = largest > made.largest ? largest : made.largest;
    made.radii += team->sums[BF_PARTIAL_SUMS + s];
  }
  BF_BARRIER;
  return made;
}

#else

// radius may be null: its sum is 0.
BF_FUNCTION bf_sizes bf_sizes_of(BF_GLOBAL const double* centre, BF_GLOBAL const float* radius,
                                 int n) {
  double largest[BF_PARTIAL_SUMS] = {0.0};
  double sums[BF_PARTIAL_SUMS] = {0.0};
  for (int k = 0; k < n; ++k) {
    const int s = k % BF_PARTIAL_SUMS;
    const double size = bf_magnitude_double(centre[k]);
    largest[s] = size > largest[s] ? size : largest[s];
    if (radius != NULL) sums[s] += (double)radius[k];
  }
  for (int s = 1; s < BF_PARTIAL_SUMS; ++s) {
    largest[0] = largest[s] > largest[0] ? largest[s] : largest[0];
    sums[0] += sums[s];
  }
  const bf_sizes made = {largest[0], sums[0]};
  return made;
}

#endif

// Bounds what the centres of a layer may miss; radius may be null.
BF_FUNCTION void bf_centre_slack(BF_GLOBAL const double* centre, BF_GLOBAL const float* radius,
                                 int n, double relative, double row_norm, double bias_norm,
                                 double absolute, BF_GLOBAL double* slack BF_TEAM) {
  const bf_sizes sizes = bf_sizes_of(centre, radius, n BF_OF_TEAM);
  BF_ONCE {
    slack[BF_CENTRE_SLACK] =
        (relative * (row_norm * sizes.largest + bias_norm) + absolute) * BF_DOUBLE_SLACK;
    slack[BF_RADIUS_SLACK] = sizes.radii * (1.0 + 0x1p-20);
  }
}

// below_j = above_j >= inflate radius_j + row_j. below and above may be radius.
BF_FUNCTION void bf_interval_around(BF_GLOBAL const float* radius, int n, double inflate,
                                    BF_GLOBAL const double* row, BF_GLOBAL float* below,
                                    BF_GLOBAL float* above) {
  BF_EACH (j, n) {
    const float reach = bf_float_up((double)radius[j] * inflate + row[j]);
    below[j] = reach;
    above[j] = reach;
  }
}

BF_FUNCTION void bf_magnitudes(BF_GLOBAL const double* centre, int n, BF_GLOBAL float* magnitude) {
  BF_EACH (k, n) magnitude[k] = bf_float_up(bf_magnitude_double(centre[k]));
}

// below_j = above_j >= inflate radius_j + own_j; radius_j grows by pay own_j.
BF_FUNCTION void bf_interval_of_neurons(BF_GLOBAL const float* magnitude, int n, double inflate,
                                        double relative, double absolute, double pay,
                                        BF_GLOBAL float* radius, BF_GLOBAL float* below,
                                        BF_GLOBAL float* above) {
  BF_EACH (j, n) {
    const double own = ((double)magnitude[j] * relative + absolute) * BF_DOUBLE_SLACK;
    const double spread = (double)radius[j];
    const float reach = bf_float_up(spread * inflate + own);
    radius[j] = bf_float_up((spread + own * pay) * BF_DOUBLE_SLACK);
    below[j] = reach;
    above[j] = reach;
  }
}

// Returns true if the bounds leave the sign of neuron j open.
/*@ requires \valid_read(centre + j) && \valid_read(below + j) && \valid_read(above + j);
    assigns \nothing; */
BF_FUNCTION bool bf_is_unstable(BF_GLOBAL const double* centre, BF_GLOBAL const float* below,
                                BF_GLOBAL const float* above, int j) {
  const bool active = centre[j] - (double)below[j] >= 0.0;
  const bool dead = centre[j] + (double)above[j] <= 0.0;
  return !(active || dead);
}

#if BF_ITEMS > 1

BF_FUNCTION int bf_list_unstable(BF_GLOBAL const double* centre, BF_GLOBAL const float* below,
                                 BF_GLOBAL const float* above, int n, BF_GLOBAL int32_t* neurons,
                                 BF_LOCAL bf_team* team) {
  const int begin = bf_first_unit(BF_ITEM, n);
  const int end = bf_first_unit(BF_ITEM + 1, n);
  int own = 0;
  for (int j = begin; j < end; ++j) own += bf_is_unstable(centre, below, above, j) ? 1 : 0;
  const bf_counts counts = bf_count_together(own, team);
  int place = counts.before;
  for (int j = begin; j < end; ++j)
    if (bf_is_unstable(centre, below, above, j)) {
      neurons[place] = (int32_t)j;
      ++place;
    }
  return counts.all;
}

BF_FUNCTION int bf_list_all(int n, BF_GLOBAL int32_t* neurons) {
  BF_EACH (j, n) neurons[j] = (int32_t)j;
  return n;
}

#else

// The neurons of unknown sign, in order; returns their number.
/*@ requires n >= 0;
    requires \valid_read(centre + (0 .. n - 1)) && \valid_read(below + (0 .. n - 1));
    requires \valid_read(above + (0 .. n - 1)) && \valid(neurons + (0 .. n - 1));
    assigns neurons[0 .. n - 1];
    ensures 0 <= \result <= n;
    ensures \forall integer k; 0 <= k < \result ==> 0 <= neurons[k] < n; */
BF_FUNCTION int bf_list_unstable(BF_GLOBAL const double* centre, BF_GLOBAL const float* below,
                                 BF_GLOBAL const float* above, int n, BF_GLOBAL int32_t* neurons) {
  int count = 0;
  /*@ loop invariant 0 <= count <= j <= n;
      loop invariant \forall integer k; 0 <= k < count ==> 0 <= neurons[k] < j;
      loop assigns j, count, neurons[0 .. n - 1];
      loop variant n - j; */
  for (int j = 0; j < n; ++j) {
    neurons[count] = (int32_t)j;
    count += bf_is_unstable(centre, below, above, j) ? 1 : 0;
  }
  return count;
}

/*@ requires n >= 0;
    requires \valid(neurons + (0 .. n - 1));
    assigns neurons[0 .. n - 1];
    ensures \result == n;
    ensures \forall integer k; 0 <= k < n ==> neurons[k] == k; */
BF_FUNCTION int bf_list_all(int n, BF_GLOBAL int32_t* neurons) {
  /*@ loop invariant 0 <= j <= n;
      loop invariant \forall integer k; 0 <= k < j ==> neurons[k] == k;
      loop assigns j, neurons[0 .. n - 1];
      loop variant n - j; */
  for (int j = 0; j < n; ++j) neurons[j] = (int32_t)j;
  return n;
}

#endif

// Fills the list up to a multiple of `unit` by repeating its last neuron.
BF_FUNCTION void bf_pad_list(BF_GLOBAL int32_t* neurons, int count, int unit) {
  for (int i = count; count > 0 && i % unit != 0; ++i) neurons[i] = neurons[count - 1];
}

// Numbers of a list between two of its counts: bf/contract/lists.h.
#define BF_LIST_UNIT 8

// Adds neuron j to a list of which `count` are live: live ones in order, then the others in falling
// order. Returns the new count.
BF_FUNCTION int bf_list_neuron(int n, int j, int count, bool is_live, BF_GLOBAL int32_t* live) {
  live[1 + (is_live ? count : n - 1 - (j - count))] = (int32_t)j;
  return is_live ? count + 1 : count;
}

// Returns whether an activation may be other than 0 on the box. NaN is live.
BF_FUNCTION bool bf_is_live_double(BF_GLOBAL const double* centre, BF_GLOBAL const float* radius,
                                   int j) {
  return !(bf_is_zero(centre[j]) && bf_is_zero_float(radius[j]));
}

BF_FUNCTION bool bf_is_live_float(BF_GLOBAL const float* centre, BF_GLOBAL const float* radius,
                                  int j) {
  return !(bf_is_zero_float(centre[j]) && bf_is_zero_float(radius[j]));
}

BF_FUNCTION void bf_end_list(int n, int count, BF_GLOBAL int32_t* live) {
  live[1 + n + (n + BF_LIST_UNIT - 1) / BF_LIST_UNIT] = (int32_t)count;
  live[0] = (int32_t)count;
}

#if BF_ITEMS > 1

// The neurons of an item follow each other, from one place where counts are kept to another.
#define BF_LIST_LIVE(is_live)                                                      \
  const int units = (n + BF_LIST_UNIT - 1) / BF_LIST_UNIT;                         \
  const int begin = bf_first_unit(BF_ITEM, units) * BF_LIST_UNIT;                  \
  const int end = bf_smaller(n, bf_first_unit(BF_ITEM + 1, units) * BF_LIST_UNIT); \
  int own = 0;                                                                     \
  for (int j = begin; j < end; ++j) own += is_live(centre, radius, j) ? 1 : 0;     \
  const bf_counts counts = bf_count_together(own, team);                           \
  int count = counts.before;                                                       \
  for (int j = begin; j < end; ++j) {                                              \
    if (j % BF_LIST_UNIT == 0) live[1 + n + j / BF_LIST_UNIT] = (int32_t)count;    \
    count = bf_list_neuron(n, j, count, is_live(centre, radius, j), live);         \
  }                                                                                \
  BF_ONCE bf_end_list(n, counts.all, live)

#else

#define BF_LIST_LIVE(is_live)                                                   \
  int count = 0;                                                                \
  for (int j = 0; j < n; ++j) {                                                 \
    if (j % BF_LIST_UNIT == 0) live[1 + n + j / BF_LIST_UNIT] = (int32_t)count; \
    count = bf_list_neuron(n, j, count, is_live(centre, radius, j), live);      \
  }                                                                             \
  bf_end_list(n, count, live)

#endif

// Lists the activations that are not 0 on the whole box.
BF_FUNCTION void bf_list_live_double(BF_GLOBAL const double* centre, BF_GLOBAL const float* radius,
                                     int n, BF_GLOBAL int32_t* live BF_TEAM) {
  BF_LIST_LIVE(bf_is_live_double);
}

BF_FUNCTION void bf_list_live_float(BF_GLOBAL const float* centre, BF_GLOBAL const float* radius,
                                    int n, BF_GLOBAL int32_t* live BF_TEAM) {
  BF_LIST_LIVE(bf_is_live_float);
}

// Coefficients [in][2 pairs] of +z_i and -z_i over the layer's inputs. weight: [out / panel][in]
// [panel]. live_in: the inputs whose coefficients are made; null: all.
BF_FUNCTION void bf_start_rows(int pairs, BF_GLOBAL const float* weight, int in, int panel,
                               BF_GLOBAL const int32_t* neurons, BF_GLOBAL float* coefficients,
                               BF_GLOBAL const int32_t* live_in) {
  const int count = live_in == NULL ? in : (int)live_in[0];
  BF_EACH (r, pairs) {
    const ptrdiff_t neuron = neurons[r];
    BF_GLOBAL const float* const from =
        weight + neuron / panel * panel * (ptrdiff_t)in + neuron % panel;
    for (int i = 0; i < count; ++i) {
      const ptrdiff_t k = live_in == NULL ? (ptrdiff_t)i : (ptrdiff_t)live_in[1 + i];
      const float w = from[k * panel];
      coefficients[k * 2 * pairs + r] = w;
      coefficients[k * 2 * pairs + pairs + r] = -w;
    }
  }
}

// Factors of the bounds of a tile, in the order of RowErrors.
typedef struct bf_row_errors {
  double concretize_inflate;
  double weight_relative;
  double inflate;
  double absolute;
  BF_GLOBAL const double* row;
} bf_row_errors;

// Bounds what a row loses besides the terms of its sums.
BF_FUNCTION double bf_own_loss(const bf_row_errors* errors, float radius, double absolute) {
  if (bf_is_zero(errors->weight_relative)) return absolute;
  return errors->weight_relative * (double)radius * errors->inflate + absolute;
}

// Bounds how far below the centre the row's neuron, or its negative, may be.
BF_FUNCTION float bf_reach_of_row(float offset, float spread, double own,
                                  const bf_row_errors* errors) {
  const double loss = ((double)spread * errors->concretize_inflate + own) * BF_DOUBLE_SLACK;
  return bf_float_up(bf_sub_up(loss, (double)offset));
}

// Turns row sums [2][2 pairs] into bounds and keeps what is tighter.
BF_FUNCTION void bf_tighten_rows(BF_GLOBAL const int32_t* neurons, int count, int pairs,
                                 BF_GLOBAL const float* sums, const bf_row_errors* errors,
                                 BF_GLOBAL const float* radius, BF_GLOBAL float* below,
                                 BF_GLOBAL float* above) {
  const int rows = 2 * pairs;
  BF_EACH (r, count) {
    const int32_t i = neurons[r];
    const double own = bf_own_loss(errors, radius[i], errors->row[i] + errors->absolute);
    const float down = bf_reach_of_row(sums[r], sums[rows + r], own, errors);
    const float up = bf_reach_of_row(sums[pairs + r], sums[rows + pairs + r], own, errors);
    if (down < below[i]) below[i] = down;
    if (up < above[i]) above[i] = up;
  }
}

// Writes the line of a row of q = z_i or -z_i: its coefficients over the inputs, and behind them
// what q is at least at the end of the box at which it is least.
BF_FUNCTION void bf_keep_line(BF_GLOBAL const float* over_inputs, int stride, int inputs,
                              double centre, float reach, BF_GLOBAL float* line) {
  for (ptrdiff_t k = 0; k < inputs; ++k) line[k] = over_inputs[k * stride];
  line[inputs] = bf_float_down(bf_sub_down(centre, (double)reach));
}

// The lines of both rows of all neurons in the rows' list, [neuron][2][inputs + 1] from neuron
// `position` on. over_inputs: [inputs][2 pairs].
BF_FUNCTION void bf_keep_coefficients(BF_GLOBAL const int32_t* neurons, int count, int pairs,
                                      int inputs, BF_GLOBAL const float* over_inputs,
                                      BF_GLOBAL const float* sums, const bf_row_errors* errors,
                                      BF_GLOBAL const float* radius, BF_GLOBAL const double* centre,
                                      int position, BF_GLOBAL float* kept) {
  const int rows = 2 * pairs;
  BF_EACH (r, count) {
    const int32_t i = neurons[r];
    BF_GLOBAL float* const to = kept + ((ptrdiff_t)position + i) * 2 * ((ptrdiff_t)inputs + 1);
    const double own = bf_own_loss(errors, radius[i], errors->row[i] + errors->absolute);
    const float down = bf_reach_of_row(sums[r], sums[rows + r], own, errors);
    const float up = bf_reach_of_row(sums[pairs + r], sums[rows + pairs + r], own, errors);
    bf_keep_line(over_inputs + r, rows, inputs, centre[i], down, to);
    bf_keep_line(over_inputs + pairs + r, rows, inputs, -centre[i], up, to + inputs + 1);
  }
}

// Writes the intervals of z of n neurons, rounded outward: the lower ends from kept[position] on,
// the upper ends `neurons` behind them. Does nothing where kept is null.
BF_FUNCTION void bf_keep_ranges(int n, BF_GLOBAL const double* centre, BF_GLOBAL const float* below,
                                BF_GLOBAL const float* above, int position, int neurons,
                                BF_GLOBAL float* kept) {
  if (kept == NULL) return;
  BF_GLOBAL float* const lower = kept + position;
  BF_GLOBAL float* const upper = lower + neurons;
  BF_EACH (j, n) {
    lower[j] = bf_float_down(bf_sub_down(centre[j], (double)below[j]));
    upper[j] = bf_float_up(bf_add_up(centre[j], (double)above[j]));
  }
}

// The caller's bounds of n head neurons, after ReLU when `relu`.
BF_FUNCTION void bf_write_bounds(int n, bool relu, BF_GLOBAL const double* centre,
                                 BF_GLOBAL const float* below, BF_GLOBAL const float* above,
                                 BF_GLOBAL float* lower, BF_GLOBAL float* upper) {
  BF_EACH (j, n) {
    const float low = bf_float_down(bf_exact_sum_down(centre[j], -(double)below[j]));
    const float high = bf_float_up(bf_exact_sum_up(centre[j], (double)above[j]));
    lower[j] = relu && low < 0.0f ? 0.0f : low;
    upper[j] = relu && high < 0.0f ? 0.0f : high;
  }
}
