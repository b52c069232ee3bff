#pragma once

#include "bf/c/function_table.h"

// Linear relaxations of a function by its table: bf/functions/function_lines.h in C99, with its
// proofs. Side 1 is over f, side -1 over -f; g is that function.

// Slopes beyond this are not used.
#define BF_MAX_SLOPE 0x1p100f

typedef struct bf_range {
  double low;
  double high;
} bf_range;

// f at the ends of [low, high], and the runs that they lie in. Of a wave the interval may be
// turned.
typedef struct bf_function_ends {
  double low;
  double high;
  int first;
  int last;
  bf_function_point at_low;
  bf_function_point at_high;
  bool turned;
  double from;
  double angle;
} bf_function_ends;

// The part of [low, high] that the argument can lie in. NaN stays.
BF_FUNCTION bf_function_ends bf_argument_ends(BF_CONSTANT const bf_function* f, double low,
                                              double high) {
  bf_function_ends made;
  made.low = low < f->least ? f->least : low;
  made.high = high > f->most ? f->most : high;
  made.first = 0;
  made.last = 0;
  made.at_low = bf_point(0.0, 0.0, 0.0, 0.0);
  made.at_high = made.at_low;
  made.turned = false;
  made.from = 0.0;
  made.angle = 0.0;
  return made;
}

// Turns an interval of a wave that its table does not cover.
BF_FUNCTION void bf_turn_ends(BF_CONSTANT const bf_function* f, bf_function_ends* ends) {
  const double low = ends->low;
  const double width = bf_sub_up(ends->high, low);
  const double reach = f->run[f->runs - 1].start;
  const bool covered = low >= -reach && ends->high <= reach;
  if (covered || !(width < BF_WIDEST_WAVE) || !(bf_magnitude_double(low) >= 1.0)) return;
  ends->turned = true;
  ends->from = low;
  ends->angle = bf_wave_angle(low);
  ends->low = bf_sub_down(ends->angle, BF_ANGLE_ERROR);
  ends->high = bf_add_up(bf_add_up(ends->angle, BF_ANGLE_ERROR), width);
}

BF_FUNCTION bool bf_is_pole(BF_CONSTANT const bf_function* f, const bf_function_ends* ends, int run,
                            double x) {
  return f->run[run].kind == BF_RUN_UNKNOWN && bf_is_equal(f->run[run].start, x) &&
         ends->low < ends->high;
}

BF_FUNCTION bf_function_ends bf_ends_in_runs(BF_CONSTANT const bf_function* f, double low,
                                             double high) {
  bf_function_ends ends = bf_argument_ends(f, low, high);
  if (f->wave) bf_turn_ends(f, &ends);
  ends.first = bf_find_run(f, ends.low);
  ends.last = bf_find_run(f, ends.high);
  if (bf_is_pole(f, &ends, ends.first, ends.low) && ends.first + 1 < f->runs &&
      bf_is_equal(f->run[ends.first + 1].start, ends.low))
    ++ends.first;
  if (bf_is_pole(f, &ends, ends.last, ends.high) && ends.last > ends.first) --ends.last;
  ends.at_low = bf_function_at(f, ends.first, ends.low);
  ends.at_high = bf_function_at(f, ends.last, ends.high);
  return ends;
}

// A line's centre, where an interval was turned.
typedef struct bf_line_centre {
  double at;
  double error;
} bf_line_centre;

BF_FUNCTION bf_line_centre bf_centre_of_line(const bf_function_ends* ends, double c) {
  bf_line_centre made = {c, 0.0};
  if (!ends->turned) return made;
  const double distance = c - ends->from;
  made.at = ends->angle + distance;
  made.error = BF_ANGLE_ERROR + 0x1p-51 * (bf_magnitude_double(distance) + 4.0);
  return made;
}

// Returns `top`, raised by what a line of slope s may lose to its centre's error.
BF_FUNCTION double bf_add_centre_error(double top, double s, const bf_line_centre* centre) {
  if (bf_is_zero(centre->error) || bf_is_zero(s)) return top;
  return bf_add_up(top, bf_mul_up(bf_magnitude_double(s), centre->error));
}

