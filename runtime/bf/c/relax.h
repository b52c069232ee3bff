#pragma once

#include "bf/c/bounds.h"

// Relaxations of layers: bf/core/relax.h and the linear relaxation of bf/core/bounds.h in C99.

// Errors of a backward step that the offsets of a table pay, in the order of RelaxErrors.
typedef struct bf_relax_errors {
  double product;
  double wide;
  double stored;
  double slope;
  double offset;
  double inflate;
} bf_relax_errors;

// One neuron's part of a relaxation: lines over z, offsets from the centre of a', outward.
typedef struct bf_relaxation {
  float slope_upper;
  float slope_lower;
  double offset_upper;
  double offset_lower;
  double centre;
  float radius;
} bf_relaxation;

// The rows of a table: RelaxRow in bf/contract/tables.h.
enum {
  BF_SLOPE_UPPER,
  BF_SLOPE_LOWER,
  BF_OFFSET_UPPER,
  BF_OFFSET_LOWER,
  BF_WIDE_OFFSET_UPPER,
  BF_WIDE_OFFSET_LOWER
};

BF_FUNCTION double bf_price_factor(double gamma) {
  return (1.0 + 4.0 * gamma) * (1.0 + 0x1.4p-22) * BF_DOUBLE_SLACK;
}

// Writes both offsets of a table, moved outward by a price: to[0], to[n].
BF_FUNCTION void bf_put_offsets(double upper, double lower, double price, ptrdiff_t n,
                                BF_GLOBAL float* to) {
  to[0] = bf_float_up(upper + price);
  to[n] = bf_float_down(lower - price);
}

// a' = z, for z in [low, high].
BF_FUNCTION bf_relaxation bf_relax_whole(double centre, double low, double high) {
  bf_relaxation made;
  made.slope_upper = 1.0f;
  made.slope_lower = 1.0f;
  made.centre = 0.5 * low + 0.5 * high;
  made.offset_upper = bf_sub_up(centre, made.centre);
  made.offset_lower = bf_sub_down(centre, made.centre);
  made.radius =
      bf_float_up(bf_larger_double(bf_sub_up(high, made.centre), bf_sub_up(made.centre, low)));
  return made;
}

// a' = z, for z in [low, high] that is within `below` below and `above` above of the centre. A box
// around its centre stays as it is.
BF_FUNCTION bf_relaxation bf_relax_identity(double centre, float below, float above, double low,
                                            double high) {
  if (!(bf_is_equal_float(below, above) && above >= 0.0f && above <= FLT_MAX))
    return bf_relax_whole(centre, low, high);
  const bf_relaxation made = {1.0f, 1.0f, 0.0, 0.0, centre, above};
  return made;
}

// The offset of the line above relu(z) with a slope in [0, 1], z in [low, high]. of: the centre of
// a'.
BF_FUNCTION double bf_upper_offset(double slope, double centre, double low, double high,
                                   double of) {
  const double at_low = bf_mul_up(slope, -low);
  const double at_high = bf_mul_up(bf_sub_up(1.0, slope), high);
  const double intercept = at_low > at_high ? at_low : at_high;
  return bf_sub_up(bf_add_up(bf_mul_up(slope, centre), intercept), of);
}

// a' = relu(z) for z in [low, high], low <= 0 <= high or either infinite.
BF_FUNCTION bf_relaxation bf_relax_unstable(double centre, double low, double high) {
  bf_relaxation made = {0.0f, 0.0f, BF_INFINITY_DOUBLE, 0.0, 0.0, BF_INFINITY};
  if (!(low >= -DBL_MAX && high <= DBL_MAX)) return made;
  made.slope_upper = bf_nearest_float(high / (high - low));
  made.slope_lower = high > -low ? 1.0f : 0.0f;
  made.centre = 0.5 * high;
  made.offset_upper = bf_upper_offset((double)made.slope_upper, centre, low, high, made.centre);
  made.offset_lower = bf_sub_down((double)made.slope_lower * centre, made.centre);
  made.radius = bf_float_up(high - made.centre);
  return made;
}

// a' = relu(z): identity, zero or unstable.
BF_FUNCTION bf_relaxation bf_relax_relu(double centre, double low, double high) {
  const bf_relaxation zero = {0.0f, 0.0f, 0.0, 0.0, 0.0, 0.0f};
  if (low >= 0.0 && high <= DBL_MAX) return bf_relax_whole(centre, low, high);
  return high <= 0.0 ? zero : bf_relax_unstable(centre, low, high);
}

// The arrays of a layer that relaxations read.
typedef struct bf_neurons_view {
  BF_GLOBAL const double* centre;
  BF_GLOBAL const float* below;
  BF_GLOBAL const float* above;
  BF_GLOBAL const float* radius;
} bf_neurons_view;

