#pragma once

#include <optional>

#include "frontend/functions/function.h"

namespace bf_aot {

// Bounds the evaluation of a function f in float32 at a float32 number x: its result is within
// relative |f(x)| + absolute of f(x), but for what is lost where results are subnormal. Proofs:
// docs/proofs/float32.md.
struct Float32Function {
  double relative = 0;
  double absolute = 0;
  // Relative rounding of the argument, before the function and its other errors apply.
  double of_input = 0;
  bool is_exact() const { return relative == 0 && absolute == 0 && of_input == 0; }
};

// libm_ulps: largest error of the library's functions in units of the last place.
// None: a function whose evaluation is not covered.
std::optional<Float32Function> evaluated_in_float32(const Function& function, double libm_ulps);

// >= |f(x)| for |x| <= most, also as evaluated but for a factor 2, and what is computed on the way;
// infinite where that may overflow.
double largest_in_float32(const Function& function, double most);

// Errors of the usual forms of functions, for the rows of function_facts.cpp. `units`: results of
// the library are within units 2^-24 of their functions, relative.
namespace float32 {

using Covered = std::optional<Float32Function>;

// An error of so many roundings of the result, and of so many of 1.
inline Covered rounded(double of_result, double of_one = 0) {
  return Float32Function{of_result * 0x1p-24, of_one * 0x1p-24, 0};
}

template <int kRoundings>
Covered roundings(const Function&, double) {
  return rounded(kRoundings);
}

inline constexpr auto exact = roundings<0>;

Covered by_library(const Function& f, double units);
Covered round(const Function& f, double units);
Covered hard_sigmoid(const Function& f, double units);
Covered hard_swish(const Function& f, double units);
Covered sigmoid(const Function& f, double units);
Covered softplus(const Function& f, double units);
Covered elu(const Function& f, double units);
Covered celu(const Function& f, double units);
Covered selu(const Function& f, double units);
Covered gelu(const Function& f, double units);
Covered gelu_tanh(const Function& f, double units);
Covered mish(const Function& f, double units);
Covered as_power(const Function& f, double units);
Covered power(const Function& f, double units);

// Bounds of what the forms compute, on the way too, where the argument is at most x in size.
namespace most {

template <int kLeast>
double at_least(const Function&, double x) {
  return x < kLeast ? kLeast : x;
}

double same(const Function& f, double x);
double plus_one(const Function& f, double x);
double twice(const Function& f, double x);
double four(const Function& f, double x);
double exponential(const Function& f, double x);
double capped_exponential(const Function& f, double x);
double unbounded(const Function& f, double x);
double leaky_relu(const Function& f, double x);
double clip(const Function& f, double x);
double hard_sigmoid(const Function& f, double x);
double shrink(const Function& f, double x);
double round(const Function& f, double x);
double elu(const Function& f, double x);
double celu(const Function& f, double x);
double selu(const Function& f, double x);
double power(const Function& f, double x);

}  // namespace most
}  // namespace float32
}  // namespace bf_aot