// A line s (x - c) + top over g.
typedef struct bf_function_line {
  float slope;
  double top;
} bf_function_line;

BF_FUNCTION bf_function_line bf_line(float slope, double top) {
  const bf_function_line made = {slope, top};
  return made;
}

BF_FUNCTION double bf_top_of(const bf_function_point* at, int side) {
  return side > 0 ? at->high : -at->low;
}

// y - s (x - c), rounded up.
BF_FUNCTION double bf_minus_line(double y, double s, double x, double c) {
  if (bf_is_zero(s)) return y;
  return bf_sub_up(y, bf_mul_down(s, s > 0.0 ? bf_sub_down(x, c) : bf_sub_up(x, c)));
}

BF_FUNCTION bool bf_is_concave(BF_CONSTANT const bf_function_run* run, int side) {
  return run->kind == (side > 0 ? BF_RUN_CONCAVE : BF_RUN_CONVEX);
}

// sup (g(x) - s (x - c)) over [a, b] in a run in which g is concave, at p in [a, b], from above.
BF_FUNCTION double bf_tangent_top(const bf_function_point* at, double p, double s, double a,
                                  double b, double c, int side) {
  const double d = side > 0 ? at->slope : -at->slope;
  const double right_rate = bf_add_up(bf_sub_up(d, s), at->slope_error);
  const double left_rate = bf_add_up(bf_sub_up(s, d), at->slope_error);
  const double right = right_rate > 0.0 ? bf_mul_up(right_rate, bf_sub_up(b, p)) : 0.0;
  const double left = left_rate > 0.0 ? bf_mul_up(left_rate, bf_sub_up(p, a)) : 0.0;
  return bf_add_up(bf_minus_line(bf_top_of(at, side), s, p, c), right > left ? right : left);
}

typedef struct bf_cell_slope {
  double slope;
  double curvature;
} bf_cell_slope;

// p' and p'' at x, rounded somehow.
BF_FUNCTION bf_cell_slope bf_slope_in_cell(BF_CONSTANT const bf_function* f, int cell, double x) {
  BF_CONSTANT const double* const c = bf_cell_coefficients(f, cell);
  const double t = x - f->start[cell];
  bf_cell_slope made = {0.0, 0.0};
  for (int k = f->degree; k > 0; --k) {
    made.curvature = made.curvature * t + made.slope;
    made.slope = made.slope * t + c[k] * (double)k;
  }
  return made;
}

// A bracket of the point where g' is s: the ends, and what g' is more than s there.
typedef struct bf_bracket {
  double left;
  double right;
  double at_left;
  double at_right;
} bf_bracket;

// Newton's method within the bracket of a cell.
BF_FUNCTION double bf_newton_in_cell(BF_CONSTANT const bf_function* f, double s, int cell,
                                     double sign, double tolerance, const bf_bracket* bracket) {
  const double fall = bracket->at_left - bracket->at_right;
  const double enough = tolerance * fall;
  double left = bracket->left;
  double right = bracket->right;
  double x = left + (right - left) * (bracket->at_left / fall);
  if (!(x > left && x < right)) x = 0.5 * left + 0.5 * right;
  for (int i = 0; i < 8; ++i) {
    const bf_cell_slope at = bf_slope_in_cell(f, cell, x);
    const double miss = sign * at.slope - s;
    if (bf_magnitude_double(miss) <= enough) break;
    if (miss > 0.0)
      left = x;
    else
      right = x;
    x -= miss / (sign * at.curvature);
    if (!(x > left && x < right)) x = 0.5 * left + 0.5 * right;
  }
  return x;
}

