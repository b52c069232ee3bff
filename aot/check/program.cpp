#include "aot/check/program.h"

#include <algorithm>
#include <array>
#include <optional>

namespace bf_check {
namespace {

constexpr unsigned kPlaceBits = 7;   // of places of lines
constexpr unsigned kFinerBits = 8;   // of values by which slopes are chosen, beyond 2^-T
constexpr unsigned kShareBits = 32;  // of what a piece's ends contribute to its bound
constexpr u64 kSmoothSteps = 1 << 10, kOtherSteps = 1 << 5;

bool is_smooth(Op op) {
  return op >= Op::kReciprocal;
}

// A step that is not of the kind that a function is about.
[[noreturn]] void refuse_step() {
  refuse("a function has a step out of place");
}

// The value at a number of a smooth step that rises everywhere.
Range rising_at(Op op, i128 x) {
  switch (op) {
    case Op::kExp:
      return exponential(x);
    case Op::kLog:
      return narrowed(logarithm(x));
    case Op::kSqrt:
      return square_root(std::max<i128>(x, 0));
    case Op::kAtan:
      return narrowed(arctangent(x));
    case Op::kErf:
      return error_function(x);
    case Op::kSigmoid:
      return sigmoid(x);
    case Op::kArgument:
    case Op::kConstant:
    case Op::kAdd:
    case Op::kMul:
    case Op::kMax:
    case Op::kMin:
    case Op::kFloor:
    case Op::kRound:
    case Op::kSign:
    case Op::kReciprocal:
    case Op::kSin:
    case Op::kCos:
      break;
  }
  refuse_step();
}

// Values of a smooth step that were made last: the ends of neighbours are the same.
class Recent {
 public:
  const Range& at(Op op, i128 x) {
    for (const auto& [argument, value] : known_)
      if (argument == x && value.low <= value.high) return value;
    auto& [argument, value] = known_[next_++ % known_.size()];
    value = rising_at(op, x);
    argument = x;
    return value;
  }

