#include "planner/functions/pieces.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "frontend/diagnostic.h"
#include "planner/functions/formulas.h"

namespace bf_aot {

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

// What smooth functions may miss where they have come close to a line.
constexpr double kTail = 0x1p-40;

// Cells near a square-root singularity get ever smaller: they end here, and a constant follows.
constexpr double kNearEnd = 0x1p-44;

Piece line(double start, double intercept, double slope, double error = 0) {
  return {Piece::Kind::kLine, start, false, intercept, slope, error};
}

Piece after(double start, double intercept, double slope) {
  return {Piece::Kind::kLine, start, true, intercept, slope, 0};
}

Piece smooth(double start) {
  return {Piece::Kind::kSmooth, start, false, 0, 0, 0};
}

Piece unknown(double start, bool open = false) {
  return {Piece::Kind::kUnknown, start, open, 0, 0, 0};
}

// A constant piece that holds [low, high].
Piece between(double start, double low, double high) {
  const double centre = low / 2 + high / 2;
  const double error = std::max(high - centre, centre - low) * (1 + 0x1p-50) + 0x1p-1000;
  return line(start, centre, 0, error);
}

using List = std::vector<Piece>;

// min(max(a x + b, 0), 1). A border between lines that is no double becomes a piece of a few ulp,
// where the function, of slope at most |a|, is near the value that it has at the border.
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

// A smooth function with lines at both ends: left constant, right intercept + slope x. `left_side`
// and `right_side`: whether it comes from above (1) or below (-1).
List with_tails(const Formula& f, double left, int left_side, double right, double right_slope,
                int right_side) {
  const double start = tail_start(f, -1, left, 0);
  const double end = tail_start(f, 1, right, right_slope);
  const double half = kTail / 2;
  return {line(-kInf, left + left_side * half, 0, half), smooth(start),
          line(end, right + right_side * half, right_slope, half)};
}

// a (e^(x / scale) - 1) below 0, slope x above.
List elu(double a, double scale, double slope) {
  const double end = -28 * std::fabs(scale);  // e^-28 < 2^-40
  if (!(scale != 0) || !(std::fabs(end) < 0x1p100)) return {unknown(-kInf), line(0, 0, slope)};
  if (scale > 0)
    return {line(-kInf, -a, 0, std::fabs(a) * kTail + 0x1p-1000), smooth(end), line(0, 0, slope)};
  return {unknown(-kInf), smooth(end), line(0, 0, slope)};
}

// Behind this a function that grows like a logarithm is bounded by constants; the floats end at
// 2^128.
constexpr double kFar = 0x1p40;

List tangent() {
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

List steps_and_lines(const Function& f) {
  switch (f.kind) {
    case FunctionKind::kLeakyRelu:
      return {line(-kInf, 0, f.a), line(0, 0, 1)};
    case FunctionKind::kAbs:
      return {line(-kInf, 0, -1), line(0, 0, 1)};
    case FunctionKind::kClip:
      return clip(f.a, f.b);
    case FunctionKind::kHardSigmoid:
      return hard_sigmoid(f.a, f.b);
    case FunctionKind::kThresholdedRelu:
      return {line(-kInf, 0, 0), after(f.a, 0, 1)};
    case FunctionKind::kShrink:
      return shrink(f.a, f.b);
    case FunctionKind::kSign:
      return {line(-kInf, -1, 0), line(0, 0, 0), after(0, 1, 0)};
    case FunctionKind::kStep:
      return {line(-kInf, 0, 0), after(0, 1, 0)};
    case FunctionKind::kStepAt:
      return {line(-kInf, 0, 0), line(0, 1, 0)};
    case FunctionKind::kIsZero:
      return {line(-kInf, 0, 0), line(0, 1, 0), after(0, 0, 0)};
    default:
      break;
  }
  BF_CHECK(false);
  return {};
}

List smooth_pieces(const Function& f, const Formula& formula) {
  switch (f.kind) {
    case FunctionKind::kSigmoid:
      return with_tails(formula, 0, 1, 1, 0, -1);
    case FunctionKind::kTanh:
    case FunctionKind::kErf:
      return with_tails(formula, -1, 1, 1, 0, -1);
    case FunctionKind::kSoftplus:
      return with_tails(formula, 0, 1, 0, 1, 1);
    case FunctionKind::kGelu:
    case FunctionKind::kGeluTanh:
    case FunctionKind::kMish:
      return with_tails(formula, 0, -1, 0, 1, -1);
    case FunctionKind::kSoftsign:  // 1 - 1 / (1 + |x|)
      return {between(-kInf, -1, -1 + 0x1p-30), smooth(-0x1p30), smooth(0),
              between(0x1p30, 1 - 0x1p-30, 1)};
    case FunctionKind::kElu:
      return elu(f.a, 1, 1);
    case FunctionKind::kCelu:
      return elu(f.a, f.a, 1);
    case FunctionKind::kSelu:
      return elu(f.a * f.b, 1, f.b);
    case FunctionKind::kHardSwish:
      return {line(-kInf, 0, 0), smooth(-3), line(3, 0, 1)};
    case FunctionKind::kSin:
    case FunctionKind::kCos:
      return {line(-kInf, 0, 0, 1), smooth(-50), line(50, 0, 0, 1)};
    case FunctionKind::kAtan: {  // pi/2 - 1/x < atan x < pi/2
      const double right_angle = double_above(pi()) / 2;
      return {between(-kInf, -right_angle, -right_angle + 0x1.1p-30), smooth(-0x1p30),
              between(0x1p30, right_angle - 0x1.1p-30, right_angle)};
    }
    case FunctionKind::kSinh:
    case FunctionKind::kCosh:
      return {unknown(-kInf), smooth(-90), unknown(90)};
    case FunctionKind::kAsinh:  // asinh 2^40 > 28, asinh 2^128 < 90
      return {unknown(-kInf), between(-0x1p128, -90, -28), smooth(-kFar), between(kFar, 28, 90),
              unknown(0x1p128)};
    case FunctionKind::kTan:
      return tangent();
    case FunctionKind::kAsin:
      return arc_sine(formula, false);
    case FunctionKind::kAcos:
      return arc_sine(formula, true);
    case FunctionKind::kAcosh:  // acosh(1 + d) < sqrt(2 d)
      return {unknown(-kInf), between(1, 0, 0x1.8p-22), smooth(1 + kNearEnd), between(kFar, 28, 90),
              unknown(0x1p128)};
    case FunctionKind::kAtanh:
      return {unknown(-kInf), smooth(-1 + 0x1p-30), unknown(1 - 0x1p-30)};
    default:
      break;
  }
  BF_CHECK(false);
  return {};
}

// Infinite parameters may leave pieces without points.
void drop_empty(List& pieces) {
  std::erase_if(pieces, [](const Piece& piece) { return piece.start == kInf; });
  while (pieces.size() > 1 && pieces[1].start == -kInf) pieces.erase(pieces.begin());
  pieces.front().open = false;
}

}  // namespace

Pieces pieces_of(const Function& function) {
  Pieces made;
  if (is_piecewise_linear(function.kind)) {
    made.degree = 1;
    made.pieces = steps_and_lines(function);
  } else {
    made.formula = formula_of(function);
    made.pieces = smooth_pieces(function, made.formula);
    if (function.kind == FunctionKind::kHardSwish) made.degree = 2;
  }
  made.monotone = monotone_of(function);
  drop_empty(made.pieces);
  return made;
}

int monotone_of(const Function& f) {
  switch (f.kind) {
    case FunctionKind::kLeakyRelu:
    case FunctionKind::kThresholdedRelu:
    case FunctionKind::kElu:
      return f.a >= 0 ? 1 : 0;
    case FunctionKind::kCelu:
      return f.a > 0 ? 1 : 0;
    case FunctionKind::kSelu:
      return f.a >= 0 && f.b >= 0 ? 1 : 0;
    case FunctionKind::kHardSigmoid:
      return f.a >= 0 ? 1 : -1;
    case FunctionKind::kPower:
      // On x > 0 alone; integer powers know themselves.
      return f.a > 0 ? 1 : -1;
    case FunctionKind::kAcos:
      return -1;
    case FunctionKind::kAbs:
    case FunctionKind::kShrink:
    case FunctionKind::kIsZero:
    case FunctionKind::kHardSwish:
    case FunctionKind::kGelu:
    case FunctionKind::kGeluTanh:
    case FunctionKind::kMish:
    case FunctionKind::kSin:
    case FunctionKind::kCos:
    case FunctionKind::kCosh:
    case FunctionKind::kReciprocal:
    case FunctionKind::kTan:
    case FunctionKind::kAcosh:
      return f.kind == FunctionKind::kAcosh ? 1 : 0;
    default:
      return 1;
  }
}

}  // namespace bf_aot
