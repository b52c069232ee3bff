#include "aot/disturb/picture.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "frontend/diagnostic.h"
#include "runtime/bf/loops/elementary.h"

namespace bf_aot::disturb {
namespace {

using bf::loops::hull;
using bf::loops::outward;
using bf::loops::square;

using bf::loops::magnitude;

// Sums and products of numbers that are not negative, rounded up.
double plus(double a, double b) {
  return a == 0 ? b : b == 0 ? a : bf::next_up(a + b);
}
double times(double a, double b) {
  return a == 0 || b == 0 ? 0 : bf::next_up(a * b);
}

// Functions of as many parameters as `slopes` says, and their derivatives.
struct Arithmetic {
  std::size_t slopes;

  Dual constant(const Range& value) const { return {value, {}, 0}; }
  Dual parameter(const Range& value, std::size_t j) const {
    Dual made{value, {}, 0};
    if (j < slopes) made.slope[j] = {1, 1};
    return made;
  }
  Dual add(const Dual& a, const Dual& b) const {
    Dual made{a.value + b.value, {}, plus(a.error, b.error)};
    for (std::size_t j = 0; j < slopes; ++j) made.slope[j] = a.slope[j] + b.slope[j];
    return made;
  }
  Dual subtract(const Dual& a, const Dual& b) const {
    Dual made{a.value - b.value, {}, plus(a.error, b.error)};
    for (std::size_t j = 0; j < slopes; ++j) made.slope[j] = a.slope[j] - b.slope[j];
    return made;
  }
  // (s + e)(t + f) = s t + s f + t e + e f.
  Dual multiply(const Dual& a, const Dual& b) const {
    Dual made = with_slopes(a.value * b.value, {{b.value, a}, {a.value, b}});
    if (a.error == 0 && b.error == 0) return made;
    made.error = plus(plus(times(magnitude(a.value), b.error), times(magnitude(b.value), a.error)),
                      times(a.error, b.error));
    return widened(made);
  }
  Dual scale(const Dual& a, const Range& by) const {
    Dual made = with_slopes(a.value * by, {{by, a}});
    made.error = times(magnitude(by), a.error);
    return made;
  }
  // Both have derivatives: their errors are 0.
  Dual divide(const Dual& a, const Dual& b) const {
    BF_CHECK(a.error == 0 && b.error == 0);
    const Range value = a.value / b.value;
    Dual made{value, {}, 0};
    for (std::size_t j = 0; j < slopes; ++j)
      made.slope[j] = (a.slope[j] - value * b.slope[j]) / b.value;
    return made;
  }

  // A function of some duals by its value and its derivatives by each of them.
  struct Term {
    Range factor;
    const Dual& of;
  };
  Dual with_slopes(const Range& value, std::initializer_list<Term> terms) const {
    Dual made{value, {}, 0};
    for (std::size_t j = 0; j < slopes; ++j)
      for (const Term& term : terms) made.slope[j] = made.slope[j] + term.factor * term.of.slope[j];
    return made;
  }
  // The values of the part with derivatives, too, which are within the error of all values.
  static Dual widened(Dual x) {
    if (x.error > 0) x.value = x.value + Range{-x.error, x.error};
    return x;
  }
};

constexpr Range kZero = {0, 0}, kOne = {1, 1};

// pi lies between these doubles.
constexpr Range kPi = {0x1.921fb54442d18p+1, 0x1.921fb54442d19p+1};

Range sine(const Range& x) {
  return bf::loops::wave(bf::loops::sine, x, bf::loops::kShiftOfSine);
}
Range cosine(const Range& x) {
  return bf::loops::wave(bf::loops::cosine, x, bf::loops::kShiftOfCosine);
}

// e^x for x <= 0.
Range power_of_e(const Range& x) {
  const double low = std::max(x.low, -bf::loops::kMostPower);
  const double high = std::clamp(x.high, -bf::loops::kMostPower, 0.0);
  Range made = bf::loops::exponential({std::min(low, high), high});
  if (x.low < -bf::loops::kMostPower) made.low = 0;
  return {std::max(made.low, 0.0), std::min(made.high, 1.0)};
}

struct Point {
  Dual x, y;  // columns to the right, rows down, from the centre
};

Dual rotated(const Arithmetic& a, const Dual& c, const Dual& u, const Dual& s, const Dual& v) {
  return a.add(a.multiply(c, u), a.multiply(s, v));
}

// Where the pixel at `to` comes from: the inverse of what the disturbance does.
class Move {
 public:
  Move(const Arithmetic& arithmetic, Kind kind, const Dual& parameter)
      : a_(arithmetic), kind_(kind), by_(parameter) {
    if (kind_ != Kind::kRotation) return;
    const Range radians = kPi / Range{180, 180};
    const Range angle = by_.value * radians;
    const Range sin = sine(angle), cos = cosine(angle);
    sine_ = a_.with_slopes(sin, {{cos * radians, by_}});
    cosine_ = a_.with_slopes(cos, {{-(sin * radians), by_}});
    minus_sine_ = a_.subtract(a_.constant(kZero), sine_);
  }

