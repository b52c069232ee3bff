#pragma once

#include "bf.h"
#include "bf/c/core.h"
#include "bf/c/spans.h"

// bf/core/bounds.h and bf/core/live_neurons.h in C99, with their proofs and conventions: argument
// checks, the box, the interval around a double centre, and how a backward row becomes a bound.

// BF_OK when the box is one that bounds are promised for. n: elements of lower and of upper.
static inline bf_status bf_check_box(const float* lower, const float* upper, int n) {
  bool good = true;
  for (int i = 0; i < n; ++i)
    good = good && lower[i] <= upper[i] && lower[i] >= -FLT_MAX && upper[i] <= FLT_MAX;
  if (good) return BF_OK;
  for (int i = 0; i < n; ++i)
    if (!(lower[i] <= upper[i]) && !(lower[i] > upper[i])) return BF_NAN_INPUT;
  for (int i = 0; i < n; ++i)
    if (!(lower[i] <= upper[i])) return BF_EMPTY_BOX;
  return BF_INFINITE_BOX;
}

// bf_check_box() of semantics float32: within `reach` no evaluation of the network overflows.
static inline bf_status bf_check_box_within(const float* lower, const float* upper, int n,
                                            float reach) {
  const bf_status status = bf_check_box(lower, upper, n);
  if (status != BF_OK) return status;
  for (int i = 0; i < n; ++i)
    if (lower[i] < -reach || upper[i] > reach) return BF_FLOAT32_RANGE;
  return BF_OK;
}

// BF_OK when `workspace` can be used.
static inline bf_status bf_check_workspace(const void* workspace, size_t bytes, size_t needed,
                                           size_t align) {
  if (workspace == NULL) return needed == 0u ? BF_OK : BF_NULL_ARGUMENT;
  if (bytes < needed) return BF_WORKSPACE_TOO_SMALL;
  if ((uintptr_t)workspace % align != 0u) return BF_WORKSPACE_MISALIGNED;
  return bf_float_environment_ok() ? BF_OK : BF_FLOAT_ENVIRONMENT;
}

// Interval method: float centre, and a radius with the reader's summation error gamma |centre|.
static inline void bf_bind_float(const float* lower, const float* upper, int n, float gamma,
                                 float* centre, float* radius) {
  for (int i = 0; i < n; ++i) {
    const float c = 0.5f * lower[i] + 0.5f * upper[i];
    const float right = upper[i] - c;
    const float left = c - lower[i];
    const float distance = right > left ? right : left;
    centre[i] = c;
    radius[i] = distance * 0x1.000004p0f + bf_magnitude_float(c) * gamma;
  }
}

// Backward methods: double centre, float radius rounded up. The end of larger magnitude is exact.
static inline void bf_bind_double(const float* lower, const float* upper, int n, double* centre,
                                  float* radius) {
  for (int i = 0; i < n; ++i) {
    const double l = (double)lower[i];
    const double h = (double)upper[i];
    const float reach = bf_float_up(0.5 * bf_exact_sum_up(h, -l));
    const double r = (double)reach;
    centre[i] = h >= -l ? h - r : l + r;
    radius[i] = reach;
  }
}

// The doubles of a layer's slack: SlackTerm in bf/contract/tables.h.
enum { BF_CENTRE_SLACK, BF_RADIUS_SLACK, BF_UNDERFLOW_SLACK, BF_OPEN_ROWS, BF_SLACK };

// Bounds what the centres of a layer may miss; radius may be null.
static inline void bf_centre_slack(const double* centre, const float* radius, int n,
                                   double relative, double row_norm, double bias_norm,
                                   double absolute, double* slack) {
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
  slack[BF_CENTRE_SLACK] =
      (relative * (row_norm * largest[0] + bias_norm) + absolute) * BF_DOUBLE_SLACK;
  slack[BF_RADIUS_SLACK] = sums[0] * (1.0 + 0x1p-20);
}

