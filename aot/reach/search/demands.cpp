#include "aot/reach/search/demands.h"

#include <algorithm>

#include "aot/reach/tube/pieces.h"

namespace bf_aot::reach {
namespace {

// A value as a form and as a range of its own: square roots and quotients near 0 need what ranges
// know of their operands, which forms do not.
struct Value {
  Form form;
  Range range = kEverything;
};

struct ValueArithmetic {
  using F = FormArithmetic;
  using R = RangeArithmetic;

  static Value both(Form form, const Range& range) {
    const Range met = meet(range_of(form), range);
    return {std::move(form), met.low <= met.high ? met : range};
  }
  static Value constant(const Bounded& x) { return both(F::constant(x), R::constant(x)); }
  static Value add(const Value& a, const Value& b) {
    return both(F::add(a.form, b.form), R::add(a.range, b.range));
  }
  static Value subtract(const Value& a, const Value& b) {
    return both(F::subtract(a.form, b.form), R::subtract(a.range, b.range));
  }
  static Value multiply(const Value& a, const Value& b) {
    return both(F::multiply(a.form, b.form), R::multiply(a.range, b.range));
  }
  static Value square(const Value& a) { return both(F::square(a.form), R::square(a.range)); }
  static Value divide(const Value& a, const Value& b) {
    return whole(both(F::divide(a.form, b.form), R::divide(a.range, b.range)));
  }
  static Value relu(const Value& a) { return both(F::relu(a.form), R::relu(a.range)); }
  static Value larger(const Value& a, const Value& b) {
    return both(F::larger(a.form, b.form), R::larger(a.range, b.range));
  }
  static Value apply(const Function& f, const Value& x) {
    return whole(both(F::apply(f, x.form), R::apply(f, x.range)));
  }

 private:
  // A form that claims nothing is replaced by its range.
  static Value whole(Value made) {
    if (!is_finite(made.form)) made.form = form_of(made.range);
    return made;
  }
};

// Whether the comparison of a value that is at most `most` is proven.
bool holds(const Formula& formula, double most) {
  return formula.strict ? most < 0 : most <= 0;
}

// At least one of two comparisons holds where a sum of their values with factors of at least 0 that
// are not both 0 is at most 0, or below 0 where both are strict: not both values are then above 0.
// The factors are the best of a few, by the largest value of the sum.
bool one_holds(const Formula& a, const Formula& b, const std::vector<Form>& values) {
  constexpr int kTries = 15;
  const Form &first = values[a.value], &second = values[b.value];
  if (!is_finite(first) || !is_finite(second)) return false;
  // One of both being strict, its value is below 0 or the other's is: a sum below 0 serves for all.
  const Formula sum{Formula::Kind::kCompare, 0, a.strict || b.strict, {}};
  const double scale = (1e-300 + reach_of(first)) / (1e-300 + reach_of(second));
  for (int k = 1; k <= kTries; ++k) {
    const double weight = static_cast<double>(k) / (kTries + 1);
    const Form made =
        times(first, {1 - weight, 0}) + times(second, {weight * std::min(scale, 1e30), 0});
    if (holds(sum, range_of(made).high)) return true;
  }
  return false;
}

bool some_pair_holds(const std::vector<Formula>& parts, const std::vector<Form>& values) {
  for (std::size_t i = 0; i < parts.size(); ++i)
    for (std::size_t j = i + 1; j < parts.size(); ++j)
      if (parts[i].kind == Formula::Kind::kCompare && parts[j].kind == Formula::Kind::kCompare &&
          one_holds(parts[i], parts[j], values))
        return true;
  return false;
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
      return holds(formula, range_of(values[formula.value]).high);
    case Formula::Kind::kAll:
      return std::ranges::all_of(formula.parts, part_holds);
    case Formula::Kind::kAny:
      return std::ranges::any_of(formula.parts, part_holds) ||
             some_pair_holds(formula.parts, values);
  }
  return false;
}

std::vector<Form> values_of(const Condition& condition, const Segment& segment,
                            const std::vector<Form>& initial) {
  std::vector<Value> inputs;
  for (const std::vector<Form>* const forms : {&segment.state, &segment.control, &initial})
    for (const Form& each : *forms) inputs.push_back({each, range_of(each)});
  std::vector<Form> made;
  for (Value& each : outputs_of(condition.values, inputs, ValueArithmetic())) {
    const Form whole = form_of(each.range);
    made.push_back(whole.radius < reach_of(each.form) + each.form.radius ? whole
                                                                         : std::move(each.form));
  }
  return made;
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
    failure_ = Failure{i, segment.period, segment.from, segment.to, ranges_of(segment.state), {}};
    if (open != nullptr) failure_->value = values[open->value];
    return false;
  }
  return true;
}

Breaches::Breaches(const std::vector<Requirement>& requirements) : requirements_(requirements) {
  for (const Requirement& each : requirements) opposite_.push_back(each.must.negated());
}

// A formula that is proven of all times between two instants holds at one of the window, too.
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