  Point source(const Point& to) const {
    switch (kind_) {
      case Kind::kRotation:
        return {rotated(a_, cosine_, to.x, minus_sine_, to.y),
                rotated(a_, sine_, to.x, cosine_, to.y)};
      case Kind::kScaling:
        return {a_.divide(to.x, by_), a_.divide(to.y, by_)};
      case Kind::kShearing:
        return {a_.subtract(to.x, a_.multiply(by_, to.y)), to.y};
      case Kind::kTranslationX:
        return {a_.subtract(to.x, by_), to.y};
      case Kind::kTranslationY:
        return {to.x, a_.subtract(to.y, by_)};
      case Kind::kBlur:
      case Kind::kContrast:
      case Kind::kBrightness:
      case Kind::kFog:
      case Kind::kOcclusion:
      case Kind::kPatch:
        break;
    }
    return to;
  }

 private:
  Arithmetic a_;
  Kind kind_;
  Dual by_, sine_, cosine_, minus_sine_;
};

bool moves_pixels(Kind kind) {
  return kind <= Kind::kTranslationY;
}

// The cells [n, n + 1] in which a coordinate lies. Beyond cells -2 and `extent`, which are of
// zeros, there is nothing else. Of one that it enters by no more than kSliver nothing is told but
// how far.
struct Cells {
  std::ptrdiff_t first, last;
  double sliver;
};
constexpr double kSliver = 0x1p-40;

Cells cells_of(const Range& at, std::size_t extent) {
  const double most = static_cast<double>(extent) + 0.5;
  const double low = std::floor(std::clamp(at.low, -1.5, most));
  const double high = std::floor(std::clamp(at.high, -1.5, most));
  Cells cells = {static_cast<std::ptrdiff_t>(low), static_cast<std::ptrdiff_t>(high), 0};
  const double above = bf::next_up(at.high - high), below = bf::next_up(low + 1 - at.low);
  if (cells.first < cells.last && above <= kSliver) {
    --cells.last;
    cells.sliver = above;
  }
  if (cells.first < cells.last && below <= kSliver) {
    ++cells.first;
    cells.sliver = std::max(cells.sliver, below);
  }
  return cells;
}

// The part of a coordinate in the cell that begins at n, from 0 to 1.
Range within(const Range& at, std::ptrdiff_t n) {
  const auto begin = static_cast<double>(n);
  const Range shifted = at - Range{begin, begin};
  return {std::clamp(shifted.low, 0.0, 1.0), std::clamp(shifted.high, 0.0, 1.0)};
}

Range between(const Range& a, const Range& b, double share) {
  if (share == 0) return a;
  if (share == 1) return b;
  return a + (b - a) * Range{share, share};
}

// A picture's value and its derivatives by both coordinates.
struct Sampled {
  Range value, by_x, by_y;
};

// In one cell a value is bilinear, so that its extremes on a rectangle are at corners; a derivative
// by one coordinate is linear in the other.
Sampled in_cell(const std::array<Range, 4>& p, const Range& x, const Range& y, bool slopes) {
  const Range top_low = between(p[0], p[1], x.low), top_high = between(p[0], p[1], x.high);
  const Range low_low = between(p[2], p[3], x.low), low_high = between(p[2], p[3], x.high);
  Sampled made;
  made.value = hull(hull(between(top_low, low_low, y.low), between(top_low, low_low, y.high)),
                    hull(between(top_high, low_high, y.low), between(top_high, low_high, y.high)));
  if (!slopes) return made;
  const Range top = p[1] - p[0], low = p[3] - p[2];
  made.by_x = hull(between(top, low, y.low), between(top, low, y.high));
  made.by_y = hull(low_low - top_low, low_high - top_high);
  return made;
}

class Sampling {
 public:
  Sampling(const Picture& picture, std::span<const Range> values)
      : picture_(picture), values_(values) {
    Range all = kZero;
    for (const Range& value : values) all = hull(all, value);
    span_ = bf::loops::width(all);
  }

