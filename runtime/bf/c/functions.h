#pragma once

#include "bf/c/function_steps.h"
#include "bf/c/relax.h"

// Layers of elementwise functions: bf/functions/functions.h in C99. The proof that tables bound
// functions: docs/proofs/functions.md.

// The part of [low, high] that the argument can lie in, with what bounds and lines read of it.
BF_FUNCTION bf_function_ends bf_ends_of(BF_CONSTANT const bf_function* f, double low, double high) {
  return bf_is_staircase(f) ? bf_argument_ends(f, low, high) : bf_ends_in_runs(f, low, high);
}

// f over the interval of the ends.
BF_FUNCTION bf_range bf_bound_over(BF_CONSTANT const bf_function* f, const bf_function_ends* ends) {
  return bf_is_staircase(f) ? bf_bound_staircase(f, ends->low, ends->high)
                            : bf_bound_between(f, ends);
}

// The centre and the radius of values of one sign from `near` to `far`.
BF_FUNCTION void bf_put_magnitudes(double near, double far, double sign, bf_relaxation* made) {
  const double half = 0.5 * bf_exact_sum_up(far, -near);
  float reach = bf_nearest_float(half);
  if (!bf_is_equal((double)reach, half) ||
      !bf_is_equal(bf_exact_sum_up(near, half), bf_exact_sum_down(near, half)))
    reach = bf_float_up(half + 0x1p-51 * far);
  made->radius = reach;
  made->centre = sign * bf_exact_sum_down(near, (double)reach);
}

// bf/functions/bind_near.h: bf_bind_double(), but that the end nearer to 0 is exact.
BF_FUNCTION void bf_bind_near(BF_GLOBAL const float* lower, BF_GLOBAL const float* upper, int n,
                              BF_GLOBAL double* centre, BF_GLOBAL float* radius) {
  BF_EACH (i, n) {
    const double l = (double)lower[i];
    const double h = (double)upper[i];
    if (l < 0.0 && h > 0.0) {
      bf_bind_one(l, h, &centre[i], &radius[i]);
    } else {
      bf_relaxation made = {0.0f, 0.0f, 0.0, 0.0, 0.0, 0.0f};
      if (l >= 0.0)
        bf_put_magnitudes(l, h, 1.0, &made);
      else
        bf_put_magnitudes(-h, -l, -1.0, &made);
      centre[i] = made.centre;
      radius[i] = made.radius;
    }
  }
}

// The centre and the radius of a function's values.
BF_FUNCTION void bf_put_range(const bf_range* range, bf_relaxation* made) {
  const double size_low = bf_magnitude_double(range->low);
  const double size_high = bf_magnitude_double(range->high);
  const double near = size_low < size_high ? size_low : size_high;
  const double far = size_low < size_high ? size_high : size_low;
  const double most = (double)FLT_MAX;
  const bool of_one_sign = range->low >= 0.0 || range->high <= 0.0;
  if (of_one_sign && near <= 0.25 * far && far >= 0x1p-1000 && far <= 0.5 * most) {
    bf_put_magnitudes(near, far, range->low >= 0.0 ? 1.0 : -1.0, made);
    return;
  }
  const bool finite = size_low <= most && size_high <= most;
  made->centre = finite ? 0.5 * range->low + 0.5 * range->high : 0.0;
  const double up = bf_exact_sum_up(range->high, -made->centre);
  const double down = bf_exact_sum_up(made->centre, -range->low);
  made->radius = bf_float_up(up > down ? up : down);
}

// Lines of slope 0.
BF_FUNCTION bf_relaxation bf_relax_constant(const bf_range* range) {
  bf_relaxation made = {0.0f, 0.0f, 0.0, 0.0, 0.0, 0.0f};
  bf_put_range(range, &made);
  made.offset_upper = bf_exact_sum_up(range->high, -made.centre);
  made.offset_lower = bf_exact_sum_down(range->low, -made.centre);
  return made;
}

