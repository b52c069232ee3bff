#include "frontend/functions/composite/shape.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>

#include "frontend/functions/composite/borders.h"

namespace bf_aot {
namespace {

constexpr double kOutermost = std::numeric_limits<double>::infinity();
constexpr int kMostDegree = 7;

// The distance from a line below which a function's side is bounded by that line, and where sides
// begin at the latest.
constexpr double kNear = 0x1p-40;
constexpr double kLatest = 0x1p20;

// No number of a verifier's floats is as large.
constexpr double kBeyondFloats = 0x1p129;
constexpr double kPowerBeyondFloats = 90;  // e^90 > 2^129

bool is_double(const Interval& x) {
  return double_below(x) == double_above(x) && std::isfinite(double_below(x));
}

// The line of what grows like one: exactly its slope where it has no end. `most`: the largest |x|.
std::optional<CompositePart> line_of(const Growth& growth, double most) {
  if (!growth.known || growth.degree() > 1) return std::nullopt;
  CompositePart part;
  const Interval slope = growth.degree() == 1 ? growth.powers[1] : Interval();
  if (std::isinf(most) && !is_double(slope)) return std::nullopt;
  part.slope = double_below(slope);
  part.intercept = double_below(growth.powers[0]);
  Interval miss = growth.powers[0] - Interval(part.intercept);
  if (!is_double(slope)) {
    const Interval turned = slope - Interval(part.slope);
    miss = miss + turned * Interval(-most, most);
  }
  const Real size = magnitude(miss);
  part.error = double_above(Interval(size, size) + growth.size);
  if (!std::isfinite(part.slope) || !std::isfinite(part.intercept) || !std::isfinite(part.error))
    return std::nullopt;
  return part;
}

class ShapeMaker {
 public:
  ShapeMaker(const std::vector<CompositeStep>& steps, Borders borders)
      : steps_(steps), borders_(std::move(borders)) {}

  std::optional<CompositeShape> make() {
    for (std::size_t i = 0; i < borders_.branches.size(); ++i) {
      if (!add_gap(gap_of(borders_.borders, i), borders_.branches[i])) return std::nullopt;
      if (i < borders_.borders.size()) add_border(borders_.borders[i]);
    }
    return std::move(made_);
  }

 private:
  void add(CompositePart part, double start) {
    part.start = start;
    part.open = std::exchange(open_, false);
    made_.parts.push_back(std::move(part));
  }

  // A border that is one number, at which the function is continuous, needs no part of its own.
  void add_border(const Border& border) {
    if (border.low == border.high && !border.jumps) return;
    std::optional<CompositePart> value;
    if (border.low == border.high)
      value = line_of(value_at(steps_, border.low), std::fabs(border.low));
    if (!value) value.emplace().kind = CompositePart::Kind::kBorder;
    add(*std::move(value), border.low);
    open_ = true;
  }

  bool add_gap(const Gap& gap, const std::vector<std::uint8_t>& branches) {
    const Growth growth = growths_of(steps_, branches, std::nullopt).back();
    const double most = std::max(std::fabs(gap.low), std::fabs(gap.high));
    if (auto line = line_of(growth, most)) {
      add(*std::move(line), gap.low);
      return true;
    }
    Gap smooth = gap;
    std::optional<CompositePart> after;
    if (std::isinf(gap.low)) {
      auto side = side_of(-1, gap.high, branches);
      if (!side) return false;
      smooth.low = -side->first;
      add(std::move(side->second), gap.low);
    }
    if (std::isinf(gap.high)) {
      auto side = side_of(1, gap.low, branches);
      if (!side) return false;
      smooth.high = side->first;
      after = std::move(side->second);
    }
    if (smooth.low < smooth.high) add_smooth(smooth, branches, growth);
    if (after) add(*std::move(after), smooth.high);
    return true;
  }

