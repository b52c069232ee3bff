#include "planner/functions/pieces.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "frontend/diagnostic.h"

namespace bf_aot::pieces {

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

// The distance from a line below which a smooth function's tail is bounded by that line.
constexpr double kTail = 0x1p-40;

// The least multiple of 1/4 from which on |f - (intercept + slope x)| <= kTail on the side `sign`.
// All callers' differences shrink from there on.
double tail_start(const Formula& f, double sign, double intercept, double slope) {
  for (double x = 4; x < 64; x += 0.25) {
    const Interval at(sign * x);
    const Interval rest = f(at, 0)[0] - (Interval(intercept) + Interval(slope) * at);
    if (double_above({magnitude(rest), magnitude(rest)}) <= kTail) return sign * x;
  }
  BF_CHECK(false);
  return 0;
}

}  // namespace

Piece line(double start, double intercept, double slope, double error) {
  return {Piece::Kind::kLine, start, false, intercept, slope, error};
}

Piece after(double start, double intercept, double slope) {
  return {Piece::Kind::kLine, start, true, intercept, slope, 0};
}

Piece smooth(double start) {
  return {Piece::Kind::kSmooth, start, false, 0, 0, 0};
}

Piece unknown(double start, bool open) {
  return {Piece::Kind::kUnknown, start, open, 0, 0, 0};
}

Piece below(double start, double high) {
  Piece made = unknown(start);
  made.high = high;
  return made;
}

Piece above(double start, double low) {
  Piece made = unknown(start);
  made.low = low;
  return made;
}

Piece between(double start, double low, double high) {
  const double centre = low / 2 + high / 2;
  const double error = std::max(high - centre, centre - low) * (1 + 0x1p-50) + 0x1p-1000;
  return line(start, centre, 0, error);
}

// A border between lines that is no double becomes a piece of a few ulp, where the function, of
// slope at most |a|, is near the value that it has at the border.
List hard_sigmoid(double a, double b) {
  if (a == 0) return {line(-kInf, std::clamp(b, 0.0, 1.0), 0)};
  const double first_value = a > 0 ? 0 : 1;
  const Interval first = (Interval(first_value) - Interval(b)) / Interval(a);
  const Interval last = (Interval(1 - first_value) - Interval(b)) / Interval(a);
  const double first_low = double_below(first), first_high = double_above(first);
  const double last_low = double_below(last), last_high = double_above(last);
  if (!(first_high < last_low))
    return {line(-kInf, first_value, 0), between(first_low, 0, 1),
            line(last_high, 1 - first_value, 0)};
  const auto miss = [&](double low, double high) {
    return std::fabs(a) * (high - low) * (1 + 0x1p-40) + 0x1p-1000;
  };
  List made{line(-kInf, first_value, 0)};
  if (first_low < first_high)
    made.push_back(line(first_low, first_value, 0, miss(first_low, first_high)));
  made.push_back(line(first_high, b, a));
  if (last_low < last_high)
    made.push_back(line(last_low, 1 - first_value, 0, miss(last_low, last_high)));
  made.push_back(line(last_high, 1 - first_value, 0));
  return made;
}

List clip(double low, double high) {
  if (low >= high) return {line(-kInf, high, 0)};
  List made;
  if (low > -kInf) made.push_back(line(-kInf, low, 0));
  made.push_back(line(low, 0, 1));
  if (high < kInf) made.push_back(line(high, high, 0));
  return made;
}

List shrink(double a, double b) {
  if (a < 0) return {line(-kInf, b, 1), line(-a, -b, 1)};
  return {line(-kInf, b, 1), line(-a, 0, 0), after(a, -b, 1)};
}

List with_tails(const Formula& f, double left, int left_side, double right, double right_slope,
                int right_side) {
  const double start = tail_start(f, -1, left, 0);
  const double end = tail_start(f, 1, right, right_slope);
  const double half = kTail / 2;
  return {line(-kInf, left + left_side * half, 0, half), smooth(start),
          line(end, right + right_side * half, right_slope, half)};
}

List elu(double a, double scale, double slope) {
  const double end = -28 * std::fabs(scale);  // e^-28 < 2^-40
  if (!(scale != 0) || !(std::fabs(end) < 0x1p100)) return {unknown(-kInf), line(0, 0, slope)};
  if (scale > 0)
    return {line(-kInf, -a, 0, std::fabs(a) * kTail + 0x1p-1000), smooth(end), line(0, 0, slope)};
  return {unknown(-kInf), smooth(end), line(0, 0, slope)};
}

List tangent_periods() {
  const double quarter = double_below(pi()) / 2;
  const double gap = 0x1p-9;
  List made{unknown(-kInf)};
  for (int period = -1; period <= 1; ++period) {
    made.push_back(smooth((2 * period - 1) * quarter + gap));
    made.push_back(unknown((2 * period + 1) * quarter - gap));
  }
  return made;
}

List arc_sine(const Formula& f, bool falling) {
  const double near_end = 1 - kNearEnd;
  const double at_low = falling ? double_above(pi()) : -double_above(pi()) / 2;
  const double at_high = falling ? 0 : double_above(pi()) / 2;
  const Interval left = f(Interval(-near_end), 0)[0];
  const Interval right = f(Interval(near_end), 0)[0];
  const auto band = [](double start, const Interval& inner, double outer) {
    return between(start, std::min(double_below(inner), outer),
                   std::max(double_above(inner), outer));
  };
  return {unknown(-kInf), band(-1, left, at_low), smooth(-near_end), band(near_end, right, at_high),
          unknown(1, true)};
}

void drop_empty(List& list) {
  std::erase_if(list, [](const Piece& piece) { return piece.start == kInf; });
  while (list.size() > 1 && list[1].start == -kInf) list.erase(list.begin());
  list.front().open = false;
}

}  // namespace bf_aot::pieces
