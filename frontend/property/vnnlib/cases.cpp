#include "frontend/property/vnnlib/cases.h"

#include <fmt/format.h>

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstring>
#include <optional>

#include "frontend/diagnostic.h"
#include "frontend/property/clause_boxes.h"

namespace bf_aot::vnnlib {
namespace {

// The least double inside of an interval's lower end, of the numbers at or above it.
double first_inside(const Number& lower, bool strict) {
  if (strict && lower.is_double()) return std::nextafter(lower.below, INFINITY) + 0.0;
  return lower.above;
}
double last_inside(const Number& upper, bool strict) {
  if (strict && upper.is_double()) return std::nextafter(upper.above, -INFINITY) + 0.0;
  return upper.below;
}

std::size_t hash_of(const Box& box) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const std::vector<double>* side : {&box.lower, &box.upper})
    for (const double x : *side) {
      std::uint64_t bits = 0;
      std::memcpy(&bits, &x, sizeof bits);
      hash = (hash ^ bits) * 0x9e3779b97f4a7c15U;
      hash ^= hash >> 29;
    }
  return static_cast<std::size_t>(hash);
}

enum class Truth : std::uint8_t { kNever, kSometimes, kAlways };

// A condition on inputs alone, over the closed box: exact interval arithmetic. The exact box of the
// case is a part of it, so what never or always holds there does so in the case too.
Truth judge(const Condition& condition, const LinearForm& inputs, const Box& box) {
  mpq_class least = 0, most = 0;
  for (const auto& [input, positive] : inputs) {
    const mpq_class factor = condition.negated ? -positive : positive;
    const auto i = static_cast<std::size_t>(input);
    const mpq_class at_lower = factor * mpq_class(box.lower[i]);
    const mpq_class at_upper = factor * mpq_class(box.upper[i]);
    least += std::min(at_lower, at_upper);
    most += std::max(at_lower, at_upper);
  }
  const auto holds = [&](const mpq_class& value) {
    return condition.strict ? value < condition.limit : value <= condition.limit;
  };
  return !holds(least) ? Truth::kNever : holds(most) ? Truth::kAlways : Truth::kSometimes;
}

std::string key_of(const Clause& clause) {
  std::string key;
  for (const Condition& condition : clause)
    key += fmt::format("{},{},{},{};", condition.row, condition.negated, condition.strict,
                       condition.limit.get_str(36));
  return key;
}

// The clause without what always holds and what it says twice; nothing when it never holds.
std::optional<Clause> simplify(const std::vector<Condition>& conditions,
                               const std::vector<PropertyRow>& rows, const Box& box) {
  Clause clause;
  bool of_inputs = false;
  std::unordered_map<std::string, bool> seen;
  for (const Condition& condition : conditions) {
    const PropertyRow& row = rows[static_cast<std::size_t>(condition.row)];
    if (row.outputs.empty()) {
      const Truth truth = judge(condition, row.inputs, box);
      if (truth == Truth::kNever) return std::nullopt;
      if (truth == Truth::kAlways) continue;
      of_inputs = true;
    }
    if (conditions.size() == 1 || seen.try_emplace(key_of({condition})).second)
      clause.push_back(condition);
  }
  if (of_inputs && !box_of_clause(rows, clause, box)) return std::nullopt;
  return clause;
}

}  // namespace

CaseBuilder::CaseBuilder(const Declarations& declarations, const std::vector<PropertyRow>& rows,
                         const PropertyLimits& limits, const std::string& file_name)
    : declarations_(declarations),
      rows_(rows),
      file_name_(file_name),
      limits_(limits),
      intervals_(static_cast<std::size_t>(declarations.input_count())) {
  for (Box* box : {&common_.box, &common_.inner}) {
    box->lower.resize(intervals_.size());
    box->upper.resize(intervals_.size());
  }
}

// Keeps the stronger of two bounds, exactly.
void CaseBuilder::tighten(End& end, const InputBound& bound) {
  const auto order = end.given ? compare(bound.value, end.value) : std::strong_ordering::equal;
  if (!end.given || (bound.upper ? order < 0 : order > 0))
    end = {bound.value, true, bound.strict};
  else if (order == 0)
    end.strict = end.strict || bound.strict;
}

bool CaseBuilder::is_empty(std::size_t input) const {
  const auto& [lower, upper] = intervals_[input];
  if (!lower.given || !upper.given) return false;
  const auto order = compare(lower.value, upper.value);
  return order > 0 || (order == 0 && (lower.strict || upper.strict));
}

// Replaces the exact end of the input.
void CaseBuilder::keep_end(std::size_t input, const End& end, std::vector<ExactEnd>& ends) const {
  if (intervals_.size() > kMostExactEnds) return;
  const auto number = static_cast<std::int64_t>(input);
  std::erase_if(ends, [&](const ExactEnd& known) { return known.input == number; });
  if (end.value.is_double()) return;
  const auto at = std::ranges::lower_bound(ends, number, {}, &ExactEnd::input);
  ends.insert(at, {number, exact(end.value), !end.strict});
}