// The point of a run, in which g is concave, where g' is near s, in [a, b] in the cells from
// `first` to `last`; or the end next to it. It lies in the cell `found`.
BF_FUNCTION double bf_find_slope_in_cells(BF_CONSTANT const bf_function* f, double s, double a,
                                          double b, int first, int last, int side, double tolerance,
                                          int* found) {
  BF_CONSTANT const double* const steepness = f->coefficient + 1;
  const ptrdiff_t stride = f->degree + 1;
  const double sign = side > 0 ? 1.0 : -1.0;
  int cell = first;
  for (int count = last - first + 1; count > 1;) {
    const int half = count / 2;
    cell += sign * steepness[(cell + half) * stride] >= s ? half : 0;
    count -= half;
  }
  *found = cell;
  bf_bracket bracket;
  bracket.left = f->start[cell];
  bracket.at_left = sign * steepness[cell * stride] - s;
  bracket.right = f->start[cell + 1];
  bracket.at_right = cell < last ? sign * steepness[(cell + 1) * stride] - s : 0.0;
  if (bracket.left < a) {
    bracket.left = a;
    bracket.at_left = sign * bf_slope_in_cell(f, cell, a).slope - s;
  }
  if (cell == last) {
    bracket.right = bracket.right < b ? bracket.right : b;
    bracket.at_right = sign * bf_slope_in_cell(f, cell, bracket.right).slope - s;
  }
  if (!(bracket.at_left > 0.0)) return bracket.left;
  if (!(bracket.at_right < 0.0)) return bracket.right;
  return bf_newton_in_cell(f, s, cell, sign, tolerance, &bracket);
}

// bf_find_slope_in_cells() for functions without cells, by bisection.
BF_FUNCTION double bf_find_slope(BF_CONSTANT const bf_function* f, int run, double s, double a,
                                 double b, int side, double tolerance) {
  const double sign = side > 0 ? 1.0 : -1.0;
  const double at_a = sign * bf_function_at(f, run, a).slope - s;
  const double at_b = sign * bf_function_at(f, run, b).slope - s;
  if (!(at_a > 0.0)) return a;
  if (!(at_b < 0.0)) return b;
  double left = a;
  double right = b;
  double enough = 0.0;
  double x = a;
  for (int i = 0; i < 64; ++i) {
    x = 0.5 * left + 0.5 * right;
    const double slope = sign * bf_function_at(f, run, x).slope;
    const double at = slope - s;
    if (i == 0) {
      const double most = 2.0 * (bf_magnitude_double(slope) + bf_magnitude_double(s));
      enough = tolerance * ((at_a < most ? at_a : most) + (-at_b < most ? -at_b : most));
    }
    if (bf_magnitude_double(at) <= enough) break;
    if (at > 0.0)
      left = x;
    else
      right = x;
  }
  return x;
}

// At least g(x) - s (x - c) everywhere, about where that is largest, and about g there.
typedef struct bf_function_peak {
  double top;
  double at;
  double value;
} bf_function_peak;

// known_run: the run that has its peak at `known`, or -1.
typedef struct bf_peak_search {
  double s;
  double c;
  int side;
  double tolerance;
  int known_run;
  double known;
  bf_function_point known_point;
} bf_peak_search;

BF_FUNCTION bf_peak_search bf_search_for(float s, double c, int side, double tolerance) {
  const bf_peak_search made = {
      (double)s, c, side, tolerance, -1, 0.0, bf_point(0.0, 0.0, 0.0, 0.0)};
  return made;
}

// A run r of f where it meets the interval: [a, b].
typedef struct bf_run_part {
  int r;
  double a;
  double b;
} bf_run_part;

BF_FUNCTION void bf_take_higher(const bf_function_peak* other, bf_function_peak* peak) {
  if (other->top > peak->top) *peak = *other;
}

// The peak over a part in which g is concave.
BF_FUNCTION bf_function_peak bf_concave_peak(BF_CONSTANT const bf_function* f,
                                             const bf_function_ends* ends,
                                             const bf_peak_search* search,
                                             const bf_run_part* part) {
  BF_CONSTANT const bf_function_run* const run = &f->run[part->r];
  double p = search->known;
  bf_function_point at = search->known_point;
  if (part->r != search->known_run && f->cells > 0 && run->cells > 0) {
    const int first = part->r == ends->first ? ends->at_low.cell : run->cell;
    const int last = part->r == ends->last ? ends->at_high.cell : run->cell + run->cells - 1;
    int cell = 0;
    p = bf_find_slope_in_cells(f, search->s, part->a, part->b, first, last, search->side,
                               search->tolerance, &cell);
    at = bf_cell_point(f, cell, p);
  } else if (part->r != search->known_run) {
    p = bf_find_slope(f, part->r, search->s, part->a, part->b, search->side, search->tolerance);
    at = bf_function_at(f, part->r, p);
  }
  const bf_function_peak made = {
      bf_tangent_top(&at, p, search->s, part->a, part->b, search->c, search->side), p,
      bf_top_of(&at, search->side)};
  return made;
}