  // On slivers of other cells the picture and the cells' own function, continued, are apart by at
  // most 5 slivers times the picture's span, and its derivatives leave theirs by at most 2.
  Dual at(std::size_t c, const Point& from, const Range& x, const Range& y,
          const Arithmetic& a) const {
    const Cells columns = cells_of(x, picture_.width), rows = cells_of(y, picture_.height);
    Sampled all;
    bool begun = false;
    for (std::ptrdiff_t m = rows.first; m <= rows.last; ++m)
      for (std::ptrdiff_t n = columns.first; n <= columns.last; ++n) {
        const Sampled cell = in_cell(
            {pixel(c, m, n), pixel(c, m, n + 1), pixel(c, m + 1, n), pixel(c, m + 1, n + 1)},
            within(x, n), within(y, m), a.slopes > 0);
        all.value = begun ? hull(all.value, cell.value) : cell.value;
        all.by_x = begun ? hull(all.by_x, cell.by_x) : cell.by_x;
        all.by_y = begun ? hull(all.by_y, cell.by_y) : cell.by_y;
        begun = true;
      }
    const double sliver = std::max(columns.sliver, rows.sliver);
    if (sliver > 0) {
      const double more = times(2 * sliver, span_);
      all.by_x = all.by_x + Range{-more, more};
      all.by_y = all.by_y + Range{-more, more};
    }
    Dual made = a.with_slopes(all.value, {{all.by_x, from.x}, {all.by_y, from.y}});
    made.error = times(5 * sliver, span_);
    return Arithmetic::widened(made);
  }

 private:
  Range pixel(std::size_t c, std::ptrdiff_t y, std::ptrdiff_t x) const {
    const bool inside = y >= 0 && x >= 0 && y < static_cast<std::ptrdiff_t>(picture_.height) &&
                        x < static_cast<std::ptrdiff_t>(picture_.width);
    return inside
               ? values_[picture_.at(c, static_cast<std::size_t>(y), static_cast<std::size_t>(x))]
               : kZero;
  }