 private:
  std::array<std::pair<i128, Range>, 4> known_ = {
      {{0, {1, 0}}, {0, {1, 0}}, {0, {1, 0}}, {0, {1, 0}}}};
  unsigned next_ = 0;
};

// The values of a smooth step on an interval. Numbers at which it has none do not count.
Range image(Op op, const Range& x, Recent& recent) {
  if (op == Op::kReciprocal) return reciprocal(x);
  if (op == Op::kSin || op == Op::kCos) return sine(x, op == Op::kSin ? 0 : 1);
  return {recent.at(op, x.low).low, recent.at(op, x.high).high};
}

// The derivative of a smooth step on an interval x on which its values are y; none where it is not
// bounded.
std::optional<Range> derivative(Op op, const Range& x, const Range& y) {
  const Range one = {kOne, kOne};
  switch (op) {
    case Op::kReciprocal:
      return -squared(y);
    case Op::kExp:
      return y;
    case Op::kLog:
      return reciprocal(x);
    case Op::kSqrt:
      return x.low > 0 && y.low > 0 ? std::optional(reciprocal(y + y)) : std::nullopt;
    case Op::kSin:
      return sine(x, 1);
    case Op::kCos:
      return sine(x, 2);
    case Op::kAtan:
      return reciprocal(one + squared(x));
    case Op::kErf:
      return bell(x);
    case Op::kSigmoid: {
      const Range low = {y.low, y.low}, high = {y.high, y.high};
      Range slope = hull(low * (one - low), high * (one - high));
      if (y.low < kOne / 2 && y.high > kOne / 2) slope.high = kOne / 4;
      return slope;
    }
    case Op::kArgument:
    case Op::kConstant:
    case Op::kAdd:
    case Op::kMul:
    case Op::kMax:
    case Op::kMin:
    case Op::kFloor:
    case Op::kRound:
    case Op::kSign:
      break;
  }
  refuse_step();
}

Enclosure fixed_at(const Range& value) {
  return {value, {0, 0}, {0, 0}, true};
}

bool is_zero(const Range& x) {
  return x.low == 0 && x.high == 0;
}

Enclosure operator-(const Enclosure& x) {
  return {-x.value, -x.slope, -x.jump, x.has_slope};
}

Enclosure operator+(const Enclosure& x, const Enclosure& y) {
  return {x.value + y.value, x.slope + y.slope, x.jump + y.jump, x.has_slope && y.has_slope};
}

// f1 f2 = g1 g2 + (g1 n2 + g2 n1 + n1 n2).
Enclosure times(const Enclosure& x, const Enclosure& y, bool same) {
  const Range g = x.value - x.jump, h = y.value - y.jump;
  Enclosure e = fixed_at(same ? squared(x.value) : x.value * y.value);
  e.has_slope = x.has_slope && y.has_slope;
  e.slope = x.slope * h + g * y.slope;
  if (!is_zero(x.jump) || !is_zero(y.jump)) e.jump = g * y.jump + h * x.jump + x.jump * y.jump;
  return e;
}

Enclosure greater(const Enclosure& x, const Enclosure& y) {
  if (x.value.low >= y.value.high) return x;
  if (y.value.low >= x.value.high) return y;
  return {{std::max(x.value.low, y.value.low), std::max(x.value.high, y.value.high)},
          hull(x.slope, y.slope),
          hull(x.jump, y.jump),
          x.has_slope && y.has_slope};
}

// floor, round and sign of a number.
i128 stepped(Op op, i128 x) {
  if (op == Op::kSign) return x > 0 ? kOne : x < 0 ? -kOne : 0;
  if (op == Op::kFloor) return x >> kPlaces << kPlaces;
  const i128 up = (x + kOne / 2) >> kPlaces << kPlaces;
  return up - x == kOne / 2 && (up >> kPlaces) % 2 != 0 ? up - kOne : up;
}

Enclosure jumping(Op op, const Enclosure& x) {
  const Range ends = {stepped(op, x.value.low), stepped(op, x.value.high)};
  if (ends.low == ends.high) return fixed_at(ends);
  if (op == Op::kSign) return {ends, {0, 0}, ends, true};
  const Range half = {-kOne / 2, kOne / 2}, down = {-kOne, 0};
  return {ends, x.slope, x.jump + (op == Op::kFloor ? down : half), x.has_slope};
}

// h(g + n) = h(g) + h'(somewhere) n.
Enclosure smooth(Op op, const Enclosure& x, Recent& recent) {
  Enclosure e = fixed_at(image(op, x.value, recent));
  e.has_slope = false;
  if (!x.has_slope) return e;
  Recent other;
  const Range g = x.value - x.jump, all = hull(g, x.value);
  const bool jumps = !is_zero(x.jump);
  const auto slope = jumps ? derivative(op, g, image(op, g, other)) : derivative(op, g, e.value);
  const auto at_jump = jumps ? derivative(op, all, image(op, all, other)) : slope;
  e.has_slope = slope && at_jump;
  if (e.has_slope) e.slope = *slope * x.slope;
  if (e.has_slope && jumps) e.jump = *at_jump * x.jump;
  return e;
}

bool reads_two(Op op) {
  return op >= Op::kAdd && op <= Op::kMin;
}

// A step that is neither the argument nor fixed.
Enclosure made(const Step& step, const Enclosure& x, const Enclosure& y, Recent& recent) {
  if (is_smooth(step.op)) return smooth(step.op, x, recent);
  switch (step.op) {
    case Op::kAdd:
      return x + y;
    case Op::kMul:
      return times(x, y, step.a == step.b);
    case Op::kMax:
      return greater(x, y);
    case Op::kMin:
      return -greater(-x, -y);
    case Op::kFloor:
    case Op::kRound:
    case Op::kSign:
      return jumping(step.op, x);
    case Op::kArgument:
    case Op::kConstant:
    case Op::kReciprocal:
    case Op::kExp:
    case Op::kLog:
    case Op::kSqrt:
    case Op::kSin:
    case Op::kCos:
    case Op::kAtan:
    case Op::kErf:
    case Op::kSigmoid:
      break;
  }
  refuse_step();
}

// Carries a program out on intervals, one after the other.
class Run {
 public:
  explicit Run(const Program& program)
      : program_(program), made_(program.steps().size()), recent_(program.steps().size()) {}

  const Enclosure& on(const Range& argument) {
    for (std::size_t i = 0; i < made_.size(); ++i) {
      const Step& step = program_.steps()[i];
      made_[i] = step.op == Op::kArgument ? Enclosure{argument, {kOne, kOne}, {0, 0}, true}
                 : step.fixed             ? fixed_at(step.value)
                                          : made(step, made_[step.a], made_[step.b], recent_[i]);
      if (step.op == Op::kSqrt && made_[step.a].value.low < 0) defined_ = false;
    }
    return made_[program_.result()];
  }

  bool is_defined() const { return defined_; }

