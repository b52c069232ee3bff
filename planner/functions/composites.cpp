#include "planner/functions/composites.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <utility>

#include "frontend/functions/composite/borders.h"
#include "frontend/functions/composite/branches.h"
#include "planner/functions/function_recipes.h"

namespace bf_aot::pieces {
namespace {

using Kind = CompositeStep::Kind;

std::size_t index(int step) {
  return static_cast<std::size_t>(step);
}

Interval hull(const Interval& a, const Interval& b) {
  Interval made;
  mpfr_min(made.low, a.low, b.low, MPFR_RNDD);
  mpfr_max(made.high, a.high, b.high, MPFR_RNDU);
  return made;
}

// The steps' series, given those of functions: of(step number, series of its argument).
template <typename OfFunction>
Series series_of(const std::vector<CompositeStep>& steps, const Series& x, const OfFunction& of) {
  std::vector<Series> known;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const CompositeStep& step = steps[i];
    const auto left = [&]() -> const Series& { return known[index(step.left)]; };
    const auto right = [&]() -> const Series& { return known[index(step.right)]; };
    switch (step.kind) {
      case Kind::kVariable:
        known.push_back(x);
        break;
      case Kind::kLine:
        known.push_back(interval_of(step.factor) * left() + interval_of(step.offset));
        break;
      case Kind::kSum:
        known.push_back(left() + right());
        break;
      case Kind::kProduct:
        known.push_back(left() * right());
        break;
      case Kind::kFunction:
        known.push_back(of(i, left()));
        break;
    }
  }
  return std::move(known.back());
}

Series smooth_series(const Function& f, const Series& u) {
  return recipe_of(f.kind).series(f, u);
}

Series line_series(const Branch& branch, const Series& u) {
  return Interval(branch.slope) * u + Interval(branch.intercept);
}

// The Taylor coefficients inside a smooth part.
Formula formula_of_part(const Composite& composite, std::vector<std::uint8_t> chosen) {
  return [&composite, chosen = std::move(chosen)](const Interval& x, int order) {
    const auto& steps = composite.steps();
    return series_of(steps, variable(x, order), [&](std::size_t i, const Series& u) {
      const Function& f = steps[i].function;
      const Branches all = *branches_of(f);
      if (chosen[i] >= kAtBreak)
        return Interval(0) * u + Interval(all.at[static_cast<std::size_t>(chosen[i] - kAtBreak)]);
      const Branch& branch = all.branches[chosen[i]];
      return branch.smooth ? smooth_series(f, u) : line_series(branch, u);
    });
  };
}

bool holds(const Interval& x, double y) {
  return mpfr_cmp_d(x.low, y) <= 0 && mpfr_cmp_d(x.high, y) >= 0;
}

// Values of a function that may be on several branches: those of each branch whose closure the
// argument meets, and at breaks that it holds. At a break alone it is the value there.
Series values_across(const Function& f, const Series& u) {
  const Branches all = *branches_of(f);
  const Interval& x = u[0];
  std::vector<Interval> values;
  for (std::size_t k = 0; k < all.at.size(); ++k)
    if (holds(x, all.breaks[k])) values.emplace_back(all.at[k]);
  const bool at_break = values.size() == 1 && mpfr_cmp(x.low, x.high) == 0;
  for (std::size_t k = 0; k < all.branches.size() && !at_break; ++k) {
    const bool above = k == 0 || mpfr_cmp_d(x.high, all.breaks[k - 1]) >= 0;
    const bool below = k == all.breaks.size() || mpfr_cmp_d(x.low, all.breaks[k]) <= 0;
    if (!above || !below) continue;
    const Branch& branch = all.branches[k];
    values.push_back((branch.smooth ? smooth_series(f, u) : line_series(branch, u))[0]);
  }
  Interval made = values.at(0);
  for (const Interval& value : values) made = hull(made, value);
  return {made};
}

Piece border_piece(const Composite& composite, double start, double end) {
  const auto& steps = composite.steps();
  const Interval value = series_of(
      steps, variable(Interval(start, end), 0),
      [&](std::size_t i, const Series& u) { return values_across(steps[i].function, u); })[0];
  return between(start, double_below(value), double_above(value));
}

}  // namespace

List of_composite(const Composite& composite) {
  List made;
  const std::vector<CompositePart>& parts = composite.parts();
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const CompositePart& part = parts[i];
    Piece piece;
    switch (part.kind) {
      case CompositePart::Kind::kLine:
        piece = line(part.start, part.intercept, part.slope, part.error);
        break;
      case CompositePart::Kind::kSmooth:
        piece = smooth(part.start);
        piece.formula = formula_of_part(composite, part.branches);
        break;
      case CompositePart::Kind::kBorder:
        piece = border_piece(composite, part.start, parts.at(i + 1).start);
        break;
      case CompositePart::Kind::kBeyond:
        piece = unknown(part.start);
        piece.low = part.low;
        piece.high = part.high;
        break;
    }
    piece.open = part.open;
    made.push_back(std::move(piece));
  }
  return made;
}

}  // namespace bf_aot::pieces
