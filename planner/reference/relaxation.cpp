#include "planner/reference/relaxation.h"

#include <cmath>

namespace bf_aot::reference {
namespace {

constexpr int kSamples = 128;    // over the interval
constexpr int kRefinements = 4;  // around a point of interest, each 16 times finer
constexpr double kPeriods = 64;  // wider intervals hold whole periods of sin and cos

bool in_domain(const Function& f, double low, double high) {
  return lies_in(facts_of(f.kind).domain(f), low, high);
}

using Points = std::vector<Point<double>>;

// Samples of f on [low, high], sorted: evenly, and ever denser towards 0 and both ends, where
// functions bend.
class Sampler {
 public:
  Sampler(const Function& f, double low, double high) : f_(f), low_(low), high_(high) {
    for (int i = 0; i <= kSamples; ++i) add(low + (high - low) * i / kSamples);
    for (int k = 1; k <= 40; ++k) {
      const double part = std::ldexp(high - low, -k);
      add(low + part);
      add(high - part);
    }
    for (int k = -20; k <= 20; ++k) {
      const double x = std::exp2(k / 2.0);
      add(x);
      add(-x);
    }
    add(0);
    add(high);
    sort();
  }

  const Points& points() const { return points_; }
  bool all_finite() const {
    return std::all_of(points_.begin(), points_.end(),
                       [](const Point<double>& p) { return is_finite(p.y); });
  }

  // Adds samples between the neighbours of x. Returns false when they would lie closer than
  // differences of f can tell.
  bool refine(double x) {
    const auto less = [](const Point<double>& p, double value) { return p.x < value; };
    const auto at = std::lower_bound(points_.begin(), points_.end(), x, less);
    const double from = at == points_.begin() ? low_ : std::prev(at)->x;
    const double to =
        at == points_.end() || std::next(at) == points_.end() ? high_ : std::next(at)->x;
    if (to - from < 1e-6 * std::max(1.0, std::fabs(x))) return false;
    for (int i = 1; i < 32; ++i) add(from + (to - from) * i / 32);
    sort();
    return true;
  }

 private:
  void add(double x) {
    if (x >= low_ && x <= high_) points_.push_back({x, evaluate(f_, x)});
  }
  void sort() {
    std::sort(points_.begin(), points_.end(),
              [](const Point<double>& a, const Point<double>& b) { return a.x < b.x; });
    const auto same = [](const Point<double>& a, const Point<double>& b) { return a.x == b.x; };
    points_.erase(std::unique(points_.begin(), points_.end(), same), points_.end());
  }

  const Function& f_;
  double low_, high_;
  Points points_;
};

// Refines where the envelope's edge over the middle touches f. sign: -1 for the lower one.
void refine_edge(Sampler& sampler, double middle, int sign) {
  for (int i = 0; i < kRefinements; ++i) {
    const Points points = sign < 0 ? mirrored(sampler.points()) : sampler.points();
    const auto [a, b] = upper_edge(points, middle);
    const double left = points[a].x, right = points[b].x;
    const bool first = sampler.refine(left);
    const bool second = sampler.refine(right);
    if (!first && !second) return;
  }
}

void refine_extreme(Sampler& sampler, int sign) {
  for (int i = 0; i < kRefinements; ++i) {
    const Points& points = sampler.points();
    const auto most = std::max_element(
        points.begin(), points.end(),
        [&](const Point<double>& a, const Point<double>& b) { return sign * a.y < sign * b.y; });
    if (!sampler.refine(most->x)) return;
  }
}

// An interval of a few ulps shows differences of f, but not its slope: both lines have the slope
// over a wider step.
Relaxed<double> relax_narrow(const Function& f, const Points& points, double low, double high) {
  const double step = 1e-6 * std::max(1.0, std::fabs(low));
  double slope = 0;
  if (in_domain(f, low - step, high + step))
    slope = (evaluate(f, high + step) - evaluate(f, low - step)) / (high - low + 2 * step);
  if (!is_finite(slope)) slope = 0;
  Relaxed<double> made = relax_points(points, low);
  made.slope_upper = made.slope_lower = slope;
  made.intercept_upper = line_above(points, slope).intercept;
  made.intercept_lower = -line_above(mirrored(points), -slope).intercept;
  return made;
}

// Returns true if f has all of its bounds within a period, as a tangent has not.
bool is_bounded_wave(const Function& f) {
  const FunctionFacts& facts = facts_of(f.kind);
  return facts.wave && std::isfinite(facts.values.low) && std::isfinite(facts.values.high);
}

}  // namespace

Relaxed<double> relax_smooth(const Function& f, double low, double high) {
  if (!in_domain(f, low, high)) return nothing_known<double>();
  if (is_bounded_wave(f) && high - low > kPeriods) return {0, 0, 1, -1, -1, 1};
  Sampler sampler(f, low, high);
  if (!sampler.all_finite()) return nothing_known<double>();
  if (high - low < 1e-9 * std::max(1.0, std::fabs(low)))
    return relax_narrow(f, sampler.points(), low, high);
  const double middle = low + (high - low) / 2;
  for (int sign : {1, -1}) {
    refine_edge(sampler, middle, sign);
    refine_extreme(sampler, sign);
  }
  return relax_points(sampler.points(), middle);
}

// Beyond kFar functions are monotone, so that their
// extremes are the limits or lie within.
Relaxed<double> relax_infinite(const Function& f, double low, double high) {
  constexpr double kFar = 64;
  if (is_bounded_wave(f)) return {0, 0, 1, -1, -1, 1};
  if (!(low <= high) || !in_domain(f, low, high)) return nothing_known<double>();
  double least = evaluate(f, low), most = least;
  const auto see = [&](double y) {
    least = y < least ? y : least;
    most = y > most ? y : most;
    return y == y;
  };
  if (least != least || !see(evaluate(f, high))) return nothing_known<double>();
  const double from = std::max(low, -kFar), to = std::min(high, kFar);
  if (from < to) {
    const Relaxed<double> within = relax_function(f, from, to);
    if (!see(within.low) || !see(within.high)) return nothing_known<double>();
  }
  return {0, 0, most, least, least, most};
}

}  // namespace bf_aot::reference