// The line over f (side 1), or over -f (side -1), which `constant` bounds. radius: of the values.
BF_FUNCTION bf_function_line bf_line_of_side(BF_CONSTANT const bf_function* f,
                                             const bf_function_ends* ends, double centre,
                                             float radius, int side, double constant) {
  const double most = (double)FLT_MAX;
  if (!(constant >= -most && constant <= most)) return bf_line(0.0f, constant);
  if (bf_is_staircase(f)) return bf_line_over_steps(f, ends, centre, side, constant, 0.5);
  return radius <= FLT_MAX ? bf_line_over(f, ends, centre, side, constant, 0.5)
                           : bf_line_at_end(f, ends, centre, side, constant);
}

// a' = f(z) for z in [low, high]; `centre` is that of z.
BF_FUNCTION bf_relaxation bf_relax_by_table(BF_CONSTANT const bf_function* f, double centre,
                                            double low, double high) {
  const bf_function_ends ends = bf_ends_of(f, low, high);
  const bf_range range = bf_bound_over(f, &ends);
  bf_relaxation made = bf_relax_constant(&range);
  const bool finite = ends.low >= -DBL_MAX && ends.high <= DBL_MAX;
  if (!finite || !(low < high) || !(ends.low < ends.high)) return made;
  const bf_function_line upper = bf_line_of_side(f, &ends, centre, made.radius, 1, range.high);
  const bf_function_line lower = bf_line_of_side(f, &ends, centre, made.radius, -1, -range.low);
  made.slope_upper = upper.slope;
  made.offset_upper = bf_exact_sum_up(upper.top, -made.centre);
  made.slope_lower = -lower.slope;
  made.offset_lower = bf_exact_sum_down(-lower.top, -made.centre);
  return made;
}

// Returns true if it matters whether the argument reaches an end of its interval.
BF_FUNCTION bool bf_needs_exact_ends(BF_CONSTANT const bf_function* f) {
  return f->wave || f->form != BF_FORM_CELLS || f->degree <= 1 || f->run[0].kind == BF_RUN_UNKNOWN;
}

// The interval of a neuron; its ends are rounded outward unless they are exact and that matters.
BF_FUNCTION bf_range bf_interval_of_neuron(BF_CONSTANT const bf_function* f, double centre,
                                           float below, float above) {
  const double down = (double)below;
  const double up = (double)above;
  const bool exact = bf_needs_exact_ends(f);
  const bf_range made = {exact ? bf_exact_sum_down(centre, -down) : bf_sub_down(centre, down),
                         exact ? bf_exact_sum_up(centre, up) : bf_add_up(centre, up)};
  return made;
}

// The magnitude of an offset; 0 where it is infinite and needs no price.
BF_FUNCTION double bf_offset_size(double offset) {
  const double size = bf_magnitude_double(offset);
  return size <= DBL_MAX ? size : 0.0;
}

BF_FUNCTION double bf_steepness(float slope) {
  return bf_magnitude_double((double)slope);
}

// The magnitude of a slope with which products round; 0 of those that multiply exactly.
BF_FUNCTION double bf_inexact_steepness(float slope) {
  const double steep = bf_steepness(slope);
  return bf_is_equal(steep, 1.0) ? 0.0 : steep;
}

// The relaxation of neuron j with a table.
BF_FUNCTION void bf_relax_neuron_by_table(int n, int j, BF_CONSTANT const bf_function* f,
                                          const bf_neurons_view* z, const bf_relax_errors* errors,
                                          double own, BF_GLOBAL float* table,
                                          BF_GLOBAL double* centre_out,
                                          BF_GLOBAL float* radius_out) {
  const bf_range interval = bf_interval_of_neuron(f, z->centre[j], z->below[j], z->above[j]);
  const bf_relaxation line = bf_relax_by_table(f, z->centre[j], interval.low, interval.high);
  const double up = bf_steepness(line.slope_upper);
  const double down = bf_steepness(line.slope_lower);
  const double inexact_up = bf_inexact_steepness(line.slope_upper);
  const double inexact_down = bf_inexact_steepness(line.slope_lower);
  const double offset_up = bf_offset_size(line.offset_upper);
  const double offset_down = bf_offset_size(line.offset_lower);
  bf_put_relaxation(n, j, z, errors, own, &line, up > down ? up : down,
                    inexact_up > inexact_down ? inexact_up : inexact_down,
                    offset_up > offset_down ? offset_up : offset_down, table);
  centre_out[j] = line.centre;
  radius_out[j] = line.radius;
}

