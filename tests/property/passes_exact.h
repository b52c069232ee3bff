#pragma once

#include <gmpxx.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "frontend/evaluate/evaluate_node.h"
#include "frontend/functions/composite/composite.h"
#include "frontend/functions/function_exact.h"
#include "frontend/graph/graph.h"
#include "frontend/numbers/exact_arithmetic.h"

namespace bf_aot::testing {

// |exact - x.value| <= x.error, decided exactly.
inline bool covers(const Bounded& x, const mpq_class& exact) {
  const mpq_class distance = exact - mpq_class(x.value);
  return abs(distance) <= mpq_class(x.error);
}

// A closed interval of rationals.
struct Interval {
  mpq_class lower, upper;

  bool contains(const mpq_class& x) const { return lower <= x && x <= upper; }
  bool contains(const Interval& x) const { return lower <= x.lower && x.upper <= upper; }
};

// Intervals without rounding. A constant is the interval of all reals that it may stand for, so the
// result contains what the exact network computes; with input boxes this is interval bound
// propagation in exact arithmetic.
struct IntervalArithmetic {
  using Number = Interval;

  struct Accumulator {
    Interval sum;
    void add(const Interval& x) { sum = {sum.lower + x.lower, sum.upper + x.upper}; }
    void add_product(const Interval& a, const Interval& b) { add(multiply(a, b)); }
    Interval result() const { return sum; }
  };

  static Interval constant(const Constant& constant, std::size_t i) {
    const mpq_class value(constant.data[i]);
    const mpq_class error(constant.error_at(i));
    return {value - error, value + error};
  }
  static Interval number(double x) { return {mpq_class(x), mpq_class(x)}; }
  static Interval add(const Interval& a, const Interval& b) {
    return {a.lower + b.lower, a.upper + b.upper};
  }
  static Interval subtract(const Interval& a, const Interval& b) {
    return {a.lower - b.upper, a.upper - b.lower};
  }
  static Interval multiply(const Interval& a, const Interval& b) {
    const mpq_class products[] = {a.lower * b.lower, a.lower * b.upper, a.upper * b.lower,
                                  a.upper * b.upper};
    return {*std::min_element(products, products + 4), *std::max_element(products, products + 4)};
  }
  static Interval divide(const Interval& a, const Interval& b) {
    BF_CHECK(b.lower > 0 || b.upper < 0);
    return multiply(a, {1 / b.upper, 1 / b.lower});
  }
  static Interval relu(const Interval& x) {
    const mpq_class zero;
    return {std::max(x.lower, zero), std::max(x.upper, zero)};
  }
  static Interval larger(const Interval& a, const Interval& b) {
    return {std::max(a.lower, b.lower), std::max(a.upper, b.upper)};
  }
  // evaluate_exact() rounds natural powers of many bits only.
  static bool is_exact_power(const Function& f, const Interval& x) {
    if (f.kind != FunctionKind::kPower || f.a < 1 || f.a > 64 || f.a != std::floor(f.a))
      return false;
    const auto is_product = [&f](const mpq_class& each) {
      mpq_class product = 1;
      for (int k = 0; k < static_cast<int>(f.a); ++k) product *= each;
      return evaluate_exact(f, each) == product;
    };
    return is_product(x.lower) && is_product(x.upper);
  }
  // The steps of a composite, one after the other.
  static Interval apply(const Composite& composite, const Interval& x) {
    using Kind = CompositeStep::Kind;
    const auto number_of = [](const Bounded& b) {
      return Interval{mpq_class(b.value) - mpq_class(b.error),
                      mpq_class(b.value) + mpq_class(b.error)};
    };
    std::vector<Interval> values = {x};
    for (std::size_t i = 1; i < composite.steps().size(); ++i) {
      const CompositeStep& step = composite.steps()[i];
      const Interval left = values[static_cast<std::size_t>(step.left)];
      const Interval right = values[static_cast<std::size_t>(step.right)];
      if (step.kind == Kind::kLine)
        values.push_back(add(multiply(number_of(step.factor), left), number_of(step.offset)));
      if (step.kind == Kind::kSum) values.push_back(add(left, right));
      if (step.kind == Kind::kProduct) values.push_back(multiply(left, right));
      if (step.kind == Kind::kFunction) values.push_back(apply(step.function, left));
    }
    return values.back();
  }
  // For functions that are monotone to both sides of 0, or everywhere: all that random_graph makes.
  static Interval apply(const Function& f, const Interval& x) {
    if (f.composite != nullptr) return apply(*f.composite, x);
    Interval y = {evaluate_exact(f, x.lower), evaluate_exact(f, x.upper)};
    if (y.upper < y.lower) std::swap(y.lower, y.upper);
    if (x.lower < 0 && x.upper > 0 && f.kind != FunctionKind::kReciprocal) {
      const mpq_class zero = evaluate_exact(f, mpq_class());
      y = {std::min(y.lower, zero), std::max(y.upper, zero)};
    }
    if (is_piecewise_linear(f.kind) || is_exact_power(f, x)) return y;
    // evaluate_exact() misses by 2^-200 of max(1, |f|).
    const mpq_class miss = mpq_class(0x1p-190) * (1 + abs(y.lower) + abs(y.upper));
    return {y.lower - miss, y.upper + miss};
  }
};

inline std::vector<std::vector<Interval>> evaluate_intervals(
    const Graph& graph, const std::vector<std::vector<Interval>>& inputs) {
  return evaluate_with<IntervalArithmetic>(graph, inputs);
}

}  // namespace bf_aot::testing