void CaseBuilder::write_interval(std::size_t input, PropertyCase& to) const {
  const auto& [lower, upper] = intervals_[input];
  to.box.lower[input] = lower.value.below;
  to.box.upper[input] = upper.value.above;
  to.inner.lower[input] = first_inside(lower.value, lower.strict);
  to.inner.upper[input] = last_inside(upper.value, upper.strict);
  keep_end(input, lower, to.lower_ends);
  keep_end(input, upper, to.upper_ends);
  for (const double end : {to.box.lower[input], to.box.upper[input]})
    if (std::fabs(end) > static_cast<double>(FLT_MAX))
      fail("BF3411", file_name_,
           fmt::format("{} reaches {}, beyond the range of float32",
                       declarations_.input_name(static_cast<std::int64_t>(input)), end),
           "boxes must be bounded; scale the inputs");
  const auto at = std::lower_bound(
      to.between.begin(), to.between.end(), input,
      [](const auto& entry, std::size_t i) { return static_cast<std::size_t>(entry.first) < i; });
  const bool known = at != to.between.end() && static_cast<std::size_t>(at->first) == input;
  if (to.inner.lower[input] <= to.inner.upper[input]) {
    if (known) to.between.erase(at);
    return;
  }
  const mpq_class middle = decimal_between(exact(lower.value), exact(upper.value));
  if (known)
    at->second = middle;
  else
    to.between.emplace(at, static_cast<std::int64_t>(input), middle);
}

void CaseBuilder::set_common(const Disjunct& common) {
  for (const InputBound& bound : common.bounds) {
    Interval& interval = intervals_[static_cast<std::size_t>(bound.input)];
    tighten(bound.upper ? interval.upper : interval.lower, bound);
  }
  common_conditions_ = common.conditions;
  for (std::size_t i = 0; i < intervals_.size(); ++i) {
    common_empty_ = common_empty_ || is_empty(i);
    if (!intervals_[i].lower.given || !intervals_[i].upper.given) incomplete_.push_back(i);
  }
  if (common_empty_) return;
  std::size_t next = 0;
  for (std::size_t i = 0; i < intervals_.size(); ++i) {
    if (next < incomplete_.size() && incomplete_[next] == i)
      ++next;
    else
      write_interval(i, common_);
  }
}

void CaseBuilder::check_bounded() const {
  std::string names;
  int count = 0;
  for (const std::size_t i : incomplete_) {
    const auto& [lower, upper] = intervals_[i];
    for (const bool is_upper : {false, true}) {
      if ((is_upper ? upper : lower).given) continue;
      constexpr int kNamed = 5;
      if (++count <= kNamed)
        names += fmt::format("{}{} has no {} bound", names.empty() ? "" : ", ",
                             declarations_.input_name(static_cast<std::int64_t>(i)),
                             is_upper ? "upper" : "lower");
    }
  }
  if (count == 0) return;
  fail("BF3407", file_name_,
       fmt::format("{}{}", names, count > 5 ? fmt::format(" and {} more", count - 5) : ""),
       "bound every input from both sides, in every alternative of an or");
}

PropertyCase& CaseBuilder::find_case(PropertyCase made) {
  const std::size_t hash = hash_of(made.box);
  const auto [first, last] = by_hash_.equal_range(hash);
  for (auto i = first; i != last; ++i) {
    const PropertyCase& known = cases_[i->second];
    if (known.box == made.box && known.inner == made.inner && known.between == made.between &&
        known.lower_ends == made.lower_ends && known.upper_ends == made.upper_ends)
      return cases_[i->second];
  }
  if ((cases_.size() + 1) * intervals_.size() > limits_.box_numbers)
    fail("BF3404", file_name_,
         fmt::format("more than {} bounds in the boxes of the property", limits_.box_numbers),
         "split the property: the verdicts of its parts decide it");
  by_hash_.emplace(hash, cases_.size());
  cases_.push_back(std::move(made));
  seen_.emplace_back();
  return cases_.back();
}

void CaseBuilder::add(const Disjunct& disjunct) {
  if (common_empty_) return;
  std::vector<std::pair<std::size_t, Interval>> saved;
  bool empty = false;
  for (const InputBound& bound : disjunct.bounds) {
    const auto input = static_cast<std::size_t>(bound.input);
    Interval& interval = intervals_[input];
    saved.emplace_back(input, interval);
    tighten(bound.upper ? interval.upper : interval.lower, bound);
    empty = empty || is_empty(input);
  }
  if (!empty) {
    check_bounded();
    PropertyCase made = common_;
    for (const auto& [input, interval] : saved) write_interval(input, made);
    std::vector<Condition> conditions = common_conditions_;
    conditions.insert(conditions.end(), disjunct.conditions.begin(), disjunct.conditions.end());
    if (auto clause = simplify(conditions, rows_, made.box)) {
      PropertyCase& found = find_case(std::move(made));
      const auto index = static_cast<std::size_t>(&found - cases_.data());
      if (seen_[index].try_emplace(key_of(*clause)).second)
        found.clauses.push_back(std::move(*clause));
    }
  }
  for (auto i = saved.rbegin(); i != saved.rend(); ++i) intervals_[i->first] = i->second;
}

}  // namespace bf_aot::vnnlib