// bf_relax() for a function. Without a table only the centres and radii are made, and `radius`,
// `slack` and `row` are not touched.
BF_FUNCTION void bf_relax_function(int n, BF_CONSTANT const bf_function* f,
                                   BF_GLOBAL const double* centre, BF_GLOBAL const float* below,
                                   BF_GLOBAL const float* above, BF_GLOBAL const float* radius,
                                   const bf_relax_errors* errors, BF_GLOBAL double* slack,
                                   BF_GLOBAL const double* row, BF_GLOBAL float* table,
                                   BF_GLOBAL double* centre_out, BF_GLOBAL float* radius_out) {
  const bf_neurons_view z = {centre, below, above, radius};
  BF_ONCE if (table != NULL) {
    double reach = 0.0;
    for (int j = 0; j < n; ++j) reach += bf_whole_reach(&z, j, errors->inflate, row[j]);
    bf_put_underflow(n, reach, slack);
  }
  BF_BARRIER;
  BF_EACH (j, n) {
    if (table != NULL) {
      bf_relax_neuron_by_table(n, j, f, &z, errors, row[j], table, centre_out, radius_out);
      continue;
    }
    const bf_range interval = bf_interval_of_neuron(f, centre[j], below[j], above[j]);
    const bf_function_ends ends = bf_ends_of(f, interval.low, interval.high);
    const bf_range range = bf_bound_over(f, &ends);
    const bf_relaxation bounds = bf_relax_constant(&range);
    centre_out[j] = bounds.centre;
    radius_out[j] = bounds.radius;
  }
}

// Returns true if a tighter interval may improve the relaxation of neuron j.
BF_FUNCTION bool bf_is_inexact(BF_CONSTANT const bf_function* f, BF_GLOBAL const double* centre,
                               BF_GLOBAL const float* below, BF_GLOBAL const float* above, int j) {
  const bf_range z = bf_interval_of_neuron(f, centre[j], below[j], above[j]);
  if (!(z.low < z.high)) return false;
  if (f->wave) return true;
  if (bf_is_staircase(f)) {
    const bf_function_ends ends = bf_argument_ends(f, z.low, z.high);
    return bf_has_step(f, ends.low, ends.high);
  }
  const int run = bf_find_run(f, z.low);
  return f->run[run].kind != BF_RUN_LINE || run != bf_find_run(f, z.high);
}

#if BF_ITEMS > 1

BF_FUNCTION int bf_list_inexact(BF_CONSTANT const bf_function* f, BF_GLOBAL const double* centre,
                                BF_GLOBAL const float* below, BF_GLOBAL const float* above, int n,
                                BF_GLOBAL int32_t* neurons, BF_LOCAL bf_team* team) {
  const int begin = bf_first_unit(BF_ITEM, n);
  const int end = bf_first_unit(BF_ITEM + 1, n);
  int own = 0;
  for (int j = begin; j < end; ++j) own += bf_is_inexact(f, centre, below, above, j) ? 1 : 0;
  const bf_counts counts = bf_count_together(own, team);
  int place = counts.before;
  for (int j = begin; j < end; ++j)
    if (bf_is_inexact(f, centre, below, above, j)) {
      neurons[place] = (int32_t)j;
      ++place;
    }
  return counts.all;
}

#else

// Lists the neurons that bf_is_inexact() accepts, in order; returns their number.
BF_FUNCTION int bf_list_inexact(BF_CONSTANT const bf_function* f, BF_GLOBAL const double* centre,
                                BF_GLOBAL const float* below, BF_GLOBAL const float* above, int n,
                                BF_GLOBAL int32_t* neurons) {
  int count = 0;
  for (int j = 0; j < n; ++j) {
    if (!bf_is_inexact(f, centre, below, above, j)) continue;
    neurons[count] = (int32_t)j;
    ++count;
  }
  return count;
}

#endif