BF_FUNCTION double bf_reach_of_neuron(const bf_neurons_view* z, ptrdiff_t j) {
  const double b = bf_magnitude_double((double)z->below[j]);
  const double a = bf_magnitude_double((double)z->above[j]);
  return b > a ? b : a;
}

// Returns what neuron j gives to the sum of reaches.
BF_FUNCTION double bf_whole_reach(const bf_neurons_view* z, ptrdiff_t j, double inflate,
                                  double own) {
  return bf_reach_of_neuron(z, j) + (double)z->radius[j] * inflate + own;
}

// Writes one neuron's columns of a table of n neurons; what it pays: relax() in bf/core/relax.h.
// `inexact`: the largest slope with which products round.
BF_FUNCTION void bf_put_relaxation(int n, ptrdiff_t j, const bf_neurons_view* z,
                                   const bf_relax_errors* errors, double own,
                                   const bf_relaxation* line, double steep, double inexact,
                                   double offset, BF_GLOBAL float* table) {
  const double reach = bf_reach_of_neuron(z, j);
  const double spread = (double)z->radius[j] * errors->inflate;
  const bool flat = bf_is_zero(steep);
  const double product = flat ? 0.0 : steep * (errors->product * spread + own);
  const double wide = flat ? 0.0 : steep * (errors->wide * spread + own);
  const double slope = bf_is_zero(inexact) ? 0.0 : errors->slope * inexact * reach;
  const double common = slope + errors->offset * offset;
  const double stored = errors->stored * (double)line->radius;
  const double factor = bf_price_factor(errors->offset);
  const ptrdiff_t row = n;
  table[BF_SLOPE_UPPER * row + j] = line->slope_upper;
  table[BF_SLOPE_LOWER * row + j] = line->slope_lower;
  bf_put_offsets(line->offset_upper, line->offset_lower, (product + common) * factor, row,
                 table + BF_OFFSET_UPPER * row + j);
  bf_put_offsets(line->offset_upper, line->offset_lower, (wide + common + stored) * factor, row,
                 table + BF_WIDE_OFFSET_UPPER * row + j);
}

// bf_put_relaxation() of a line of a ReLU or of the identity.
BF_FUNCTION void bf_put_line(int n, ptrdiff_t j, const bf_neurons_view* z,
                             const bf_relax_errors* errors, double own, const bf_relaxation* line,
                             BF_GLOBAL float* table) {
  const double up = (double)line->slope_upper;
  const double down = (double)line->slope_lower;
  const double offset_up = bf_magnitude_double(line->offset_upper);
  const double offset_down = bf_magnitude_double(line->offset_lower);
  bf_put_relaxation(n, j, z, errors, own, line, up > down ? up : down,
                    bf_is_equal(up, down) ? 0.0 : up,
                    offset_up > offset_down ? offset_up : offset_down, table);
}

// The lines of neuron j with another centre of a': that of z, or 0 where a ReLU makes it 0.
BF_FUNCTION bf_relaxation bf_relax_point(bool relu, double centre, double low, double high) {
  bf_relaxation made = relu ? bf_relax_relu(centre, low, high) : bf_relax_whole(centre, low, high);
  if (relu && high <= 0.0) return made;
  made.centre = relu && !(centre > 0.0) ? 0.0 : centre;
  if (!relu || (low >= 0.0 && high <= DBL_MAX)) {
    made.offset_upper = bf_sub_up(centre, made.centre);
    made.offset_lower = bf_sub_down(centre, made.centre);
  } else {
    if (low >= -DBL_MAX && high <= DBL_MAX)
      made.offset_upper = bf_upper_offset((double)made.slope_upper, centre, low, high, made.centre);
    made.offset_lower = bf_sub_down((double)made.slope_lower * centre, made.centre);
  }
  made.radius = bf_float_up(bf_larger_double(
      bf_sub_up(high, made.centre), bf_sub_up(made.centre, relu && low < 0.0 ? 0.0 : low)));
  return made;
}

// The relaxation of neuron j of a ReLU or of the identity, with the centre of bf_relax_point()
// where at_point says so; table may be null.
BF_FUNCTION void bf_relax_neuron(int n, ptrdiff_t j, bool relu, bool at_point,
                                 const bf_neurons_view* z, const bf_relax_errors* errors,
                                 double own, BF_GLOBAL float* table, BF_GLOBAL double* centre_out,
                                 BF_GLOBAL float* radius_out) {
  const double low = bf_sub_down(z->centre[j], (double)z->below[j]);
  const double high = bf_add_up(z->centre[j], (double)z->above[j]);
  const bf_relaxation line =
      at_point ? bf_relax_point(relu, z->centre[j], low, high)
      : relu   ? bf_relax_relu(z->centre[j], low, high)
               : bf_relax_identity(z->centre[j], z->below[j], z->above[j], low, high);
  if (table != NULL) bf_put_line(n, j, z, errors, own, &line, table);
  centre_out[j] = line.centre;
  radius_out[j] = line.radius;
}