// Takes the value at an end of a part, which a mixed g exceeds between ends by the slack.
BF_FUNCTION void bf_take_end(const bf_peak_search* search, double slack, double value, double x,
                             bf_function_peak* peak) {
  const double over = bf_minus_line(value, search->s, x, search->c);
  const bf_function_peak made = {bf_is_zero(slack) ? over : bf_add_up(over, slack), x, value};
  bf_take_higher(&made, peak);
}

// Takes the peak over a part in which g is convex, a line or mixed.
BF_FUNCTION void bf_take_part(BF_CONSTANT const bf_function* f, const bf_function_ends* ends,
                              const bf_peak_search* search, const bf_run_part* part,
                              bf_function_peak* peak) {
  BF_CONSTANT const bf_function_run* const run = &f->run[part->r];
  const int side = search->side;
  const double slack = run->kind == BF_RUN_MIXED ? run->slack : 0.0;
  const double inner_a = side > 0 ? run->start_high : -run->start_low;
  const double inner_b = side > 0 ? run->end_high : -run->end_low;
  bf_take_end(search, slack, part->r == ends->first ? bf_top_of(&ends->at_low, side) : inner_a,
              part->a, peak);
  bf_take_end(search, slack, part->r == ends->last ? bf_top_of(&ends->at_high, side) : inner_b,
              part->b, peak);
}

// sup (g(x) - s (x - c)) over the interval, from above, run by run.
BF_FUNCTION bf_function_peak bf_peak_over(BF_CONSTANT const bf_function* f,
                                          const bf_function_ends* ends,
                                          const bf_peak_search* search) {
  bf_function_peak peak = {-BF_INFINITY_DOUBLE, ends->low, 0.0};
  for (int r = ends->first; r <= ends->last; ++r) {
    const bf_run_part part = {r, r == ends->first ? ends->low : f->run[r].start,
                              r == ends->last ? ends->high : f->run[r + 1].start};
    if (bf_is_concave(&f->run[r], search->side)) {
      const bf_function_peak made = bf_concave_peak(f, ends, search, &part);
      bf_take_higher(&made, &peak);
    } else {
      bf_take_part(f, ends, search, &part, &peak);
    }
  }
  return peak;
}

BF_FUNCTION void bf_hold(double low, double high, bf_range* range) {
  if (low < range->low) range->low = low;
  if (high > range->high) range->high = high;
}

// Both bounds of a function that turns, run by run.
BF_FUNCTION bf_range bf_bound_by_turns(BF_CONSTANT const bf_function* f,
                                       const bf_function_ends* ends) {
  bf_range range = {BF_INFINITY_DOUBLE, -BF_INFINITY_DOUBLE};
  for (int r = ends->first; r <= ends->last; ++r) {
    BF_CONSTANT const bf_function_run* const run = &f->run[r];
    const bool from_low = r == ends->first;
    const bool to_high = r == ends->last;
    bf_range part = {from_low ? ends->at_low.low : run->start_low,
                     from_low ? ends->at_low.high : run->start_high};
    bf_hold(to_high ? ends->at_high.low : run->end_low,
            to_high ? ends->at_high.high : run->end_high, &part);
    const bool before = to_high && ends->high <= run->turn_from;
    const bool behind = from_low && ends->low >= run->turn_to;
    const bool turns = run->turn_from <= run->turn_to && !before && !behind;
    if (turns && run->kind == BF_RUN_CONVEX && run->turn < part.low) part.low = run->turn;
    if (turns && run->kind == BF_RUN_CONCAVE && run->turn > part.high) part.high = run->turn;
    if (run->kind == BF_RUN_MIXED) {
      part.low = bf_sub_down(part.low, run->slack);
      part.high = bf_add_up(part.high, run->slack);
    }
    bf_hold(part.low, part.high, &range);
  }
  return range;
}