  const Picture& picture_;
  std::span<const Range> values_;
  double span_ = 0;
};

// Weights of a Gaussian at whole distances 0, 1, .. along one side, over their sum over both: those
// of a distance d are g_d = e^(-d^2 / (2 s^2)), and 0 for d > 0 where s = 0.
std::vector<Dual> weights_of(const Arithmetic& a, const Dual& deviation, std::size_t reach) {
  const Range s = deviation.value;
  std::vector<Dual> weights = {a.constant(kOne)};
  Dual sum = a.constant(kOne);
  for (std::size_t d = 1; d <= reach; ++d) {
    const double distance = static_cast<double>(d);
    const Range half = Range{distance, distance} * Range{distance, distance} / Range{2, 2};
    // At both ends of s: g rises with s.
    const auto at = [&](double end) {
      return end == 0 ? kZero : power_of_e(-(half / square(Range{end, end})));
    };
    const Range low = at(s.low), high = at(s.high);
    const Range value = {low.low, high.high};
    // g' = 2 half / s^3 g rises up to s^2 = 2 half / 3 and falls from there: its largest value is
    // 3 sqrt(3 / (2 half)) e^(-3 / 2) < 1.16 / d.
    const auto rate = [&](double end, const Range& g) {
      return end == 0 ? kZero
                      : Range{2, 2} * half / (Range{end, end} * square(Range{end, end})) * g;
    };
    Range slope = hull(rate(s.low, low), rate(s.high, high));
    const Range top = Range{2, 2} * half / Range{3, 3};
    if (square(Range{s.low, s.low}).low <= top.high &&
        square(Range{s.high, s.high}).high >= top.low)
      slope.high = std::max(slope.high, 1.16 / distance);
    Dual weight = a.with_slopes(value, {{slope, deviation}});
    sum = a.add(sum, a.scale(weight, {2, 2}));
    weights.push_back(weight);
  }
  for (Dual& weight : weights) weight = a.divide(weight, sum);
  return weights;
}

// The number of pixels that a Gaussian reaches: three standard deviations, rounded up.
std::size_t reach_of(const Parameter& blur) {
  const mpq_class three = 3 * blur.upper;
  mpz_class reach;
  mpz_cdiv_q(reach.get_mpz_t(), three.get_num_mpz_t(), three.get_den_mpz_t());
  return reach.get_ui();
}

// Along one side: every element becomes the weighted sum of its neighbours, 0 outside.
std::vector<Dual> blurred(const Arithmetic& a, const Picture& picture,
                          const std::vector<Dual>& values, const std::vector<Dual>& weights,
                          bool along_rows) {
  std::vector<Dual> made(values.size());
  const auto height = static_cast<std::ptrdiff_t>(picture.height);
  const auto width = static_cast<std::ptrdiff_t>(picture.width);
  const auto reach = static_cast<std::ptrdiff_t>(weights.size()) - 1;
  for (std::size_t c = 0; c < picture.channels; ++c)
    for (std::ptrdiff_t y = 0; y < height; ++y)
      for (std::ptrdiff_t x = 0; x < width; ++x) {
        Dual sum = a.constant(kZero);
        for (std::ptrdiff_t d = -reach; d <= reach; ++d) {
          const std::ptrdiff_t row = along_rows ? y : y + d, column = along_rows ? x + d : x;
          if (row < 0 || column < 0 || row >= height || column >= width) continue;
          const Dual& value = values[picture.at(c, static_cast<std::size_t>(row),
                                                static_cast<std::size_t>(column))];
          sum = a.add(sum, a.multiply(weights[static_cast<std::size_t>(d < 0 ? -d : d)], value));
        }
        made[picture.at(c, static_cast<std::size_t>(y), static_cast<std::size_t>(x))] = sum;
      }
  return made;
}

// The value cut at an end: its derivatives are 0 where it is beyond.
void cut(Dual& x, double end, bool from_below, std::size_t slopes) {
  const bool beyond = from_below ? x.value.high <= end : x.value.low >= end;
  const bool may_be = from_below ? x.value.low < end : x.value.high > end;
  if (!may_be) return;
  for (std::size_t j = 0; j < slopes; ++j) x.slope[j] = beyond ? kZero : hull(x.slope[j], kZero);
  const auto moved = [&](double v) { return from_below ? std::max(v, end) : std::min(v, end); };
  x.value = {moved(x.value.low), moved(x.value.high)};
}

// Numbers are known between two doubles: a cut at one that is no double is enclosed by cuts at
// both.
void cut(Dual& x, const vnnlib::Number& end, bool from_below, std::size_t slopes) {
  Dual other = x;
  cut(x, end.below, from_below, slopes);
  if (end.is_double()) return;
  cut(other, end.above, from_below, slopes);
  x.value = hull(x.value, other.value);
  for (std::size_t j = 0; j < slopes; ++j) x.slope[j] = hull(x.slope[j], other.slope[j]);
}

Range range_of(const vnnlib::Number& number) {
  return {number.below, number.above};
}

const vnnlib::Number& of_channel(const std::vector<vnnlib::Number>& numbers, std::size_t channel) {
  return numbers[numbers.size() == 1 ? 0 : channel];
}

}  // namespace

PictureMaker::PictureMaker(std::vector<Parameter> parameters, const Picture& picture,
                           const input::Normalisation& normalisation,
                           std::vector<std::size_t> channel)
    : parameters_(std::move(parameters)),
      picture_(picture),
      normalisation_(normalisation),
      channel_(std::move(channel)),
      ranges_(static_cast<std::size_t>(std::ranges::count_if(
          parameters_, [](const Parameter& each) { return !each.is_place(); }))) {}

std::vector<Range> PictureMaker::scaled(std::span<const double> stored) const {
  std::vector<Range> made;
  for (const double value : stored) {
    const Range exact = {value, value};
    made.push_back(normalisation_.scale ? exact / range_of(*normalisation_.scale) : exact);
  }
  return made;
}

Range PictureMaker::normalised(const Range& value, std::size_t i) const {
  Range made = value;
  const input::Normalisation& n = normalisation_;
  if (!n.mean.empty()) made = made - range_of(of_channel(n.mean, channel_[i]));
  if (!n.deviation.empty()) made = made / range_of(of_channel(n.deviation, channel_[i]));
  return made;
}

Range PictureMaker::cover(Kind kind) const {
  if (kind == Kind::kOcclusion || !normalisation_.range) return kZero;
  return {normalisation_.range->first.below, normalisation_.range->second.above};
}

std::vector<Dual> PictureMaker::disturbed(std::span<const Range> picture,
                                          std::span<const Range> at) const {
  return make(picture, at, ranges_);
}

std::vector<Range> PictureMaker::values(std::span<const Range> picture,
                                        std::span<const Range> at) const {
  std::vector<Range> values;
  for (const Dual& each : make(picture, at, 0)) values.push_back(each.value);
  return values;
}

std::vector<Dual> PictureMaker::make(std::span<const Range> picture, std::span<const Range> at,
                                     std::size_t slopes) const {
  const Arithmetic a{slopes};
  std::vector<Move> moves;
  for (std::size_t j = 0; j < ranges_; ++j)
    if (moves_pixels(parameters_[j].kind))
      moves.emplace_back(a, parameters_[j].kind, a.parameter(at[j], j));

  std::vector<Dual> made(picture.size());
  if (moves.empty()) {
    for (std::size_t i = 0; i < picture.size(); ++i) made[i].value = picture[i];
  } else {
    const Sampling sampling(picture_, picture);
    const double middle_x = static_cast<double>(picture_.width - 1) / 2;
    const double middle_y = static_cast<double>(picture_.height - 1) / 2;
    for (std::size_t y = 0; y < picture_.height; ++y)
      for (std::size_t x = 0; x < picture_.width; ++x) {
        const double dx = static_cast<double>(x) - middle_x;
        const double dy = static_cast<double>(y) - middle_y;
        Point point = {a.constant({dx, dx}), a.constant({dy, dy})};
        for (std::size_t k = moves.size(); k > 0; --k) point = moves[k - 1].source(point);
        const Range column = point.x.value + Range{middle_x, middle_x};
        const Range row = point.y.value + Range{middle_y, middle_y};
        for (std::size_t c = 0; c < picture_.channels; ++c)
          made[picture_.at(c, y, x)] = sampling.at(c, point, column, row, a);
      }
  }

  for (std::size_t j = 0; j < ranges_; ++j) {
    if (parameters_[j].kind != Kind::kBlur) continue;
    const std::vector<Dual> weights =
        weights_of(a, a.parameter(at[j], j), reach_of(parameters_[j]));
    made = blurred(a, picture_, made, weights, true);
    made = blurred(a, picture_, made, weights, false);
  }

  const Range fog = normalisation_.range ? range_of(normalisation_.range->second) : kOne;
  for (std::size_t j = 0; j < ranges_; ++j) {
    const Dual by = a.parameter(at[j], j);
    const Dual rest = a.subtract(a.constant(kOne), by);
    for (Dual& x : made) {
      if (parameters_[j].kind == Kind::kContrast) x = a.multiply(x, by);
      if (parameters_[j].kind == Kind::kBrightness) x = a.add(x, by);
      if (parameters_[j].kind == Kind::kFog) x = a.add(a.multiply(rest, x), a.scale(by, fog));
    }
  }

  for (std::size_t i = 0; i < made.size(); ++i) {
    if (normalisation_.range) {
      cut(made[i], normalisation_.range->first, true, slopes);
      cut(made[i], normalisation_.range->second, false, slopes);
    }
    made[i].value = normalised(made[i].value, i);
    if (normalisation_.deviation.empty()) continue;
    const Range deviation = range_of(of_channel(normalisation_.deviation, channel_[i]));
    for (std::size_t j = 0; j < slopes; ++j) made[i].slope[j] = made[i].slope[j] / deviation;
    if (made[i].error > 0) made[i].error = magnitude(Range{0, made[i].error} / deviation);
  }
  return made;
}

}  // namespace bf_aot::disturb
