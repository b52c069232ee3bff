#pragma once

#include <limits>

#include "frontend/functions/function.h"
#include "frontend/functions/interval.h"

namespace bf_aot {

// A line intercept + slope v that a function comes near on one side of zero: for |v| >= from the
// distance is at most factor e^(-rate |v|).
struct FarLine {
  bool known = false;
  double intercept = 0, slope = 0, factor = 0, rate = 1;
};

// Describes the smooth branch of a function: its values and its steepness over an interval, and the
// lines that it comes near.
struct Far {
  Interval value = Interval::entire();
  double lipschitz = std::numeric_limits<double>::infinity();
  FarLine left, right;
};

// Lines hold from here on; `from` is never less.
inline constexpr double kFarFrom = 4;

// The column of function_facts.cpp: facts over v, with lines that hold from `from` on.
namespace far {

Far none(const Function& f, const Interval& v, double from);  // nothing is known
Far sigmoid(const Function& f, const Interval& v, double from);
Far tanh(const Function& f, const Interval& v, double from);
Far erf(const Function& f, const Interval& v, double from);
Far softplus(const Function& f, const Interval& v, double from);
Far exponential(const Function& f, const Interval& v, double from);
Far elu(const Function& f, const Interval& v, double from);
Far celu(const Function& f, const Interval& v, double from);
Far gelu(const Function& f, const Interval& v, double from);
Far like_relu(const Function& f, const Interval& v, double from);  // GeluTanh, Mish

}  // namespace far

// Less than a b, for a, b > 0 of normal products.
inline double product_below(double a, double b) {
  return a * b * (1 - 0x1p-50);
}

}  // namespace bf_aot
