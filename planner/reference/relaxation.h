#pragma once

#include <gmpxx.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "frontend/diagnostic.h"
#include "frontend/functions/function.h"
#include "frontend/functions/function_exact.h"
#include "frontend/functions/function_facts.h"
#include "frontend/functions/function_range.h"
#include "planner/reference/scalars.h"

// Lines around an activation on an interval. The best pair has the least area between them, which
// is: each has the best value in the interval's middle. So the upper line supports the concave
// envelope of f there, the lower line the convex envelope; where f has a kink in the middle, it is
// the envelope's edge on the left.
namespace bf_aot::reference {

// slope_lower z + intercept_lower <= f(z) <= slope_upper z + intercept_upper, low <= f(z) <= high.
template <typename Scalar>
struct Relaxed {
  Scalar slope_upper = 0, slope_lower = 0;
  Scalar intercept_upper = 0, intercept_lower = 0;
  Scalar low = 0, high = 0;
};

template <typename Scalar>
struct Line {
  Scalar slope = 0, intercept = 0;
};

template <typename Scalar>
struct Point {
  Scalar x, y;
};

// The edge of the concave envelope of points, sorted by x, over `middle`: the indices of its ends,
// equal where there is but one x.
template <typename Scalar>
std::pair<std::size_t, std::size_t> upper_edge(const std::vector<Point<Scalar>>& points,
                                               const Scalar& middle) {
  std::vector<std::size_t> hull;
  const auto above = [&](std::size_t a, std::size_t b, std::size_t c) {  // b above the line a c
    const Point<Scalar>&p = points[a], &q = points[b], &r = points[c];
    return Scalar((q.y - p.y) * (r.x - p.x)) > Scalar((r.y - p.y) * (q.x - p.x));
  };
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (!hull.empty() && points[hull.back()].x == points[i].x) {
      if (points[i].y <= points[hull.back()].y) continue;
      hull.pop_back();
    }
    while (hull.size() >= 2 && !above(hull[hull.size() - 2], hull.back(), i)) hull.pop_back();
    hull.push_back(i);
  }
  std::size_t k = 1;
  while (k + 1 < hull.size() && points[hull[k]].x < middle) ++k;
  return hull.size() == 1 ? std::pair(hull[0], hull[0]) : std::pair(hull[k - 1], hull[k]);
}

// The lowest line of this slope above all points.
template <typename Scalar>
Line<Scalar> line_above(const std::vector<Point<Scalar>>& points, const Scalar& slope) {
  Line<Scalar> line{slope, Scalar(points.at(0).y - slope * points[0].x)};
  for (const Point<Scalar>& p : points) {
    const Scalar intercept = p.y - slope * p.x;
    if (intercept > line.intercept) line.intercept = intercept;
  }
  return line;
}

template <typename Scalar>
Line<Scalar> best_line_above(const std::vector<Point<Scalar>>& points, const Scalar& middle) {
  const auto [i, j] = upper_edge(points, middle);
  if (i == j) return line_above(points, Scalar(0));
  return line_above(points, Scalar((points[j].y - points[i].y) / (points[j].x - points[i].x)));
}

template <typename Scalar>
std::vector<Point<Scalar>> mirrored(std::vector<Point<Scalar>> points) {
  for (Point<Scalar>& p : points) p.y = -p.y;
  return points;
}

template <typename Scalar>
Relaxed<Scalar> nothing_known() {
  static_assert(std::is_floating_point_v<Scalar>);
  constexpr Scalar kInf = std::numeric_limits<Scalar>::infinity();
  return {0, 0, kInf, -kInf, -kInf, kInf};
}

// ---- Functions of linear pieces and steps

inline double value_of(const Function& f, double x) {
  return evaluate(f, x);
}
inline mpq_class value_of(const Function& f, const mpq_class& x) {
  return evaluate_exact(f, x);
}

inline double floor_of(double x) {
  return std::floor(x);
}
inline mpq_class floor_of(const mpq_class& x) {
  mpz_class result;
  mpz_fdiv_q(result.get_mpz_t(), x.get_num_mpz_t(), x.get_den_mpz_t());
  return mpq_class(result);
}

