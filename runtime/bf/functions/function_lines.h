#pragma once

#include "bf/functions/function_table.h"
#include "bf/functions/function_waves.h"

// Linear relaxations of a function by its table.
//
// One routine, peak_over(), bounds sup (g(x) - s (x - c)) over an interval from above for a given
// float slope s, where g is f (side 1) or -f (side -1). So every slope gives a sound line s (x - c)
// + top over g; how the slope was found does not matter.

namespace bf {

// Slopes beyond this are not used.
constexpr float kMaxSlope = 0x1p100f;

struct FunctionRange {
  double low, high;
};

// f at the ends of [low, high], and the runs that they lie in. Of a wave the interval may be
// turned: it holds x - 2 pi n for an integer n and each x of the exact one, and `angle` is from - 2
// pi n, up to kAngleError.
struct FunctionEnds {
  double low, high;
  int first, last;
  FunctionPoint at_low, at_high;
  bool turned = false;
  double from = 0, angle = 0;
};

// The part of [low, high] that the argument can lie in. Both hold the exact argument, so it is not
// empty. NaN stays.
static inline FunctionEnds argument_ends(const FunctionView& f, double low, double high) {
  return {low < f.least ? f.least : low, high > f.most ? f.most : high, 0, 0, {}, {}};
}

// The table of a wave covers what lies nearer to 0.
static inline double wave_reach(const FunctionView& f) {
  return f.run[f.runs - 1].start;
}

// Turns an interval of a wave that its table does not cover. With x >= from: x - 2 pi n =
// (x - from) + (from - 2 pi n). What begins within (-1, 1) and leaves the table holds a pole of a
// tangent, and is too wide in other waves.
static inline void turn_ends(const FunctionView& f, FunctionEnds* ends) {
  const double low = ends->low;
  const double width = sub_up(ends->high, low);
  const double reach = wave_reach(f);
  const bool covered = low >= -reach && ends->high <= reach;
  if (covered || !(width < kWidestWave) || !(__builtin_fabs(low) >= 1)) return;
  ends->turned = true;
  ends->from = low;
  ends->angle = wave_angle(low);
  ends->low = sub_down(ends->angle, kAngleError);
  ends->high = add_up(add_up(ends->angle, kAngleError), width);
}

// At a pole, and at an end of the domain that does not belong to it, f is its limit from inside the
// interval: there are no other values to bound.
static inline FunctionEnds function_ends(const FunctionView& f, double low, double high) {
  FunctionEnds ends = argument_ends(f, low, high);
  if (f.wave) turn_ends(f, &ends);
  ends.first = find_run(f, ends.low);
  ends.last = find_run(f, ends.high);
  const auto is_pole = [&](int run, double x) {
    return f.run[run].kind == FunctionRunKind::kUnknown && f.run[run].start == x &&
           ends.low < ends.high;
  };
  if (is_pole(ends.first, ends.low) && ends.first + 1 < f.runs &&
      f.run[ends.first + 1].start == ends.low)
    ++ends.first;
  if (is_pole(ends.last, ends.high) && ends.last > ends.first) --ends.last;
  ends.at_low = function_point(f, ends.first, ends.low);
  ends.at_high = function_point(f, ends.last, ends.high);
  return ends;
}

// A line's centre, where an interval was turned: c - 2 pi n is `at`, up to `error`.
//
// Proof. c - 2 pi n = (c - from) + (from - 2 pi n), of which the second is `angle` up to
// kAngleError; the difference d and the sum round by 2^-53 |d| and 2^-53 (|d| + 4).
struct LineCentre {
  double at, error;
};
static inline LineCentre line_centre(const FunctionEnds& ends, double c) {
  if (!ends.turned) return {c, 0};
  const double distance = c - ends.from;
  return {ends.angle + distance, kAngleError + 0x1p-51 * (__builtin_fabs(distance) + 4)};
}

// Returns `top`, raised by what a line of slope s may lose to its centre's error.
static inline double add_centre_error(double top, double s, const LineCentre& centre) {
  if (centre.error == 0 || s == 0) return top;
  return add_up(top, mul_up(__builtin_fabs(s), centre.error));
}

// A line s (x - c) + top over g.
struct FunctionLine {
  float slope;
  double top;
};

static inline double top_of(const FunctionPoint& at, int side) {
  return side > 0 ? at.high : -at.low;
}

// y - s (x - c), rounded up.
static inline double minus_line(double y, double s, double x, double c) {
  if (s == 0) return y;
  return sub_up(y, mul_down(s, s > 0 ? sub_down(x, c) : sub_up(x, c)));
}

static inline bool is_concave(const FunctionRun& run, int side) {
  return run.kind == (side > 0 ? FunctionRunKind::kConcave : FunctionRunKind::kConvex);
}

// sup (g(x) - s (x - c)) over [a, b] in a run in which g is concave, at p in [a, b], from above.
//
// Proof. A concave function lies under its tangents: g(x) <= g(p) + g'(p) (x - p), and g'(p) is in
// [d - e, d + e]. So g(x) - s (x - c) <= g(p) - s (p - c) + (g'(p) - s) (x - p), and the last term
// is at most max(0, (d + e - s) (b - p)) to the right of p and max(0, (s - d + e) (p - a)) to the
// left.
static inline double tangent_top(const FunctionPoint& at, double p, double s, double a, double b,
                                 double c, int side) {
  const double d = side > 0 ? at.slope : -at.slope;
  const double right_rate = add_up(sub_up(d, s), at.slope_error);
  const double left_rate = add_up(sub_up(s, d), at.slope_error);
  const double right = right_rate > 0 ? mul_up(right_rate, sub_up(b, p)) : 0;
  const double left = left_rate > 0 ? mul_up(left_rate, sub_up(p, a)) : 0;
  return add_up(minus_line(top_of(at, side), s, p, c), right > left ? right : left);
}

struct CellSlope {
  double slope, curvature;
};

// p' and p'' at x, rounded somehow.
static inline CellSlope slope_in_cell(const FunctionView& f, int cell, double x) {
  const double* c = f.coefficient + static_cast<std::ptrdiff_t>(cell) * (f.degree + 1);
  const double t = x - f.start[cell];
  double slope = 0;
  double curvature = 0;
  for (int k = f.degree; k > 0; --k) {
    curvature = curvature * t + slope;
    slope = slope * t + c[k] * static_cast<double>(k);
  }
  return {slope, curvature};
}

// The point of a run, in which g is concave, where g' is near s, in [a, b] in the cells from
// `first` to `last`; or the end next to it. `tolerance` is relative to how much g' varies over a
// cell. What rests on the result is that it lies in [a, b] and in the cell `found`: so do the
// bracket's ends, from start to end, and x never leaves them.
static inline double find_slope_in_cells(const FunctionView& f, double s, double a, double b,
                                         int first, int last, int side, double tolerance,
                                         int* found) {
  const double* steepness = f.coefficient + 1;  // of a cell's start
  const std::ptrdiff_t stride = f.degree + 1;
  const double sign = side > 0 ? 1 : -1;
  int cell = first;
  for (int count = last - first + 1; count > 1;) {  // the last that starts with a slope >= s
    const int half = count / 2;
    cell += sign * steepness[(cell + half) * stride] >= s ? half : 0;
    count -= half;
  }
  *found = cell;
  double left = f.start[cell];
  double at_left = sign * steepness[cell * stride] - s;
  double right = f.start[cell + 1];
  double at_right = cell < last ? sign * steepness[(cell + 1) * stride] - s : 0;
  if (left < a) {
    left = a;
    at_left = sign * slope_in_cell(f, cell, a).slope - s;
  }
  if (cell == last) {
    right = right < b ? right : b;
    at_right = sign * slope_in_cell(f, cell, right).slope - s;
  }
  if (!(at_left > 0)) return left;
  if (!(at_right < 0)) return right;
  const double enough = tolerance * (at_left - at_right);
  double x = left + (right - left) * (at_left / (at_left - at_right));
  if (!(x > left && x < right)) x = 0.5 * left + 0.5 * right;
  for (int i = 0; i < 8; ++i) {  // Newton's method within the bracket
    const CellSlope at = slope_in_cell(f, cell, x);
    const double miss = sign * at.slope - s;
    if (__builtin_fabs(miss) <= enough) break;
    (miss > 0 ? left : right) = x;
    x -= miss / (sign * at.curvature);
    if (!(x > left && x < right)) x = 0.5 * left + 0.5 * right;
  }
  return x;
}

// find_slope_in_cells() for functions without cells, by bisection. The ends have a value.
static inline double find_slope(const FunctionView& f, int run, double s, double a, double b,
                                int side, double tolerance) {
  const double sign = side > 0 ? 1 : -1;
  const double at_a = sign * function_point(f, run, a).slope - s;
  const double at_b = sign * function_point(f, run, b).slope - s;
  if (!(at_a > 0)) return a;
  if (!(at_b < 0)) return b;
  double enough = 0;
  double x = a;
  for (int i = 0; i < 64; ++i) {
    x = 0.5 * a + 0.5 * b;
    const double slope = sign * function_point(f, run, x).slope;
    const double at = slope - s;
    if (i == 0) {  // slopes at an end of the domain may be infinite: much steeper ones do not count
      const double most = 2 * (__builtin_fabs(slope) + __builtin_fabs(s));
      enough = tolerance * ((at_a < most ? at_a : most) + (-at_b < most ? -at_b : most));
    }
    if (__builtin_fabs(at) <= enough) break;
    (at > 0 ? a : b) = x;
  }
  return x;
}

struct FunctionPeak {
  double top;    // at least g(x) - s (x - c) everywhere
  double at;     // about where that is largest
  double value;  // about g there
};

struct PeakSearch {
  double s, c;
  int side;
  double tolerance;
  int known_run;  // the run that has its peak at `known`, or -1
  double known;
  FunctionPoint known_point;
};

// A run r of f where it meets the interval: [a, b].
struct RunPart {
  int r;
  double a, b;
};

static inline void take_higher(const FunctionPeak& other, FunctionPeak* peak) {
  if (other.top > peak->top) *peak = other;
}

// The peak over a part in which g is concave.
static inline FunctionPeak concave_peak(const FunctionView& f, const FunctionEnds& ends,
                                        const PeakSearch& search, const RunPart& part) {
  const FunctionRun& run = f.run[part.r];
  double p = search.known;
  FunctionPoint at = search.known_point;
  // f.cells is a constant in generated code: with it, compilers see that a table without cells is
  // not read.
  if (part.r != search.known_run && f.cells > 0 && run.cells > 0) {
    const int first = part.r == ends.first ? ends.at_low.cell : run.cell;
    const int last = part.r == ends.last ? ends.at_high.cell : run.cell + run.cells - 1;
    int cell = 0;
    p = find_slope_in_cells(f, search.s, part.a, part.b, first, last, search.side, search.tolerance,
                            &cell);
    at = cell_point(f, cell, p);
  } else if (part.r != search.known_run) {
    p = find_slope(f, part.r, search.s, part.a, part.b, search.side, search.tolerance);
    at = function_point(f, part.r, p);
  }
  return {tangent_top(at, p, search.s, part.a, part.b, search.c, search.side), p,
          top_of(at, search.side)};
}

// Takes the peak over a part in which g is convex, a line or mixed. A mixed g lies above the chord
// of its ends by at most the slack.
static inline void take_ends(const FunctionView& f, const FunctionEnds& ends,
                             const PeakSearch& search, const RunPart& part, FunctionPeak* peak) {
  const FunctionRun& run = f.run[part.r];
  const int side = search.side;
  const double slack = run.kind == FunctionRunKind::kMixed ? run.slack : 0;
  const auto top = [&](double value, double x) {
    const double over = minus_line(value, search.s, x, search.c);
    return FunctionPeak{slack != 0 ? add_up(over, slack) : over, x, value};
  };
  const double inner_a = side > 0 ? run.start_high : -run.start_low;
  const double inner_b = side > 0 ? run.end_high : -run.end_low;
  take_higher(top(part.r == ends.first ? top_of(ends.at_low, side) : inner_a, part.a), peak);
  take_higher(top(part.r == ends.last ? top_of(ends.at_high, side) : inner_b, part.b), peak);
}

// sup (g(x) - s (x - c)) over the interval, from above, run by run.
//
// Proof. The runs' closures cover [low, high]. Over a run [a, b] of g: where g is convex or a line,
// g - s (x - c) is largest at an end; where it is mixed, g is at most `slack` above the chord
// between the ends; where it is concave, see tangent_top(). Values at ends are the bounds made at
// compile time, as continued from inside the run, or those of function_point().
static inline FunctionPeak peak_over(const FunctionView& f, const FunctionEnds& ends,
                                     const PeakSearch& search) {
  FunctionPeak peak{-__builtin_inf(), ends.low, 0};
  for (int r = ends.first; r <= ends.last; ++r) {
    const RunPart part = {r, r == ends.first ? ends.low : f.run[r].start,
                          r == ends.last ? ends.high : f.run[r + 1].start};
    if (is_concave(f.run[r], search.side))
      take_higher(concave_peak(f, ends, search, part), &peak);
    else
      take_ends(f, ends, search, part, &peak);
  }
  return peak;
}

// The lowest line of slope s over g with its value at c, and about where g touches it.
static inline FunctionPeak lowest_line(const FunctionView& f, const FunctionEnds& ends, float s,
                                       double c, int side, double tolerance) {
  const LineCentre origin = line_centre(ends, c);
  const PeakSearch search = {static_cast<double>(s), origin.at, side, tolerance, -1, 0, {}};
  FunctionPeak peak = peak_over(f, ends, search);
  peak.top = add_centre_error(peak.top, search.s, origin);
  if (ends.turned) peak.at = ends.from + (peak.at - ends.angle);
  return peak;
}

static inline void hold(double low, double high, FunctionRange* range) {
  if (low < range->low) range->low = low;
  if (high > range->high) range->high = high;
}

// Both bounds of a function that turns, run by run.
//
// Proof. Over the part [a, b] of a run f lies between its values at a and b, up to the slack where
// it is mixed, unless it turns between them: not where b <= turn_from or a >= turn_to. If it does,
// one of its bounds is that of the whole run. What is unknown has one pair of bounds everywhere.
static inline FunctionRange bound_by_turns(const FunctionView& f, const FunctionEnds& ends) {
  FunctionRange range = {__builtin_inf(), -__builtin_inf()};
  for (int r = ends.first; r <= ends.last; ++r) {
    const FunctionRun& run = f.run[r];
    const bool from_low = r == ends.first, to_high = r == ends.last;
    FunctionRange part = {from_low ? ends.at_low.low : run.start_low,
                          from_low ? ends.at_low.high : run.start_high};
    hold(to_high ? ends.at_high.low : run.end_low, to_high ? ends.at_high.high : run.end_high,
         &part);
    const bool before = to_high && ends.high <= run.turn_from;
    const bool behind = from_low && ends.low >= run.turn_to;
    const bool turns = run.turn_from <= run.turn_to && !before && !behind;
    if (turns && run.kind == FunctionRunKind::kConvex && run.turn < part.low) part.low = run.turn;
    if (turns && run.kind == FunctionRunKind::kConcave && run.turn > part.high)
      part.high = run.turn;
    if (run.kind == FunctionRunKind::kMixed)
      part = {sub_down(part.low, run.slack), add_up(part.high, run.slack)};
    hold(part.low, part.high, &range);
  }
  return range;
}

// x^n, n even or negative. A pole at an end is a limit. One between the ends leaves nothing of odd
// powers; even ones fall away from it on both sides, so that the lesser end is a lower bound.
static inline FunctionRange bound_monomial(const FunctionView& f, const FunctionEnds& ends) {
  const FunctionPoint& left = ends.at_low;
  const FunctionPoint& right = ends.at_high;
  const double high = left.high > right.high ? left.high : right.high;
  const double low = left.low < right.low ? left.low : right.low;
  if (f.exponent < 0 && ends.first != ends.last)
    return {f.exponent % 2 == 0 ? low : -__builtin_inf(), __builtin_inf()};
  return {f.exponent > 0 && ends.low <= 0 && ends.high >= 0 ? 0 : low, high};
}

// f over the interval: at the ends where it is monotone, else also where it turns. Nothing is known
// where f is not defined at an end.
static inline FunctionRange bound_between(const FunctionView& f, const FunctionEnds& ends) {
  const double inf = __builtin_inf();
  const FunctionPoint& left = ends.at_low;
  const FunctionPoint& right = ends.at_high;
  if ((left.low == -inf && left.high == inf) || (right.low == -inf && right.high == inf))
    return {-inf, inf};
  if (f.monotone != 0)
    return f.monotone > 0 ? FunctionRange{left.low, right.high}
                          : FunctionRange{right.low, left.high};
  if (ends.low == ends.high) return {left.low, left.high};
  if (f.form == FunctionViewForm::kMonomial) return bound_monomial(f, ends);
  return bound_by_turns(f, ends);
}

// Points of g's graph on both sides of the middle of an interval, and the chord between them.
struct FunctionChord {
  double left, left_value;
  double right, right_value;
};

// The peak for the end on its side; false where that gains nothing. An end of the interval itself
// may be its own peak once.
static inline bool move_end(const FunctionPeak& peak, double middle, bool first,
                            FunctionChord* chord) {
  const bool to_right = peak.at > middle;
  double& end = to_right ? chord->right : chord->left;
  if ((peak.at == end && !first) || peak.at == middle) return false;
  end = peak.at;
  (to_right ? chord->right_value : chord->left_value) = peak.value;
  return true;
}

// The line over g that is lowest at the point that divides [low, high] as `share` does, up to about
// 0.1 % of the distance between the lines; none is better in area than that for the middle.
// `constant` is a bound of g: the line to fall back on.
//
// The hull of g at the point is that height. From below it is approached by chords between points
// of the graph on both sides, from above by peak_over(); the peak of a chord's slope replaces one
// of its ends, which is Newton's method for the dual problem.
static inline FunctionLine line_over(const FunctionView& f, const FunctionEnds& ends, double c,
                                     int side, double constant, double share = 0.5) {
  const double middle = (1 - share) * ends.low + share * ends.high;
  const double width = ends.high - ends.low;
  const int run = find_run(f, middle);
  const bool concave = is_concave(f.run[run], side);
  const FunctionPoint at = function_point(f, run, middle);
  const double value = top_of(at, side);
  FunctionLine best{0, constant};
  double best_height = constant;
  const LineCentre origin = line_centre(ends, c);
  PeakSearch search{0, origin.at, side, 0x1p-14, -1, middle, at};
  FunctionChord chord = {ends.low, top_of(ends.at_low, side), ends.high,
                         top_of(ends.at_high, side)};
  const double straight = (1 - share) * chord.left_value + share * chord.right_value;
  bool tangent = concave || f.run[run].kind == FunctionRunKind::kLine;
  for (int i = 0; i < 12; ++i) {
    const double steep = tangent
                             ? (side > 0 ? at.slope : -at.slope)
                             : (chord.right_value - chord.left_value) / (chord.right - chord.left);
    const float s = nearest_float(steep);
    if (!(s >= -kMaxSlope && s <= kMaxSlope)) break;
    search.s = static_cast<double>(s);
    search.known_run = tangent && concave ? run : -1;
    const FunctionPeak peak = peak_over(f, ends, search);
    const double top = add_centre_error(peak.top, search.s, origin);
    const double height = top + search.s * (middle - origin.at);
    if (height < best_height) {
      best_height = height;
      best = {s, top};
    }
    // The hull is between these two heights; a float slope costs the noise.
    const double hull = tangent ? value : chord.left_value + search.s * (middle - chord.left);
    const double gap = tangent ? value - straight : height - value;
    const double noise = 0x1p-23 * __builtin_fabs(search.s) * width;
    if (!(height - hull > 0x1p-10 * gap + noise)) break;
    tangent = false;
    if (!move_end(peak, middle, i == 0, &chord)) break;
  }
  return best;
}

// The line over g where there is none under it: its largest value on the interval is `constant`,
// the bound of g, so that it is as good as that where intervals are lost. It is the tangent at the
// end at which g takes that value, if g is concave there and the tangent falls from there.
static inline FunctionLine line_at_end(const FunctionView& f, const FunctionEnds& ends, double c,
                                       int side, double constant) {
  const LineCentre origin = line_centre(ends, c);
  const auto tangent = [&](int run, double x, const FunctionPoint& at, int outwards) {
    const float s = nearest_float(side > 0 ? at.slope : -at.slope);
    const FunctionLine none = {0, constant};
    if (!is_concave(f.run[run], side) || top_of(at, side) != constant) return none;
    if (!(s * static_cast<float>(outwards) > 0 && s >= -kMaxSlope && s <= kMaxSlope)) return none;
    const PeakSearch search = {static_cast<double>(s), origin.at, side, 0x1p-14, run, x, at};
    const double top = peak_over(f, ends, search).top;
    if (!(top <= __DBL_MAX__)) return none;  // a pole between the ends
    return FunctionLine{s, add_centre_error(top, search.s, origin)};
  };
  const FunctionLine right = tangent(ends.last, ends.high, ends.at_high, 1);
  return right.slope != 0 ? right : tangent(ends.first, ends.low, ends.at_low, -1);
}

// The lowest line of slope s over g.
static inline FunctionLine line_of_slope(const FunctionView& f, const FunctionEnds& ends, double c,
                                         int side, float s) {
  const LineCentre origin = line_centre(ends, c);
  const PeakSearch search{static_cast<double>(s), origin.at, side, 0x1p-14, -1, 0, {}};
  return {s, add_centre_error(peak_over(f, ends, search).top, search.s, origin)};
}

}  // namespace bf
