#include "frontend/property/derived_values.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include "frontend/numbers/numbers.h"

namespace bf_aot {
namespace {

// Values of forms and what is made of them, in one kind of numbers.
struct RationalValues {
  using Number = mpq_class;

  static mpq_class multiply(const mpq_class& a, const mpq_class& b) { return a * b; }
  static mpq_class larger(const mpq_class& a, const mpq_class& b) { return a < b ? b : a; }
  template <class Value>
  static mpq_class form(const AffineForm& form, const Value& value) {
    mpq_class sum = form.constant;
    for (const auto& [index, factor] : form.terms) sum += factor * value(index);
    return sum;
  }
};

struct BoundedValues {
  using Number = Bounded;

  static Bounded multiply(const Bounded& a, const Bounded& b) { return bf_aot::multiply(a, b); }
  // |max a - max b| <= max |a - b|. Nothing is known of the larger of what may be anything.
  static Bounded larger(const Bounded& a, const Bounded& b) {
    for (const Bounded* const each : {&a, &b})
      if (!std::isfinite(each->value) || !std::isfinite(each->error)) return {0, HUGE_VAL};
    return {std::max(a.value, b.value), std::max(a.error, b.error)};
  }
  template <class Value>
  static Bounded form(const AffineForm& form, const Value& value) {
    Sum sum;
    sum.add(enclosed(form.constant));
    for (const auto& [index, factor] : form.terms) sum.add_product(enclosed(factor), value(index));
    return sum.result();
  }
};

struct RoundedValues {
  using Number = double;

  static double multiply(double a, double b) { return a * b; }
  static double larger(double a, double b) { return std::max(a, b); }
  template <class Value>
  static double form(const AffineForm& form, const Value& value) {
    double sum = form.constant.get_d();
    for (const auto& [index, factor] : form.terms) sum += factor.get_d() * value(index);
    return sum;
  }
};

template <class Numbers>
std::vector<typename Numbers::Number> with_derived(const std::vector<DerivedValue>& derived,
                                                   const std::vector<typename Numbers::Number>& x,
                                                   std::vector<typename Numbers::Number> y) {
  using Number = typename Numbers::Number;
  const auto value = [&](std::int64_t index) -> const Number& {
    const auto i = static_cast<std::size_t>(index);
    return i < x.size() ? x[i] : y.at(i - x.size());
  };
  for (const DerivedValue& one : derived) {
    Number made = Numbers::form(one.operands.at(0), value);
    for (std::size_t k = 1; k < one.operands.size(); ++k) {
      const Number next = Numbers::form(one.operands[k], value);
      made = one.kind == DerivedValue::Kind::kProduct ? Numbers::multiply(made, next)
                                                      : Numbers::larger(made, next);
    }
    y.push_back(std::move(made));
  }
  return y;
}

}  // namespace

Bounded enclosed(const mpq_class& exact) {
  const vnnlib::Rounded rounded = vnnlib::round_to_double(exact);
  return {rounded.value, rounded.error};
}

std::vector<mpq_class> derived_values(const std::vector<DerivedValue>& derived,
                                      const std::vector<mpq_class>& x, std::vector<mpq_class> y) {
  return with_derived<RationalValues>(derived, x, std::move(y));
}

std::vector<Bounded> derived_values(const std::vector<DerivedValue>& derived,
                                    const std::vector<Bounded>& x, std::vector<Bounded> y) {
  return with_derived<BoundedValues>(derived, x, std::move(y));
}

std::vector<double> derived_values(const std::vector<DerivedValue>& derived,
                                   const std::vector<double>& x, std::vector<double> y) {
  return with_derived<RoundedValues>(derived, x, std::move(y));
}

}  // namespace bf_aot