// x^n, n even or negative.
BF_FUNCTION bf_range bf_bound_monomial(BF_CONSTANT const bf_function* f,
                                       const bf_function_ends* ends) {
  const bf_function_point* const left = &ends->at_low;
  const bf_function_point* const right = &ends->at_high;
  bf_range made = {left->low < right->low ? left->low : right->low,
                   left->high > right->high ? left->high : right->high};
  if (f->exponent < 0 && ends->first != ends->last) {
    made.low = f->exponent % 2 == 0 ? made.low : -BF_INFINITY_DOUBLE;
    made.high = BF_INFINITY_DOUBLE;
  } else if (f->exponent > 0 && ends->low <= 0.0 && ends->high >= 0.0) {
    made.low = 0.0;
  }
  return made;
}

BF_FUNCTION bool bf_is_unknown_point(const bf_function_point* at) {
  return at->low < -DBL_MAX && at->high > DBL_MAX;
}

// f over the interval: at the ends where it is monotone, else also where it turns.
BF_FUNCTION bf_range bf_bound_between(BF_CONSTANT const bf_function* f,
                                      const bf_function_ends* ends) {
  const bf_function_point* const left = &ends->at_low;
  const bf_function_point* const right = &ends->at_high;
  bf_range made = {-BF_INFINITY_DOUBLE, BF_INFINITY_DOUBLE};
  if (bf_is_unknown_point(left) || bf_is_unknown_point(right)) return made;
  if (f->monotone != 0) {
    made.low = f->monotone > 0 ? left->low : right->low;
    made.high = f->monotone > 0 ? right->high : left->high;
    return made;
  }
  if (bf_is_equal(ends->low, ends->high)) {
    made.low = left->low;
    made.high = left->high;
    return made;
  }
  if (f->form == BF_FORM_MONOMIAL) return bf_bound_monomial(f, ends);
  return bf_bound_by_turns(f, ends);
}

// Points of g's graph on both sides of the middle of an interval, and the chord between them.
typedef struct bf_chord {
  double left;
  double left_value;
  double right;
  double right_value;
} bf_chord;

// The peak for the end on its side; false where that gains nothing.
BF_FUNCTION bool bf_move_end(const bf_function_peak* peak, double middle, bool first,
                             bf_chord* chord) {
  const bool to_right = peak->at > middle;
  const double end = to_right ? chord->right : chord->left;
  if ((bf_is_equal(peak->at, end) && !first) || bf_is_equal(peak->at, middle)) return false;
  if (to_right) {
    chord->right = peak->at;
    chord->right_value = peak->value;
  } else {
    chord->left = peak->at;
    chord->left_value = peak->value;
  }
  return true;
}

// The state of bf_line_over(): the point that the line is to be low at, and the best line so far.
typedef struct bf_line_search {
  double middle;
  double width;
  double value;     // of g at the middle
  double straight;  // of the first chord there
  bool tangent;     // the next slope is that of a tangent
  bf_chord chord;
  bf_function_line best;
  double best_height;
} bf_line_search;

// One step with a slope: takes a lower line, and moves the chord; false where the line is good
// enough.
BF_FUNCTION bool bf_improve_line(BF_CONSTANT const bf_function* f, const bf_function_ends* ends,
                                 const bf_peak_search* search, float s,
                                 const bf_line_centre* origin, bool first, bf_line_search* line) {
  const bf_function_peak peak = bf_peak_over(f, ends, search);
  const double top = bf_add_centre_error(peak.top, search->s, origin);
  const double height = top + search->s * (line->middle - origin->at);
  if (height < line->best_height) {
    line->best_height = height;
    line->best = bf_line(s, top);
  }
  const double hull = line->tangent
                          ? line->value
                          : line->chord.left_value + search->s * (line->middle - line->chord.left);
  const double gap = line->tangent ? line->value - line->straight : height - line->value;
  const double noise = 0x1p-23 * bf_magnitude_double(search->s) * line->width;
  if (!(height - hull > 0x1p-10 * gap + noise)) return false;
  line->tangent = false;
  return bf_move_end(&peak, line->middle, first, &line->chord);
}

