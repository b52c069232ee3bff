#include "aot/reach/search/demands.h"

#include <algorithm>

#include "aot/reach/tube/pieces.h"

namespace bf_aot::reach {
namespace {

bool holds(const Formula& formula, const Range& value) {
  return formula.strict ? value.high < 0 : value.high <= 0;
}

// The comparison of the formula whose largest value is least beyond 0, in the unit of its width.
const Formula* closest(const Formula& formula, const std::vector<Form>& values) {
  if (formula.kind == Formula::Kind::kCompare) return &formula;
  const auto excess = [&](const Formula* each) {
    if (each == nullptr) return INFINITY + 0.0;
    const Range range = range_of(values[each->value]);
    return range.is_finite() ? range.high / (1e-300 + range.high - range.low) : INFINITY + 0.0;
  };
  const Formula* best = nullptr;
  for (const Formula& part : formula.parts) {
    if (formula.kind == Formula::Kind::kAll && reach::holds(part, values)) continue;
    const Formula* const found = closest(part, values);
    if (best == nullptr || excess(found) < excess(best)) best = found;
  }
  return best;
}

}  // namespace

bool holds(const Formula& formula, const std::vector<Form>& values) {
  const auto part_holds = [&](const Formula& part) { return holds(part, values); };
  switch (formula.kind) {
    case Formula::Kind::kCompare:
      return holds(formula, range_of(values[formula.value]));
    case Formula::Kind::kAll:
      return std::ranges::all_of(formula.parts, part_holds);
    case Formula::Kind::kAny:
      return std::ranges::any_of(formula.parts, part_holds);
  }
  return false;
}

std::vector<Form> values_of(const Condition& condition, const Segment& segment,
                            const std::vector<Form>& initial) {
  std::vector<Form> inputs = segment.state;
  inputs.insert(inputs.end(), segment.control.begin(), segment.control.end());
  inputs.insert(inputs.end(), initial.begin(), initial.end());
  return outputs_of(condition.values, inputs, FormArithmetic());
}

bool is_demanded(const Requirement& requirement, const Segment& segment) {
  if (segment.from == segment.to)
    return requirement.from <= segment.from && segment.from <= requirement.to;
  return segment.from < requirement.to && requirement.from < segment.to;
}

bool Demands::visit(const Segment& segment, const std::vector<Form>& initial) {
  for (std::size_t i = 0; i < requirements_.size(); ++i) {
    const Requirement& each = requirements_[i];
    if (!is_demanded(each, segment)) continue;
    const std::vector<Form> values = values_of(each.must, segment, initial);
    if (holds(each.must.formula, values)) continue;
    const Formula* const open = closest(each.must.formula, values);
    failure_ = Failure{i,          segment.period,           segment.from,
                       segment.to, ranges_of(segment.state), {}};
    if (open != nullptr) failure_->value = values[open->value];
    return false;
  }
  return true;
}

Breaches::Breaches(const std::vector<Requirement>& requirements) : requirements_(requirements) {
  for (const Requirement& each : requirements) opposite_.push_back(each.must.negated());
}

// What is proven of all times between two instants holds at one of the window, too.
bool Breaches::visit(const Segment& segment, const std::vector<Form>& initial) {
  for (std::size_t i = 0; i < requirements_.size(); ++i) {
    if (!is_demanded(requirements_[i], segment)) continue;
    if (!holds(opposite_[i].formula, values_of(opposite_[i], segment, initial))) continue;
    breach_ = Breach{i, segment.from, segment.to};
    return false;
  }
  return true;
}

}  // namespace bf_aot::reach