// The points (k + shift) step within [low, high], rising; of many the first two and the last two,
// since the graph's corners between them lie on straight lines.
template <typename Scalar>
std::vector<Scalar> grid_points(const Scalar& low, const Scalar& high, Scalar step,
                                const Scalar& shift) {
  step = magnitude(step);
  Scalar first = -floor_of(Scalar(shift - low / step));
  Scalar last = floor_of(Scalar(high / step - shift));
  std::vector<Scalar> list;
  for (Scalar k = first; k <= last && k < first + 2; k += 1) list.push_back((k + shift) * step);
  for (Scalar k = larger<Scalar>(last - 1, first + 2); k <= last; k += 1)
    list.push_back((k + shift) * step);
  return list;
}

// The points where a piece ends or f jumps. Some may lie outside of [low, high].
template <typename Scalar>
std::vector<Scalar> breaks_of(const Function& f, const Scalar& low, const Scalar& high) {
  std::vector<Scalar> list;
  const auto add = [&](double x) {
    if (is_finite(x)) list.push_back(Scalar(x));
  };
  switch (facts_of(f.kind).breaks) {
    case Breaks::kNone:
      BF_CHECK(!"a function of pieces and steps");
      break;
    case Breaks::kZero:
      add(0);
      break;
    case Breaks::kA:
      add(f.a);
      break;
    case Breaks::kAB:
      add(f.a);
      add(f.b);
      break;
    case Breaks::kPlusMinus:
      add(-f.a);
      add(f.a);
      break;
    case Breaks::kUnit:
      if (f.a == 0) break;
      list = {Scalar(-Scalar(f.b) / Scalar(f.a)), Scalar((1 - Scalar(f.b)) / Scalar(f.a))};
      break;
    case Breaks::kIntegers:
      return grid_points(low, high, Scalar(1), Scalar(0));
    case Breaks::kHalves: {
      Scalar from = low, to = high;
      if (f.kind == FunctionKind::kQuantise) {  // beyond its limits it is flat
        if (is_finite(f.b)) from = larger<Scalar>(low, (Scalar(f.b) - 1) * Scalar(f.a));
        if (is_finite(f.c)) to = smaller<Scalar>(high, (Scalar(f.c) + 1) * Scalar(f.a));
      }
      return grid_points(from, to, Scalar(f.a), Scalar(Scalar(1) / 2));
    }
  }
  return list;
}

// The distance of the jumps that grid_points lists; 0 for other functions.
template <typename Scalar>
Scalar period_of(const Function& f) {
  const Breaks breaks = facts_of(f.kind).breaks;
  if (breaks == Breaks::kHalves) return magnitude(Scalar(f.a));
  return breaks == Breaks::kIntegers ? 1 : 0;
}

// The corners of the graph's closure: at every break the value and the limits from both sides.
template <typename Scalar>
std::vector<Point<Scalar>> corners_of(const Function& f, const Scalar& low, const Scalar& high) {
  std::vector<Scalar> cuts = {low};
  for (const Scalar& x : breaks_of(f, low, high))
    if (low < x && x < high) cuts.push_back(x);
  if (low < high) cuts.push_back(high);
  std::sort(cuts.begin(), cuts.end());
  std::vector<Point<Scalar>> corners;
  const Scalar period = period_of<Scalar>(f);
  for (std::size_t i = 0; i < cuts.size(); ++i) {
    corners.push_back({cuts[i], value_of(f, cuts[i])});
    if (i + 1 == cuts.size()) break;
    // Straight in between, but for the pieces whose jumps grid_points leaves out. Such a jump is at
    // least a period from both cuts, and staircases do not turn.
    const Scalar width = cuts[i + 1] - cuts[i];
    const Scalar p = cuts[i] + width / 3, q = cuts[i] + width * 2 / 3;
    if (!(cuts[i] < p && p < q && q < cuts[i + 1])) continue;
    if (period > 0 && width > period * 3 / 2 &&
        value_of(f, Scalar(cuts[i] + period / 4)) != value_of(f, Scalar(cuts[i + 1] - period / 4)))
      continue;
    const Scalar at_p = value_of(f, p), at_q = value_of(f, q);
    corners.push_back({cuts[i], Scalar(2 * at_p - at_q)});
    corners.push_back({cuts[i + 1], Scalar(2 * at_q - at_p)});
  }
  std::stable_sort(corners.begin(), corners.end(),
                   [](const auto& a, const auto& b) { return a.x < b.x; });
  return corners;
}

