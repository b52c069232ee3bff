#pragma once

#include <gmpxx.h>

#include <algorithm>
#include <vector>

#include "frontend/evaluate_node.h"
#include "frontend/graph.h"
#include "frontend/passes/exact_arithmetic.h"

namespace bf::testing {

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
};

inline std::vector<std::vector<Interval>> evaluate_intervals(
    const Graph& graph, const std::vector<std::vector<Interval>>& inputs) {
  return evaluate_with<IntervalArithmetic>(graph, inputs);
}

}  // namespace bf::testing
