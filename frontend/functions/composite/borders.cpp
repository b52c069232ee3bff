#include "frontend/functions/composite/borders.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include "frontend/functions/composite/branches.h"
#include "frontend/functions/composite/roots.h"

namespace bf_aot {
namespace {

constexpr double kEndless = std::numeric_limits<double>::infinity();
constexpr double kFarthest = 0x1p20;
constexpr int kMostRounds = 64;

std::size_t index(int step) {
  return static_cast<std::size_t>(step);
}

// A step, given what is known of those before it.
Growth growth_of_step(const CompositeStep& step, std::uint8_t branch,
                      const std::vector<Growth>& before, const std::optional<Side>& side) {
  using Kind = CompositeStep::Kind;
  const Side any;  // polynomials depend on none
  switch (step.kind) {
    case Kind::kVariable:
      return Growth::variable();
    case Kind::kLine:
      return line(before[index(step.left)], interval_of(step.factor), interval_of(step.offset));
    case Kind::kSum:
      return sum(before[index(step.left)], before[index(step.right)]);
    case Kind::kProduct:
      return product(before[index(step.left)], before[index(step.right)], side.value_or(any));
    case Kind::kFunction:
      break;
  }
  const Branches all = *branches_of(step.function);
  if (branch >= kAtBreak) return Growth::number(all.at[branch - kAtBreak]);
  const Branch& on = all.branches[branch];
  const Growth& argument = before[index(step.left)];
  if (!on.smooth) return line(argument, Interval(on.slope), Interval(on.intercept));
  if (!side && argument.known && argument.degree() > 0) return {};
  return smooth(step.function, argument, side.value_or(any));
}

// The branch that a number is on.
std::optional<std::uint8_t> branch_at(const Branches& all, const Interval& value) {
  const double low = double_below(value), high = double_above(value);
  std::uint8_t branch = 0;
  for (const double at : all.breaks) {
    if (low == at && high == at && !all.at.empty())
      return static_cast<std::uint8_t>(kAtBreak + branch);
    const bool below = high <= at;  // a continuous function is on both of its branches at a break
    if (!below && !(low > at || (low >= at && all.at.empty()))) return std::nullopt;
    if (below && high == at && !all.at.empty()) return std::nullopt;
    branch += below ? 0 : 1;
  }
  return branch;
}

bool touch(const Border& a, const Border& b) {
  return a.low <= b.high && b.low <= a.high;
}

class BorderFinder {
 public:
  explicit BorderFinder(const std::vector<CompositeStep>& steps) : steps_(steps) {}

  std::optional<Borders> find() {
    for (int round = 0; round < kMostRounds; ++round) {
      grown_ = false;
      found_.branches.clear();
      for (std::size_t gap = 0; gap <= found_.borders.size() && !grown_; ++gap)
        if (!choose_branches(gap_of(found_.borders, gap))) return std::nullopt;
      if (!grown_) return found_;
    }
    return std::nullopt;
  }

 private:
  bool choose_branches(const Gap& gap) {
    std::vector<std::uint8_t> chosen(steps_.size(), 0);
    std::vector<Growth> known;
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      if (steps_[i].kind == CompositeStep::Kind::kFunction) {
        const std::optional<Branches> branches = branches_of(steps_[i].function);
        if (!branches) return false;
        const auto branch = branch_on(gap, *branches, known[index(steps_[i].left)]);
        if (!branch) return false;
        if (grown_) return true;
        chosen[i] = *branch;
      }
      known.push_back(growth_of_step(steps_[i], chosen[i], known, std::nullopt));
    }
    found_.branches.push_back(std::move(chosen));
    return true;
  }

  // The branch of a function that its argument is on throughout the gap. Sets grown_ where there is
  // none because of a border that was not known.
  std::optional<std::uint8_t> branch_on(const Gap& gap, const Branches& all,
                                        const Growth& argument) {
    if (all.breaks.empty()) return 0;
    if (!argument.is_polynomial()) return std::nullopt;
    if (argument.degree() == 0) return branch_at(all, argument.powers[0]);
    for (const double at : all.breaks) {
      const auto roots = roots_of(gap, argument, at);
      if (!roots) return std::nullopt;
      for (const Enclosure& root : *roots) {
        const Border border{root.low, root.high, !all.at.empty()};
        mark_jumps(border);
        if (border.high <= gap.low || border.low >= gap.high) continue;
        add(border);
        return 0;
      }
    }
    return branch_within(gap, all, argument);
  }

