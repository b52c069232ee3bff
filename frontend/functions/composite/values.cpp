#include "frontend/functions/composite/values.h"

#include <cstddef>
#include <vector>

#include "frontend/functions/composite/composite.h"
#include "frontend/functions/function_facts.h"
#include "frontend/functions/long_real.h"

namespace bf_aot {
namespace {

bool is_zero(double x) {
  return x == 0;
}
bool is_zero(const LongReal& x) {
  return x.is_number() && !(x < 0) && !(LongReal(0) < x);
}

double apply(const Function& f, double x) {
  return evaluate(f, x);
}
LongReal apply(const Function& f, const LongReal& x) {
  const FunctionFacts& facts = facts_of(f.kind);
  if (facts.real != nullptr) return facts.real(f, x);
  return x.is_number() ? LongReal(facts.rational(f, x.rational())) : x;
}

// All steps have finite real values, whatever overflows here: a product with 0 is 0.
template <typename Number>
Number product_of(const Number& a, const Number& b) {
  return is_zero(a) || is_zero(b) ? Number(0) : a * b;
}

template <typename Number>
Number evaluate_steps(const std::vector<CompositeStep>& steps, const Number& x) {
  using Kind = CompositeStep::Kind;
  std::vector<Number> values;
  for (const CompositeStep& step : steps) {
    const auto left = static_cast<std::size_t>(step.left);
    const auto right = static_cast<std::size_t>(step.right);
    switch (step.kind) {
      case Kind::kVariable:
        values.push_back(x);
        break;
      case Kind::kLine:
        values.push_back(product_of(Number(step.factor.value), values[left]) +
                         Number(step.offset.value));
        break;
      case Kind::kSum:
        values.push_back(values[left] + values[right]);
        break;
      case Kind::kProduct:
        values.push_back(product_of(values[left], values[right]));
        break;
      case Kind::kFunction:
        values.push_back(apply(step.function, values[left]));
        break;
    }
  }
  return values.back();
}

}  // namespace

double value_of(const Composite& composite, double x) {
  return evaluate_steps(composite.steps(), x);
}

LongReal value_of(const Composite& composite, const LongReal& x) {
  return evaluate_steps(composite.steps(), x);
}

}  // namespace bf_aot