// below_j = above_j >= inflate radius_j + row_j. below and above may be radius.
static inline void bf_interval_around(const float* radius, int n, double inflate, const double* row,
                                      float* below, float* above) {
  for (int j = 0; j < n; ++j) {
    const float reach = bf_float_up((double)radius[j] * inflate + row[j]);
    below[j] = reach;
    above[j] = reach;
  }
}

static inline void bf_magnitudes(const double* centre, int n, float* magnitude) {
  for (int k = 0; k < n; ++k) magnitude[k] = bf_float_up(bf_magnitude_double(centre[k]));
}

// below_j = above_j >= inflate radius_j + own_j; radius_j grows by pay own_j.
static inline void bf_interval_of_neurons(const float* magnitude, int n, double inflate,
                                          double relative, double absolute, double pay,
                                          float* radius, float* below, float* above) {
  for (int j = 0; j < n; ++j) {
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
static inline bool bf_is_unstable(const double* centre, const float* below, const float* above,
                                  int j) {
  const bool active = centre[j] - (double)below[j] >= 0.0;
  const bool dead = centre[j] + (double)above[j] <= 0.0;
  return !(active || dead);
}

// The neurons of unknown sign, in order; returns their number.
/*@ requires n >= 0;
    requires \valid_read(centre + (0 .. n - 1)) && \valid_read(below + (0 .. n - 1));
    requires \valid_read(above + (0 .. n - 1)) && \valid(neurons + (0 .. n - 1));
    assigns neurons[0 .. n - 1];
    ensures 0 <= \result <= n;
    ensures \forall integer k; 0 <= k < \result ==> 0 <= neurons[k] < n; */
static inline int bf_list_unstable(const double* centre, const float* below, const float* above,
                                   int n, int32_t* neurons) {
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
static inline int bf_list_all(int n, int32_t* neurons) {
  /*@ loop invariant 0 <= j <= n;
      loop invariant \forall integer k; 0 <= k < j ==> neurons[k] == k;
      loop assigns j, neurons[0 .. n - 1];
      loop variant n - j; */
  for (int j = 0; j < n; ++j) neurons[j] = (int32_t)j;
  return n;
}

// Fills the list up to a multiple of `unit` by repeating its last neuron.
static inline void bf_pad_list(int32_t* neurons, int count, int unit) {
  for (int i = count; count > 0 && i % unit != 0; ++i) neurons[i] = neurons[count - 1];
}

// Numbers of a list between two of its counts: bf/contract/lists.h.
#define BF_LIST_UNIT 8

// Adds neuron j to a list of which `count` are live: live ones in order, then the others in falling
// order. Returns the new count.
static inline int bf_list_neuron(int n, int j, int count, bool is_live, int32_t* live) {
  live[1 + (is_live ? count : n - 1 - (j - count))] = (int32_t)j;
  return is_live ? count + 1 : count;
}

// Lists the activations that are not 0 on the whole box. NaN is live.
static inline void bf_list_live_double(const double* centre, const float* radius, int n,
                                       int32_t* live) {
  int32_t* const places = live + 1 + n;
  int count = 0;
  for (int j = 0; j < n; ++j) {
    if (j % BF_LIST_UNIT == 0) places[j / BF_LIST_UNIT] = (int32_t)count;
    count =
        bf_list_neuron(n, j, count, !(bf_is_zero(centre[j]) && bf_is_zero_float(radius[j])), live);
  }
  places[(n + BF_LIST_UNIT - 1) / BF_LIST_UNIT] = (int32_t)count;
  live[0] = (int32_t)count;
}

static inline void bf_list_live_float(const float* centre, const float* radius, int n,
                                      int32_t* live) {
  int32_t* const places = live + 1 + n;
  int count = 0;
  for (int j = 0; j < n; ++j) {
    if (j % BF_LIST_UNIT == 0) places[j / BF_LIST_UNIT] = (int32_t)count;
    count = bf_list_neuron(n, j, count,
                           !(bf_is_zero_float(centre[j]) && bf_is_zero_float(radius[j])), live);
  }
  places[(n + BF_LIST_UNIT - 1) / BF_LIST_UNIT] = (int32_t)count;
  live[0] = (int32_t)count;
}

// Coefficients [in][2 pairs] of +z_i and -z_i over the layer's inputs. weight: [out / panel][in]
// [panel]. live_in: the inputs whose coefficients are made; null: all.
static inline void bf_start_rows(int pairs, const float* weight, int in, int panel,
                                 const int32_t* neurons, float* coefficients,
                                 const int32_t* live_in) {
  const int count = live_in == NULL ? in : (int)live_in[0];
  for (int i = 0; i < count; ++i) {
    const ptrdiff_t k = live_in == NULL ? (ptrdiff_t)i : (ptrdiff_t)live_in[1 + i];
    float* const c = coefficients + k * 2 * pairs;
    for (int r = 0; r < pairs; ++r) {
      const ptrdiff_t neuron = neurons[r];
      const float w = weight[neuron / panel * panel * in + neuron % panel + k * panel];
      c[r] = w;
      c[pairs + r] = -w;
    }
  }
}

// Factors of the bounds of a tile, in the order of RowErrors.
typedef struct bf_row_errors {
  double concretize_inflate;
  double weight_relative;
  double inflate;
  double absolute;
  const double* row;
} bf_row_errors;

// Bounds what a row loses besides the terms of its sums.
static inline double bf_own_loss(const bf_row_errors* errors, float radius, double absolute) {
  if (bf_is_zero(errors->weight_relative)) return absolute;
  return errors->weight_relative * (double)radius * errors->inflate + absolute;
}

// Bounds how far below the centre the row's neuron, or its negative, may be.
static inline float bf_reach_of_row(float offset, float spread, double own,
                                    const bf_row_errors* errors) {
  const double loss = ((double)spread * errors->concretize_inflate + own) * BF_DOUBLE_SLACK;
  return bf_float_up(bf_sub_up(loss, (double)offset));
}

// Turns row sums [2][2 pairs] into bounds and keeps what is tighter.
static inline void bf_tighten_rows(const int32_t* neurons, int count, int pairs, const float* sums,
                                   const bf_row_errors* errors, const float* radius, float* below,
                                   float* above) {
  const int rows = 2 * pairs;
  for (int r = 0; r < count; ++r) {
    const int32_t i = neurons[r];
    const double own = bf_own_loss(errors, radius[i], errors->row[i] + errors->absolute);
    const float down = bf_reach_of_row(sums[r], sums[rows + r], own, errors);
    const float up = bf_reach_of_row(sums[pairs + r], sums[rows + pairs + r], own, errors);
    if (down < below[i]) below[i] = down;
    if (up < above[i]) above[i] = up;
  }
}

// Writes the intervals of z of n neurons, rounded outward: the lower ends from kept[position] on,
// the upper ends `neurons` behind them. Does nothing where kept is null.
static inline void bf_keep_ranges(int n, const double* centre, const float* below,
                                  const float* above, int position, int neurons, float* kept) {
  if (kept == NULL) return;
  float* const lower = kept + position;
  float* const upper = lower + neurons;
  for (int j = 0; j < n; ++j) {
    lower[j] = bf_float_down(bf_sub_down(centre[j], (double)below[j]));
    upper[j] = bf_float_up(bf_add_up(centre[j], (double)above[j]));
  }
}

// The caller's bounds of n head neurons, after ReLU when `relu`.
static inline void bf_write_bounds(int n, bool relu, const double* centre, const float* below,
                                   const float* above, float* lower, float* upper) {
  for (int j = 0; j < n; ++j) {
    const float low = bf_float_down(bf_exact_sum_down(centre[j], -(double)below[j]));
    const float high = bf_float_up(bf_exact_sum_up(centre[j], (double)above[j]));
    lower[j] = relu && low < 0.0f ? 0.0f : low;
    upper[j] = relu && high < 0.0f ? 0.0f : high;
  }
}