// Returns true if f is no line between `low` and `high`.
template <typename Scalar>
bool is_bent(const Function& f, const Scalar& low, const Scalar& high) {
  if (!is_piecewise_linear(f.kind) || !is_finite(low) || !is_finite(high)) return low < high;
  const std::vector<Scalar> breaks = breaks_of(f, low, high);
  return std::any_of(breaks.begin(), breaks.end(),
                     [&](const Scalar& x) { return low < x && x < high; });
}

template <typename Scalar>
Relaxed<Scalar> relax_points(const std::vector<Point<Scalar>>& points, const Scalar& middle) {
  const Line<Scalar> upper = best_line_above(points, middle);
  const Line<Scalar> lower = best_line_above(mirrored(points), middle);
  Relaxed<Scalar> made{upper.slope, Scalar(-lower.slope), upper.intercept, Scalar(-lower.intercept),
                       points[0].y, points[0].y};
  for (const Point<Scalar>& p : points) {
    made.low = smaller(made.low, p.y);
    made.high = larger(made.high, p.y);
  }
  return made;
}

// Constants around any function where an end is infinite; in relaxation.cpp.
Relaxed<double> relax_infinite(const Function& f, double low, double high);

// Relaxes any function in double, by sampling; see relaxation.cpp.
Relaxed<double> relax_smooth(const Function& f, double low, double high);

// Thrown where a function has no rational bounds, see exact_range().
struct NoRationalBounds {};

// Constants around a smooth function: no line of rational coefficients is as good as those of the
// tables, and a limit that is met exactly is met by a value at an end, or by none.
inline Relaxed<mpq_class> relax_range(const Function& f, const mpq_class& low,
                                      const mpq_class& high) {
  const std::optional<ExactRange> range = exact_range(f, low, high);
  if (!range) throw NoRationalBounds();
  return {0, 0, range->high, range->low, range->low, range->high};
}

// Relaxes the staircases that no value of a function with a slack is above, or below.
template <typename Scalar>
Relaxed<Scalar> relax_loose(const Function& f, const Scalar& low, const Scalar& high) {
  const auto moved = [&](double shift) {
    Function other = f;
    other.b -= shift;
    other.c -= shift;
    other.slack = 0;
    return relax_points(corners_of(other, low, high), Scalar((low + high) / 2));
  };
  const Relaxed<Scalar> above = moved(f.slack), below = moved(-f.slack);
  const Scalar slack(f.slack);
  return {above.slope_upper,
          below.slope_lower,
          Scalar(above.intercept_upper + slack),
          Scalar(below.intercept_lower - slack),
          Scalar(below.low - slack),
          Scalar(above.high + slack)};
}

// Relaxes f between two ends. Ends in double that were not rounded outward may have crossed; they
// stand for what lies between them. In rationals it throws NoRationalBounds.
template <typename Scalar>
Relaxed<Scalar> relax_function(const Function& f, const Scalar& low, const Scalar& high) {
  if constexpr (std::is_floating_point_v<Scalar>) {
    if (low > high) return relax_function(f, high, low);
    if (!is_finite(low) || !is_finite(high)) return relax_infinite(f, low, high);
    if (!is_piecewise_linear(f.kind)) return relax_smooth(f, low, high);
  } else if (!is_piecewise_linear(f.kind)) {
    return relax_range(f, low, high);
  }
  if (f.slack != 0) return relax_loose(f, low, high);
  return relax_points(corners_of(f, low, high), Scalar((low + high) / 2));
}

template <typename Scalar>
Relaxed<Scalar> relax_relu(const Scalar& low, const Scalar& high) {
  if (low >= 0) return {1, 1, 0, 0, low, high};
  if (high <= 0) return {};
  if constexpr (std::is_floating_point_v<Scalar>)
    if (!is_finite(low) || !is_finite(high)) {
      Relaxed<Scalar> made = nothing_known<Scalar>();
      made.intercept_lower = made.low = 0;
      made.high = high;
      return made;
    }
  const Scalar slope = high / (high - low);
  return {slope, Scalar(high > -low ? 1 : 0), Scalar(-slope * low), 0, 0, high};
}

}  // namespace bf_aot::reference