  // Where the argument of a function is one of its breaks, in the gap or beside it.
  static std::optional<std::vector<Enclosure>> roots_of(const Gap& gap, const Growth& argument,
                                                        double at) {
    if (argument.degree() > 1) {
      std::vector<Interval> powers = argument.powers;
      powers[0] = powers[0] - Interval(at);
      return roots_between(powers, gap.low, gap.high, kFarthest);
    }
    if (argument.powers[1].contains_zero()) return std::nullopt;
    const Interval x = (Interval(at) - argument.powers[0]) / argument.powers[1];
    const Enclosure root{double_below(x), double_above(x)};
    if (!(std::fabs(root.low) <= kFarthest && std::fabs(root.high) <= kFarthest))
      return std::nullopt;
    return std::vector<Enclosure>{root};
  }

  // The argument is a break nowhere in the gap, so that it is on one branch, which a point tells.
  static std::optional<std::uint8_t> branch_within(const Gap& gap, const Branches& all,
                                                   const Growth& argument) {
    for (const double share : {0.5, 0.25, 0.75}) {
      const double x = std::isinf(gap.low) && std::isinf(gap.high) ? share
                       : std::isinf(gap.low)                       ? gap.high - 4 * share
                       : std::isinf(gap.high)                      ? gap.low + 4 * share
                                              : gap.low + share * (gap.high - gap.low);
      if (!(gap.low < x && x < gap.high)) continue;
      const Interval value = polynomial_at(argument.powers, Interval(x));
      const double low = double_below(value), high = double_above(value);
      std::uint8_t branch = 0;
      bool known = true;
      for (const double at : all.breaks) {
        known = known && (high < at || low > at);
        branch += low > at ? 1 : 0;
      }
      if (known) return branch;
    }
    return std::nullopt;
  }

  void mark_jumps(const Border& border) {
    for (Border& each : found_.borders)
      if (border.jumps && touch(each, border)) each.jumps = true;
  }

  void add(Border border) {
    std::vector<Border>& all = found_.borders;
    for (bool merged = true; merged;) {
      const auto other =
          std::find_if(all.begin(), all.end(), [&](const Border& b) { return touch(b, border); });
      merged = other != all.end();
      if (!merged) break;
      border = {std::min(border.low, other->low), std::max(border.high, other->high),
                border.jumps || other->jumps};
      all.erase(other);
    }
    all.insert(
        std::find_if(all.begin(), all.end(), [&](const Border& b) { return b.low > border.low; }),
        border);
    grown_ = true;
  }

  const std::vector<CompositeStep>& steps_;
  Borders found_;
  bool grown_ = false;
};

}  // namespace

Gap gap_of(const std::vector<Border>& borders, std::size_t index) {
  return {index == 0 ? -kEndless : borders[index - 1].high,
          index == borders.size() ? kEndless : borders[index].low};
}

std::optional<Borders> borders_of(const std::vector<CompositeStep>& steps) {
  return BorderFinder(steps).find();
}

std::vector<Growth> growths_of(const std::vector<CompositeStep>& steps,
                               const std::vector<std::uint8_t>& branches,
                               const std::optional<Side>& side) {
  std::vector<Growth> known;
  for (std::size_t i = 0; i < steps.size(); ++i)
    known.push_back(growth_of_step(steps[i], branches[i], known, side));
  return known;
}

Growth value_at(const std::vector<CompositeStep>& steps, double x) {
  std::vector<Growth> known = {Growth::number(Interval(x))};
  for (std::size_t i = 1; i < steps.size(); ++i) {
    std::uint8_t branch = 0;
    if (steps[i].kind == CompositeStep::Kind::kFunction) {
      const Growth& argument = known[index(steps[i].left)];
      if (!argument.known) return {};
      const auto found = branch_at(*branches_of(steps[i].function), argument.powers[0]);
      if (!found) return {};
      branch = *found;
    }
    known.push_back(growth_of_step(steps[i], branch, known, std::nullopt));
  }
  return known.back();
}

}  // namespace bf_aot
