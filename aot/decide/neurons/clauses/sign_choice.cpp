// Propagation::choose(): both signs of open neurons are tried.

#include <algorithm>
#include <cmath>
#include <functional>

#include "aot/decide/neurons/clauses/propagation.h"

namespace bf_aot::decide {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::size_t kMostChoices = 256;  // open neurons whose signs are tried
// A sum's range shrinks where it does by more than this share of its widest part.
constexpr double kLeastShare = 1.0 / 16;
// A neuron is not tried that has this many times less left of its activation than another.
constexpr double kLessLeft = 4;

}  // namespace

// Notes how wide the widest part of each neuron's sum is on the box.
void Propagation::find_units() {
  const Ranges kept = ranges_;
  load_box();
  for (std::size_t n = 0; n < sums_.neurons(); ++n) {
    sum_of(n);
    double unit = 0;
    for (std::size_t k = 0; k < parts_[n].size(); ++k)
      unit = std::max(unit, ends_[k].second - ends_[k].first);
    unit_.push_back(unit > 0 && std::isfinite(unit) ? unit : 1);
  }
  ranges_ = kept;
}

// Notes which neurons are conditions on what they read, since their ranges leave out some of their
// sums, and how wide these sums are.
void Propagation::find_conditions() {
  for (std::size_t n = 0; n < sums_.neurons(); ++n) {
    const std::size_t variable = sums_.inputs + n;
    const auto [low, high] = sum_of(n);
    const double least = kLeastShare * unit_[n];
    is_condition_[n] = ranges_.low[variable] - low > least || high - ranges_.high[variable] > least;
    width_before_[n] = high - low;
  }
}

// The weight of the conditions that a sign has a part in: 2^-r for r free parts that are left, as
// the rule of Jeroslow and Wang (1990) weighs clauses. Nothing where it leaves no violation.
std::optional<double> Propagation::weight_of(std::size_t open, bool positive) {
  width_ = width_before_;
  cause_ = {};
  set(open_[open], positive ? 0 : -kInfinity, positive ? kInfinity : 0);
  propagate();
  double sum = 0;
  for (std::size_t n = 0; n < sums_.neurons() && !empty_; ++n) {
    const std::size_t variable = sums_.inputs + n;
    const bool has_part = width_before_[n] - width_[n] > kLeastShare * unit_[n];
    if (is_condition_[n] && has_part)
      sum += std::exp2((ranges_.low[variable] - ranges_.high[variable]) / unit_[n]);
  }
  const bool possible = !empty_;
  undo(0);
  return possible ? std::optional(sum) : std::nullopt;
}

// Notes for each gap the first open neuron whose sign says on which side the input is. A neuron
// that is 0 at an end of the gap leaves this end to both signs.
void Propagation::find_deciding() {
  deciding_.clear();
  for (std::size_t open = 0; open < open_.size(); ++open) {
    const std::size_t n = open_[open] - sums_.inputs;
    const auto input = functions_->input_of(open_[open]);
    if (!input) continue;
    const auto ends_at = [&](double x) {
      const auto ends = ends_of(parts_[n].front(), x, x);
      return std::pair(ends.first + sums_.bias[n], ends.second + sums_.bias[n]);
    };
    for (const Gap& gap : gaps_[*input]) {
      const auto below = ends_at(gap.low), above = ends_at(gap.high);
      const bool decides =
          (below.second < 0 && above.first > 0) || (below.first > 0 && above.second < 0);
      const bool is_first = std::ranges::none_of(deciding_, [&](const auto& each) {
        return each.input == *input && each.gap.low == gap.low;
      });
      if (decides && is_first) deciding_.push_back({*input, gap, open});
    }
  }
}

// The open neurons whose signs are tried: those that decide gaps, where most inputs have one, else
// of those that are not known the ones that have most left.
std::vector<std::size_t> Propagation::candidates() const {
  std::vector<std::size_t> made;
  for (const Deciding& each : deciding_)
    if (2 * deciding_.size() > sums_.inputs && ranges_.low[each.input] <= each.gap.low &&
        ranges_.high[each.input] >= each.gap.high && !is_known(each.open))
      made.push_back(each.open);
  if (!made.empty()) {
    if (made.size() > kMostChoices) made.resize(kMostChoices);
    return made;
  }
  double most = 0;
  for (std::size_t open = 0; open < open_.size(); ++open)
    if (!is_known(open)) {
      made.push_back(open);
      most = std::max(most, left_of(open));
    }
  std::erase_if(made, [&](std::size_t open) { return left_of(open) * kLessLeft < most; });
  std::ranges::stable_sort(made, std::greater(), [&](std::size_t open) { return left_of(open); });
  if (made.size() > kMostChoices) made.resize(kMostChoices);
  return made;
}

std::optional<Propagation::Choice> Propagation::choose() {
  if (unit_.empty()) find_units();
  find_deciding();
  for (bool again = true; again;) {
    again = false;
    std::optional<Choice> best;
    double most = -1;
    keep();
    find_conditions();
    for (const std::size_t open : candidates()) {
      if (is_known(open)) continue;
      const std::optional<double> negative = weight_of(open, false),
                                  positive = weight_of(open, true);
      if (negative && positive) {
        // The sum above all, then that both are alike.
        const double both = 10 * (*negative + *positive) + *negative * *positive;
        if (both > most) best = Choice{open, *positive < *negative};
        most = std::max(most, both);
        continue;
      }
      if (!negative && !positive) {
        empty_ = true;
        return std::nullopt;
      }
      cause_ = {};
      set(open_[open], positive ? 0 : -kInfinity, positive ? kInfinity : 0);
      propagate();
      if (empty_) return std::nullopt;
      keep();
      again = true;  // what was tried before says more now
    }
    if (!again) return best;
  }
  return std::nullopt;
}

}  // namespace bf_aot::decide
