// Propagation's trail: what bounds follow from, and how they are taken back.

#include <algorithm>
#include <cmath>
#include <utility>

#include "aot/decide/neurons/clauses/propagation.h"

namespace bf_aot::decide {

bool Propagation::is_exact() const {
  const auto is_small_multiple = [](double number) {
    const double grains = number * 0x1p20;
    return std::fabs(grains) < 0x1p40 && grains == std::nearbyint(grains);
  };
  const auto are = [&](const std::vector<double>& numbers) {
    return std::ranges::all_of(numbers, is_small_multiple);
  };
  for (std::size_t input = 0; input < sums_.inputs; ++input)
    if (!are(functions_->ends_of(input))) return false;
  return are(sums_.bias) &&
         std::ranges::all_of(sums_.room, [](double room) { return room == 0; }) &&
         std::ranges::all_of(sums_.sources, [&](const SumSource& source) {
           return is_small_multiple(source.weight);
         });
}

std::vector<std::size_t> Propagation::open_beside_gaps() const {
  std::vector<std::size_t> made;
  for (const std::size_t variable : open_) {
    const auto input = functions_->input_of(variable);
    if (!input || gaps_[*input].empty()) made.push_back(variable);
  }
  return made;
}

void Propagation::search(bool on) {
  searches_ = on;
  for (std::size_t n = 0; on && n < sums_.neurons(); ++n) {
    const auto input = functions_->input_of(sums_.inputs + n);
    is_idle_[n] = input && !gaps_[*input].empty() && readers_[sums_.inputs + n].empty();
  }
  for (const ClauseTerm& term : terms_)
    if (const std::size_t row = row_of(term); row >= sums_.inputs)
      is_idle_[row - sums_.inputs] = false;
  planes_due_ = false;
}

void Propagation::bound(std::size_t variable, bool is_high, double value, Cause cause,
                        std::size_t of) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr std::size_t kVisits = 32;
  visits_ = kVisits * sums_.neurons();
  cause_ = {.cause = cause, .of = of};
  set(variable, is_high ? -kInfinity : value, is_high ? value : kInfinity);
}

void Propagation::refute(std::size_t variable, bool is_high, std::size_t of) {
  cause_ = {.cause = Cause::kOther, .of = of};
  fail(variable, is_high);
}

void Propagation::undo(std::size_t step) {
  for (; trail_.size() > step; trail_.pop_back()) {
    const Step& each = trail_.back();
    const double low = ranges_.low[each.variable], high = ranges_.high[each.variable];
    assign(each.variable, each.is_high ? low : each.before, each.is_high ? each.before : high);
    last_[2 * each.variable + (each.is_high ? 1 : 0)] = each.earlier;
  }
  empty_ = false;
  forget_waiting();
}

void Propagation::keep() {
  kept_ = ranges_;
  trail_.clear();
  std::ranges::fill(last_, kNone);
}

std::size_t Propagation::last_before(std::size_t variable, bool is_high, std::size_t step) const {
  std::size_t last = last_[2 * variable + (is_high ? 1 : 0)];
  while (last != kNone && last >= step) last = trail_[last].earlier;
  return last;
}

double Propagation::value_before(std::size_t variable, bool is_high, std::size_t step) const {
  const std::size_t last = last_before(variable, is_high, step);
  if (last != kNone) return trail_[last].value;
  return (is_high ? kept_.high : kept_.low)[variable];
}

// Adds the bounds that an end of a part follows from: those without which it would be another.
void Propagation::explain_end(const Part& part, bool is_high, std::size_t step,
                              std::vector<std::size_t>& steps) const {
  const std::size_t of = part.variable;
  const auto add = [&](bool high) {
    if (const std::size_t last = last_before(of, high, step); last != kNone) steps.push_back(last);
  };
  if (part.function == kNone) {
    const bool high = is_high == (part.weight > 0);
    double now = value_before(of, high, step);
    if (sums_.is_relu[of]) now = std::max(now, 0.0);
    if (now != (high ? kept_.largest : kept_.least)[of]) add(high);
    return;
  }
  const double low = value_before(of, false, step), high = value_before(of, true, step);
  const auto end = [&](double from, double to) {
    const auto ends = functions_->range(part.function, from, to);
    return is_high ? ends.second : ends.first;
  };
  const double now = end(low, high);
  if (end(kept_.low[of], kept_.high[of]) == now) return;
  const bool without_low = end(kept_.low[of], high) == now;
  if (!without_low) add(false);
  if (without_low || end(low, kept_.high[of]) != now) add(true);
}

// Adds the other bounds of an input that a step which a function of it gave follows from.
void Propagation::explain_own(const Part& part, std::size_t step,
                              std::vector<std::size_t>& steps) const {
  const Step& of = trail_[step];
  const auto follows = [&](double low, double high) {
    const auto left = functions_->part_of(part.function, low, high, of.limit, of.from_above);
    if (!left) return true;
    const double end =
        beyond_gaps(of.variable, of.is_high ? left->second : left->first, of.is_high);
    return of.is_high ? end <= of.value : end >= of.value;
  };
  const double low = value_before(of.variable, false, step),
               high = value_before(of.variable, true, step);
  if (follows(kept_.low[of.variable], kept_.high[of.variable])) return;
  const bool without_low = follows(kept_.low[of.variable], high);
  const bool without_high = !without_low && follows(low, kept_.high[of.variable]);
  for (const bool is_high : {false, true}) {
    if (is_high ? without_high : without_low) continue;
    if (const std::size_t last = last_before(of.variable, is_high, step); last != kNone)
      steps.push_back(last);
  }
}

void Propagation::explain(std::size_t step, std::vector<std::size_t>& steps) const {
  const Step& of = trail_[step];
  if (of.cause != Cause::kSum && of.cause != Cause::kPart) return;
  const std::vector<Part>& parts = parts_[of.of];
  const bool of_part = of.cause == Cause::kPart;
  for (std::size_t k = 0; k < parts.size(); ++k)
    if (!of_part || k != of.part)
      explain_end(parts[k], of_part ? !of.from_above : of.is_high, step, steps);
  if (!of_part) return;
  const std::size_t last = last_before(sums_.inputs + of.of, of.from_above, step);
  if (last != kNone) steps.push_back(last);
  if (parts[of.part].function != kNone) explain_own(parts[of.part], step, steps);
}

}  // namespace bf_aot::decide