// The underflow that backward rows through a layer of n neurons may cost, from their reaches.
BF_FUNCTION void bf_put_underflow(int n, double reach, BF_GLOBAL double* slack) {
  slack[BF_UNDERFLOW_SLACK] =
      ((double)n * (1.0 + slack[BF_RADIUS_SLACK]) + reach) * (1.0 + 0x1p-20);
}

#if BF_ITEMS > 1

// bf_sum_of_reaches() of C, of which items make the parts.
BF_FUNCTION double bf_sum_of_reaches(int n, const bf_neurons_view* z, double inflate,
                                     BF_GLOBAL const double* row, BF_LOCAL bf_team* team) {
  double reach = 0.0;
  BF_EACH (s, BF_PARTIAL_SUMS) {
    double sum = 0.0;
    for (int j = s; j < n; j += BF_PARTIAL_SUMS)
      sum += bf_whole_reach(z, j, inflate, row == NULL ? 0.0 : row[j]);
    team->sums[s] = sum;
  }
  BF_BARRIER;
  for (int s = 0; s < BF_PARTIAL_SUMS; ++s) reach += team->sums[s];
  return reach;
}

#else

// The sum of the reaches of n neurons, in partial sums.
BF_FUNCTION double bf_sum_of_reaches(int n, const bf_neurons_view* z, double inflate,
                                     BF_GLOBAL const double* row) {
  double reach[BF_PARTIAL_SUMS] = {0.0};
  for (int j = 0; j < n; ++j)
    reach[j % BF_PARTIAL_SUMS] += bf_whole_reach(z, j, inflate, row == NULL ? 0.0 : row[j]);
  for (int s = 1; s < BF_PARTIAL_SUMS; ++s) reach[0] += reach[s];
  return reach[0];
}

#endif

// bf_relax() or, where at_points says so, bf_relax_at_points().
BF_FUNCTION void bf_relax_layer(int n, bool relu, bool at_points, const bf_neurons_view* z,
                                const bf_relax_errors* errors, BF_GLOBAL double* slack,
                                BF_GLOBAL const double* row, BF_GLOBAL float* table,
                                BF_GLOBAL double* centre_out, BF_GLOBAL float* radius_out BF_TEAM) {
  if (table != NULL) {
    const double reach = bf_sum_of_reaches(n, z, errors->inflate, row BF_OF_TEAM);
    BF_ONCE bf_put_underflow(n, reach, slack);
  }
  BF_BARRIER;
  BF_EACH (j, n)
    bf_relax_neuron(n, j, relu, at_points, z, errors, row == NULL ? 0.0 : row[j], table, centre_out,
                    radius_out);
}

// The relaxation of a layer of n neurons, and the centre and radius of its activations. Without a
// table `radius`, `slack` and `row` are not touched. centre_out may be centre; radius_out may be
// below, above or radius: reaches are summed before those are written.
BF_FUNCTION void bf_relax(int n, bool relu, BF_GLOBAL const double* centre,
                          BF_GLOBAL const float* below, BF_GLOBAL const float* above,
                          BF_GLOBAL const float* radius, const bf_relax_errors* errors,
                          BF_GLOBAL double* slack, BF_GLOBAL const double* row,
                          BF_GLOBAL float* table, BF_GLOBAL double* centre_out,
                          BF_GLOBAL float* radius_out BF_TEAM) {
  const bf_neurons_view z = {centre, below, above, radius};
  bf_relax_layer(n, relu, false, &z, errors, slack, row, table, centre_out, radius_out BF_OF_TEAM);
}

// bf_relax() with the centres of bf_relax_point().
BF_FUNCTION void bf_relax_at_points(int n, bool relu, BF_GLOBAL const double* centre,
                                    BF_GLOBAL const float* below, BF_GLOBAL const float* above,
                                    BF_GLOBAL const float* radius, const bf_relax_errors* errors,
                                    BF_GLOBAL double* slack, BF_GLOBAL const double* row,
                                    BF_GLOBAL float* table, BF_GLOBAL double* centre_out,
                                    BF_GLOBAL float* radius_out BF_TEAM) {
  const bf_neurons_view z = {centre, below, above, radius};
  bf_relax_layer(n, relu, true, &z, errors, slack, row, table, centre_out, radius_out BF_OF_TEAM);
}

// The boxes of a' = relu(z) or a' = z alone.
BF_FUNCTION void bf_relax_box(int n, bool relu, BF_GLOBAL const double* centre,
                              BF_GLOBAL const float* below, BF_GLOBAL const float* above,
                              BF_GLOBAL double* centre_out, BF_GLOBAL float* radius_out) {
  const bf_relax_errors errors = {0.0, 0.0, 0.0, 0.0, 0.0, 0.0};
  const bf_neurons_view z = {centre, below, above, below};
  BF_EACH (j, n) bf_relax_neuron(n, j, relu, false, &z, &errors, 0.0, NULL, centre_out, radius_out);
}