 private:
  const Program& program_;
  std::vector<Enclosure> made_;
  std::vector<Recent> recent_;
  bool defined_ = true;
};

Rat exact_at(const Step& step, const Rat& a, const Rat& b) {
  switch (step.op) {
    case Op::kConstant:
      return step.number;
    case Op::kAdd:
      return a + b;
    case Op::kMul:
      return a * b;
    case Op::kMax:
      return a < b ? b : a;
    case Op::kMin:
      return a < b ? a : b;
    case Op::kSign:
      return sgn(a);
    case Op::kFloor:
      return floor_shifted(a, 0);
    case Op::kRound: {
      const Int up = floor_shifted(a + Rat(1, 2), 0);
      return up - a == Rat(1, 2) && mpz_odd_p(up.get_mpz_t()) ? Int(up - 1) : up;
    }
    case Op::kReciprocal:
      if (a == 0) refuse("a division by 0");
      return 1 / a;
    case Op::kArgument:
    case Op::kExp:
    case Op::kLog:
    case Op::kSqrt:
    case Op::kSin:
    case Op::kCos:
    case Op::kAtan:
    case Op::kErf:
    case Op::kSigmoid:
      break;
  }
  refuse_step();
}

}  // namespace

u64 Program::cost() const {
  u64 sum = 0;
  for (const Step& step : steps_)
    if (!step.fixed) sum += is_smooth(step.op) ? kSmoothSteps : kOtherSteps;
  return sum;
}

u32 Program::add(Step step) {
  const auto found = std::find(steps_.begin(), steps_.end(), step);
  if (found != steps_.end()) return static_cast<u32>(found - steps_.begin());
  if (steps_.size() >= kMostSteps) refuse("a function has too many steps");
  steps_.push_back(std::move(step));
  return static_cast<u32>(steps_.size() - 1);
}

u32 Program::constant(const Rat& number) {
  return add(Step{Op::kConstant, 0, 0, number, true, fixed(number)});
}

u32 Program::add(Op op, u32 a, u32 b) {
  if (!reads_two(op)) b = a;
  Step step{op, a, b, 0, steps_[a].fixed && steps_[b].fixed, {}};
  if (step.fixed) try {
      Recent recent;
      step.value = made(step, fixed_at(steps_[a].value), fixed_at(steps_[b].value), recent).value;
    } catch (const NotProven& why) {
      refuse(why.what());
    }
  return add(std::move(step));
}

u32 Program::add(const Program& other, u32 at) {
  std::vector<u32> place{at};
  for (std::size_t i = 1; i < other.steps_.size(); ++i) {
    const Step& step = other.steps_[i];
    place.push_back(step.op == Op::kConstant ? add(step)
                                             : add(step.op, place[step.a], place[step.b]));
  }
  return place[other.result_];
}

Program& Program::ends_with(u32 step) {
  result_ = step;
  return *this;
}

Program Program::scaled(const Rat& weight, const Rat& bias) const {
  Program all = *this;
  if (weight != 1) all.result_ = all.add(Op::kMul, all.result_, all.constant(weight));
  if (bias != 0) all.result_ = all.add(Op::kAdd, all.result_, all.constant(bias));
  return all;
}

bool Program::is_rational() const {
  return std::all_of(steps_.begin(), steps_.end(),
                     [](const Step& step) { return step.op <= Op::kReciprocal; });
}

Rat Program::exact(const Rat& x) const {
  std::vector<Rat> made;
  for (const Step& step : steps_)
    made.push_back(made.empty() ? x : exact_at(step, made[step.a], made[step.b]));
  return made[result_];
}

Relaxation::Relaxation(const Program& program, i64 low, i64 high, const Grid& grid) : grid_(grid) {
  Run run(program);
  const i128 unit = static_cast<i128>(1) << (kPlaces - grid.value_bits),
             width = static_cast<i128>(high) - low;
  const i64 count = static_cast<i64>(std::clamp<i128>(width, 1, kPieces));
  const auto at = [&](i64 place) { return run.on({place * unit, place * unit}).value; };
  i64 begin = low;
  Range at_begin = at(low);
  for (i64 i = 1; i <= count; ++i) {
    const i64 end = static_cast<i64>(low + i * width / count);
    const Range at_end = width == 0 ? at_begin : at(end);
    pieces_.push_back({begin, end, at_begin, at_end, run.on({begin * unit, end * unit})});
    begin = end, at_begin = at_end;
  }
  defined_ = run.is_defined();
}

// slope place, rounded down.
i128 Relaxation::times(i64 slope, i64 place) const {
  const i128 unit = static_cast<i128>(1) << (kPlaces - grid_.value_bits);
  return product(slope, place * unit, grid_.weight_bits);
}

// A number that f(z) - slope z does not exceed on the pieces, f being the program or (sign -1) its
// negative.
i128 Relaxation::offset(i64 slope, int sign) const {
  i128 most = offset(pieces_[0], slope, sign);
  for (const Piece& piece : pieces_) most = std::max(most, offset(piece, slope, sign));
  return most;
}

// With [p, q] = D - k, w the width and A, B above g(z) - k z at the ends, for p < 0 < q
// g(z) - k z <= min(A + q t, B - p (w - t)) <= (1 - r) A + r B - r p w + t ((1 - r) q + r p)
// for t in [0, w] and each r in [0, 1]; r is near q / (q - p), for which the last term is 0.
i128 Relaxation::offset(const Piece& piece, i64 slope, int sign) const {
  const bool above = sign > 0;
  const auto signed_ = [&](const Range& x) { return above ? x : -x; };
  const Range value = signed_(piece.inside.value), jump = signed_(piece.inside.jump);
  const i128 at_low = times(slope, piece.low), at_high = times(slope, piece.high);
  const i128 known = in_fixed(value.high - std::min(at_low, at_high));
  if (!piece.inside.has_slope) return known;
  const i128 k = slope * (static_cast<i128>(1) << (kPlaces - grid_.weight_bits));
  const Range d = signed_(piece.inside.slope) - Range{k, k};
  const i128 a = in_fixed(in_fixed(signed_(piece.at_low).high - at_low) - jump.low);
  const i128 b = in_fixed(in_fixed(signed_(piece.at_high).high - at_high) - jump.low);
  i128 most = d.high <= 0 ? a : b;
  if (d.low < 0 && d.high > 0) {
    const i128 width = (static_cast<i128>(piece.high) - piece.low) *
                       (static_cast<i128>(1) << (kPlaces - grid_.value_bits));
    const i128 steep = in_fixed(d.high - d.low);
    const i128 share = std::min(d.high / std::max<i128>(steep >> kShareBits, 1),
                                static_cast<i128>(1) << kShareBits);
    const i128 fall = -product(d.low, width), gap = in_fixed(in_fixed(b - a) + fall);
    const i128 rest = std::max<i128>(d.high - product(share, steep, kShareBits), 0);
    most = in_fixed(in_fixed(a - product(-share, gap, kShareBits)) - product(-rest, width));
  }
  return std::min(known, in_fixed(most + jump.high));
}

// The slope, in 2^-P, of the envelope of the points at the ends of pieces over `at`.
i64 Relaxation::edge(int sign, i64 at) const {
  std::vector<std::pair<i128, i128>> hull;
  const auto add = [&](i64 x, const Range& y) {
    constexpr i128 kMost = static_cast<i128>(1) << 62;
    const i128 end = (sign > 0 ? y.high : -y.low) >> (kPlaces - grid_.value_bits - kFinerBits);
    const i128 value = std::clamp(end, -kMost, kMost);
    const auto is_below = [&] {  // the last point, or on the edge around it
      const auto& [x0, y0] = hull[hull.size() - 2];
      const auto& [x1, y1] = hull.back();
      return (y1 - y0) * (x - x1) <= (value - y1) * (x1 - x0);
    };
    while (hull.size() >= 2 && is_below()) hull.pop_back();
    hull.emplace_back(x, value);
  };
  add(pieces_[0].low, pieces_[0].at_low);
  for (const Piece& piece : pieces_)
    if (piece.high > piece.low) add(piece.high, piece.at_high);
  if (hull.size() < 2) return 0;
  std::size_t i = 1;
  while (i + 1 < hull.size() && hull[i].first <= at) ++i;
  const i128 rise = hull[i].second - hull[i - 1].second, run = hull[i].first - hull[i - 1].first;
  const i128 scaled = rise * (static_cast<i128>(1) << (grid_.weight_bits - kFinerBits)) / run;
  const i128 most = static_cast<i128>(1) << std::min(55u, grid_.weight_bits + 40);
  return static_cast<i64>(std::clamp(scaled, -most, most));
}

// The line is constant where another one would be beyond the grid.
Line Relaxation::line(int sign, unsigned place) const {
  const i64 low = pieces_[0].low, high = pieces_.back().high;
  const i64 at = static_cast<i64>(low + ((static_cast<i128>(high) - low) * place >> kPlaceBits));
  const auto is_large = [](i128 x) { return x >> kValueSize != 0 && -x >> kValueSize != 0; };
  i64 slope = edge(sign, at);
  for (const i64 end : {low, high})
    if (is_large(static_cast<i128>(slope) * end >> grid_.weight_bits)) slope = 0;
  i128 c = ceiling(offset(slope, sign));
  if (is_large(c)) slope = 0, c = ceiling(offset(0, sign));
  if (is_large(c)) throw NotProven("a value is beyond the range of the certificate's grid");
  return {slope * sign, static_cast<i64>(c) * sign};
}

}  // namespace bf_check