// The line over g that is lowest at the point that divides [low, high] as `share` does. `constant`
// is a bound of g: the line to fall back on.
BF_FUNCTION bf_function_line bf_line_over(BF_CONSTANT const bf_function* f,
                                          const bf_function_ends* ends, double c, int side,
                                          double constant, double share) {
  const double middle = (1.0 - share) * ends->low + share * ends->high;
  const int run = bf_find_run(f, middle);
  const bool concave = bf_is_concave(&f->run[run], side);
  const bf_function_point at = bf_function_at(f, run, middle);
  const bf_line_centre origin = bf_centre_of_line(ends, c);
  bf_peak_search search = bf_search_for(0.0f, origin.at, side, 0x1p-14);
  search.known = middle;
  search.known_point = at;
  bf_line_search line;
  line.chord.left = ends->low;
  line.chord.left_value = bf_top_of(&ends->at_low, side);
  line.chord.right = ends->high;
  line.chord.right_value = bf_top_of(&ends->at_high, side);
  line.middle = middle;
  line.width = ends->high - ends->low;
  line.value = bf_top_of(&at, side);
  line.straight = (1.0 - share) * line.chord.left_value + share * line.chord.right_value;
  line.tangent = concave || f->run[run].kind == BF_RUN_LINE;
  line.best = bf_line(0.0f, constant);
  line.best_height = constant;
  for (int i = 0; i < 12; ++i) {
    const double steep = line.tangent ? (side > 0 ? at.slope : -at.slope)
                                      : (line.chord.right_value - line.chord.left_value) /
                                            (line.chord.right - line.chord.left);
    const float s = bf_nearest_float(steep);
    if (!(s >= -BF_MAX_SLOPE && s <= BF_MAX_SLOPE)) break;
    search.s = (double)s;
    search.known_run = line.tangent && concave ? run : -1;
    if (!bf_improve_line(f, ends, &search, s, &origin, i == 0, &line)) break;
  }
  return line.best;
}

// The tangent at an end at which g takes its largest value, or a line of slope 0.
BF_FUNCTION bf_function_line bf_tangent_at_end(BF_CONSTANT const bf_function* f,
                                               const bf_function_ends* ends, double c, int side,
                                               double constant, bool right) {
  const bf_line_centre origin = bf_centre_of_line(ends, c);
  const int run = right ? ends->last : ends->first;
  const double x = right ? ends->high : ends->low;
  const bf_function_point* const at = right ? &ends->at_high : &ends->at_low;
  const float s = bf_nearest_float(side > 0 ? at->slope : -at->slope);
  const bf_function_line none = bf_line(0.0f, constant);
  if (!bf_is_concave(&f->run[run], side) || !bf_is_equal(bf_top_of(at, side), constant))
    return none;
  if (!(s * (right ? 1.0f : -1.0f) > 0.0f && s >= -BF_MAX_SLOPE && s <= BF_MAX_SLOPE)) return none;
  bf_peak_search search = bf_search_for(s, origin.at, side, 0x1p-14);
  search.known_run = run;
  search.known = x;
  search.known_point = *at;
  const double top = bf_peak_over(f, ends, &search).top;
  if (!(top <= DBL_MAX)) return none;
  return bf_line(s, bf_add_centre_error(top, search.s, &origin));
}

// The line over g where there is none under it.
BF_FUNCTION bf_function_line bf_line_at_end(BF_CONSTANT const bf_function* f,
                                            const bf_function_ends* ends, double c, int side,
                                            double constant) {
  const bf_function_line right = bf_tangent_at_end(f, ends, c, side, constant, true);
  if (!bf_is_zero_float(right.slope)) return right;
  return bf_tangent_at_end(f, ends, c, side, constant, false);
}

// The lowest line of slope s over g.
BF_FUNCTION bf_function_line bf_line_of_slope(BF_CONSTANT const bf_function* f,
                                              const bf_function_ends* ends, double c, int side,
                                              float s) {
  const bf_line_centre origin = bf_centre_of_line(ends, c);
  const bf_peak_search search = bf_search_for(s, origin.at, side, 0x1p-14);
  return bf_line(s, bf_add_centre_error(bf_peak_over(f, ends, &search).top, search.s, &origin));
}
