#include "aot/decide/neurons/clauses/conflict_search.h"

#include <algorithm>
#include <utility>

namespace bf_aot::decide {
namespace {

constexpr std::size_t kNone = Propagation::kNone;
constexpr double kFade = 1 / 0.95;         // by which later contradictions count more
constexpr double kMostActivity = 1e100;    // then all are divided by it
constexpr std::size_t kFirstRestart = 64;  // contradictions, times the series of Luby et al.
constexpr std::size_t kPause = 16;         // contradictions

// 1 1 2 1 1 2 4 1 1 2 1 1 2 4 8 .., from 0 (Luby, Sinclair, Zuckerman 1993).
std::size_t luby(std::size_t n) {
  std::size_t size = 1;
  while (size < n + 1) size = 2 * size + 1;
  while (size - 1 != n) {
    size = (size - 1) / 2;
    n %= size;
  }
  return (size + 1) / 2;
}

}  // namespace

// Where no input has a gap there is nothing that assumptions could be made of exactly: a sign
// leaves 0 to both sides.
void ConflictSearch::find_questions() {
  questions_.clear();
  questions_of_.assign(at_.ranges().low.size(), {});
  for (std::size_t input = 0; input < at_.inputs(); ++input)
    for (const Propagation::Gap& gap : at_.gaps_of(input)) {
      questions_of_[input].push_back(questions_.size());
      questions_.push_back({input, gap, false, true, static_cast<double>(at_.readers_of(input))});
    }
  if (questions_.empty()) return;
  for (const std::size_t variable : at_.open_beside_gaps()) {
    questions_of_[variable].push_back(questions_.size());
    questions_.push_back({variable, {0, 0}, true, true, 0});
  }
}

double ConflictSearch::end_of(const Side& side) const {
  const Propagation::Gap& gap = questions_[side.question].gap;
  return side.is_high ? gap.low : gap.high;
}

bool ConflictSearch::holds(const Side& side) const {
  const std::size_t variable = questions_[side.question].variable;
  return side.is_high ? at_.ranges().high[variable] <= end_of(side)
                      : at_.ranges().low[variable] >= end_of(side);
}

bool ConflictSearch::fails(const Side& side) const {
  const std::size_t variable = questions_[side.question].variable;
  return side.is_high ? at_.ranges().low[variable] > end_of(side)
                      : at_.ranges().high[variable] < end_of(side);
}

// The side that a step says, if it is one. A neuron's sign is one only where it was assumed: its
// opposite leaves 0 to it, which says less than the opposite of what it follows from.
std::optional<ConflictSearch::Side> ConflictSearch::side_of(std::size_t step) const {
  const Propagation::Step& of = at_.trail()[step];
  for (const std::size_t question : questions_of_[of.variable]) {
    const Side side = {question, of.is_high};
    if (questions_[question].is_sign && of.cause != Propagation::Cause::kAssumed) continue;
    if (of.value == end_of(side)) return side;
  }
  return std::nullopt;
}

std::vector<std::size_t>& ConflictSearch::watchers_of(const Side& side) {
  return watchers_[2 * side.question + (side.is_high ? 1 : 0)];
}

// Sums and nogoods in turn. Returns whether something is left.
bool ConflictSearch::propagate() {
  while (!at_.is_empty()) {
    if (followed_ < at_.trail().size())
      follow(followed_++);
    else if (!at_.visit_next())
      break;
  }
  return !at_.is_empty();
}

// Looks at the nogoods that watch a side which holds since a step.
void ConflictSearch::follow(std::size_t step) {
  const std::size_t variable = at_.trail()[step].variable;
  const bool is_high = at_.trail()[step].is_high;
  for (const std::size_t question : questions_of_[variable]) {
    const Side now = {question, is_high};
    if (!holds(now)) continue;
    std::vector<std::size_t>& watchers = watchers_of(now);
    std::size_t kept = 0;
    for (std::size_t k = 0; k < watchers.size(); ++k) {
      const std::size_t number = watchers[k];
      std::vector<Side>& sides = nogoods_[number].sides;
      if (at_.is_empty()) {
        watchers[kept++] = number;
        continue;
      }
      if (sides[0].question == question && sides[0].is_high == is_high)
        std::swap(sides[0], sides[1]);
      const auto other = fails(sides[0])
                             ? sides.end()
                             : std::find_if(sides.begin() + 2, sides.end(),
                                            [&](const Side& side) { return !holds(side); });
      if (!fails(sides[0]) && other != sides.end()) {
        std::swap(sides[1], *other);
        watchers_of(sides[1]).push_back(number);
        continue;
      }
      watchers[kept++] = number;
      if (!fails(sides[0])) exclude(number, 0);
    }
    watchers.resize(kept);
  }
}

// All sides of a nogood but one hold, so that this one does not.
void ConflictSearch::exclude(std::size_t nogood, std::size_t place) {
  const Side& side = nogoods_[nogood].sides[place];
  const Question& question = questions_[side.question];
  if (holds(side))
    at_.refute(question.variable, !side.is_high, nogood);
  else
    at_.bound(question.variable, !side.is_high, end_of({side.question, !side.is_high}),
              Propagation::Cause::kOther, nogood);
}

std::size_t ConflictSearch::level_of(std::size_t step) const {
  return static_cast<std::size_t>(std::ranges::upper_bound(levels_, step) - levels_.begin());
}

// The step since which a side holds, before another; kNone where it does without assumptions.
std::size_t ConflictSearch::step_of(const Side& side, std::size_t before) const {
  const std::vector<Propagation::Step>& trail = at_.trail();
  std::size_t step = at_.last_before(questions_[side.question].variable, side.is_high, before);
  const double end = end_of(side);
  while (step != kNone) {
    const double earlier = trail[step].before;
    if (side.is_high ? !(earlier <= end) : !(earlier >= end)) return step;
    step = trail[step].earlier;
  }
  return kNone;
}

void ConflictSearch::explain(std::size_t step, std::vector<std::size_t>& steps) const {
  const Propagation::Step& of = at_.trail()[step];
  if (of.cause != Propagation::Cause::kOther) {
    at_.explain(step, steps);
    return;
  }
  for (const Side& side : nogoods_[of.of].sides) {
    const Question& question = questions_[side.question];
    // Its opposite is what the step says, unless all sides hold, which the step then contradicts.
    if (question.variable == of.variable && side.is_high != of.is_high &&
        at_.trail()[step].value == end_of({side.question, of.is_high}))
      continue;
    if (const std::size_t since = step_of(side, step); since != kNone) steps.push_back(since);
  }
}

// Resolves the contradiction until one side that holds since the last assumption is left (first
// unique implication point), and finds the level at which the other sides hold already.
ConflictSearch::Nogood ConflictSearch::learn(std::size_t& level) {
  // Where sums wait still, a contradiction may be of an earlier level.
  const std::size_t first = levels_[level_of(std::ranges::max(at_.conflict())) - 1];
  seen_.assign(at_.trail().size(), false);
  std::size_t open = 0;  // seen steps of the last level that were not looked at
  std::vector<std::size_t> reasons = at_.conflict();
  const auto see = [&] {
    for (const std::size_t step : reasons) {
      if (seen_[step]) continue;
      seen_[step] = true;
      if (step >= first) ++open;
    }
    reasons.clear();
  };
  see();
  Nogood made;
  std::vector<std::size_t> steps;
  for (std::size_t step = at_.trail().size(); step-- > 0;) {
    if (!seen_[step]) continue;
    const std::optional<Side> side = side_of(step);
    const bool is_last = step >= first;
    if (side) bump(side->question);
    if (side && (!is_last || open == 1)) {
      // A later step of the same bound, if there was one, says more.
      const bool is_said = std::ranges::any_of(made.sides, [&](const Side& each) {
        return questions_[each.question].variable == questions_[side->question].variable &&
               each.is_high == side->is_high;
      });
      if (!is_said) {
        made.sides.push_back(*side);
        steps.push_back(step);
      }
    } else {
      explain(step, reasons);
      see();
    }
    if (is_last) --open;
  }
  shorten(made, steps, level);
  return made;
}

// Leaves out sides that follow from the others. The first two then are of the last levels; level is
// that of the second.
void ConflictSearch::shorten(Nogood& made, const std::vector<std::size_t>& steps,
                             std::size_t& level) {
  std::vector<bool> is_said(at_.trail().size());
  for (const std::size_t step : steps) is_said[step] = true;
  std::vector<std::pair<std::size_t, Side>> left;  // by level
  std::vector<std::size_t> reasons;
  for (std::size_t k = 0; k < steps.size(); ++k) {
    reasons.clear();
    explain(steps[k], reasons);
    const bool follows =
        k > 0 && at_.trail()[steps[k]].cause != Propagation::Cause::kAssumed &&
        std::ranges::all_of(reasons, [&](std::size_t reason) { return is_said[reason]; });
    if (!follows) left.emplace_back(level_of(steps[k]), made.sides[k]);
  }
  std::ranges::stable_sort(left, std::greater(), [](const auto& each) { return each.first; });
  made.sides.clear();
  for (const auto& [of, side] : left) made.sides.push_back(side);
  level = left.size() > 1 ? left[1].first : 0;
}

void ConflictSearch::back_to(std::size_t level) {
  if (levels_.size() <= level) return;
  at_.undo(levels_[level]);
  followed_ = levels_[level];
  levels_.resize(level);
}

void ConflictSearch::bump(std::size_t question) {
  questions_[question].activity += rise_;
  if (questions_[question].activity < kMostActivity) return;
  for (Question& each : questions_) each.activity /= kMostActivity;
  rise_ /= kMostActivity;
}

// Has a nogood, all of whose sides but the first hold, watched and followed.
void ConflictSearch::add(Nogood nogood) {
  const std::size_t number = nogoods_.size();
  nogoods_.push_back(std::move(nogood));
  const std::vector<Side>& sides = nogoods_.back().sides;
  if (sides.size() > 1)
    for (const std::size_t place : {std::size_t{0}, std::size_t{1}})
      watchers_of(sides[place]).push_back(number);
  exclude(number, 0);
}

// The sides of gaps come first.
std::optional<ConflictSearch::Side> ConflictSearch::next_assumption() const {
  const Question* best = nullptr;
  for (const Question& each : questions_) {
    if (best != nullptr && each.is_sign && !best->is_sign) break;
    const double low = at_.ranges().low[each.variable], high = at_.ranges().high[each.variable];
    const bool is_open =
        each.is_sign ? low < 0 && high > 0 : low <= each.gap.low && high >= each.gap.high;
    if (is_open && (best == nullptr || each.activity > best->activity)) best = &each;
  }
  if (best == nullptr) return std::nullopt;
  return Side{static_cast<std::size_t>(best - questions_.data()), best->is_high};
}

// An input is as far from its gaps as it may be, so that errors of sums matter least.
void ConflictSearch::note_point() {
  point_.clear();
  for (std::size_t input = 0; input < at_.inputs(); ++input) {
    const double low = at_.ranges().low[input], high = at_.ranges().high[input];
    const auto& gaps = at_.gaps_of(input);
    const bool is_first = !gaps.empty() && high <= gaps.front().low;
    const bool is_last = !gaps.empty() && low >= gaps.back().high;
    point_.push_back(static_cast<float>(is_first ? low : is_last ? high : (low + high) / 2));
  }
}

ConflictSearch::End ConflictSearch::run(std::size_t most_conflicts) {
  conflicts_ = 0;
  nogoods_.clear();
  levels_.clear();
  followed_ = 0;
  rise_ = 1;
  find_questions();
  if (questions_.empty()) return End::kSpent;
  watchers_.assign(2 * questions_.size(), {});
  at_.search(true);
  std::size_t restarts = 0, until = kFirstRestart;
  std::optional<End> end;
  while (!end) {
    if (!propagate()) {
      if (levels_.empty() || at_.conflict().empty()) {
        end = End::kEmpty;
        break;
      }
      if (++conflicts_ % kPause == 0) pause();
      std::size_t level = 0;
      Nogood made = learn(level);
      if (made.sides.empty()) {
        end = End::kEmpty;
        break;
      }
      back_to(level);
      add(std::move(made));
      rise_ *= kFade;
      if (conflicts_ >= most_conflicts) end = End::kSpent;
      continue;
    }
    if (levels_.empty()) {
      at_.keep();
      followed_ = 0;
    }
    if (conflicts_ >= until) {
      until = conflicts_ + kFirstRestart * luby(++restarts);
      back_to(0);
      continue;
    }
    const auto side = next_assumption();
    if (!side) {
      end = End::kPoint;
      break;
    }
    questions_[side->question].is_high = side->is_high;
    levels_.push_back(at_.trail().size());
    at_.bound(questions_[side->question].variable, side->is_high, end_of(*side),
              Propagation::Cause::kAssumed);
  }
  if (end == End::kPoint) note_point();
  if (end != End::kEmpty) {
    back_to(0);
    at_.search(false);
    at_.propagate_all();
    if (at_.is_empty()) return End::kEmpty;
  } else {
    at_.search(false);
  }
  return *end;
}

}  // namespace bf_aot::decide