  void add_smooth(const Gap& gap, const std::vector<std::uint8_t>& branches, const Growth& growth) {
    CompositePart part;
    part.kind = CompositePart::Kind::kSmooth;
    part.branches = branches;
    add(std::move(part), gap.low);
    const bool polynomial = growth.is_polynomial() && growth.degree() <= kMostDegree;
    made_.degree = std::max(made_.degree, polynomial ? growth.degree() : kMostDegree);
  }

  std::optional<CompositePart> line_from(const Side& side,
                                         const std::vector<std::uint8_t>& branches) const {
    return line_of(growths_of(steps_, branches, side).back(), kOutermost);
  }

  // Where the function is near a line to one side, and that line, or where it leaves the floats. It
  // does not begin beyond `edge`.
  std::optional<std::pair<double, CompositePart>> side_of(
      double sign, double edge, const std::vector<std::uint8_t>& branches) const {
    const double first = std::max(std::isinf(edge) ? 4 : sign * edge, 4.0);
    auto line = near_line(sign, first, branches);
    return line ? line : beyond_floats(sign, first, branches);
  }

  // All coefficients of the expression have one sign there, so that its curvature has one, too.
  std::optional<std::pair<double, CompositePart>> beyond_floats(
      double sign, double start, const std::vector<std::uint8_t>& branches) const {
    for (; start < 2 * kBeyondFloats; start *= start < 0x1p12 ? 1.125 : 2) {
      const Side side = {sign, start};
      const std::vector<Growth> known = growths_of(steps_, branches, side);
      const Beyond values = values_beyond(known.back(), side);
      const bool leaves = values.low >= kBeyondFloats || values.high <= -kBeyondFloats;
      if (!leaves && !has_large_power(known, side)) continue;
      CompositePart part;
      part.kind = CompositePart::Kind::kBeyond;
      part.low = values.low;
      part.high = values.high;
      return std::pair(start, std::move(part));
    }
    return std::nullopt;
  }

  // Returns true if the expression is a sum of products with some e^u that is beyond the floats all
  // over the side. No function may have that in its argument: its values may be near a line then.
  bool has_large_power(const std::vector<Growth>& known, const Side& side) const {
    std::vector<bool> large(steps_.size(), false);
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      const CompositeStep& step = steps_[i];
      const auto left = static_cast<std::size_t>(step.left);
      const auto right = static_cast<std::size_t>(step.right);
      switch (step.kind) {
        case CompositeStep::Kind::kVariable:
          break;
        case CompositeStep::Kind::kLine:
          large[i] = large[left];
          break;
        case CompositeStep::Kind::kSum:
        case CompositeStep::Kind::kProduct:
          large[i] = large[left] || large[right];
          break;
        case CompositeStep::Kind::kFunction:
          if (large[left]) return false;
          large[i] = step.function.kind == FunctionKind::kExp &&
                     values_beyond(known[left], side).low >= kPowerBeyondFloats;
          break;
      }
    }
    return large.back();
  }

  std::optional<std::pair<double, CompositePart>> near_line(
      double sign, double start, const std::vector<std::uint8_t>& branches) const {
    if (!line_from({sign, kLatest}, branches)) return std::nullopt;
    for (; start <= kLatest; start += start < 64 ? 0.25 : start / 8) {
      auto line = line_from({sign, start}, branches);
      if (line && line->error <= kNear * (1 + std::fabs(line->intercept)))
        return std::pair(start, *std::move(line));
    }
    return std::nullopt;
  }

  const std::vector<CompositeStep>& steps_;
  const Borders borders_;
  CompositeShape made_;
  bool open_ = false;
};

}  // namespace

std::optional<CompositeShape> shape_of(const std::vector<CompositeStep>& steps) {
  std::optional<Borders> borders = borders_of(steps);
  if (!borders) return std::nullopt;
  return ShapeMaker(steps, *std::move(borders)).make();
}

}  // namespace bf_aot
