#pragma once

#include <span>
#include <string_view>

#include "planner/plan/plan.h"

namespace bf_aot {

// Bounds on floating-point errors, computed at compile time and rounded up. Proofs:
// docs/proofs/error-terms.md. u = 2^-24 is the unit roundoff of float32, v = 2^-53 of double.

inline constexpr double kUnitFloat = 0x1p-24;

// gamma_n = n u / (1 - n u): a float32 sum of n products, in any order, with or without FMA,
// differs from the exact one by at most gamma_n sum |a_i b_i| (Higham 2002, section 3.1). n u <
// 1/2.
double gamma_float(int n);

// gamma_n for sums in double: n v / (1 - n v).
double gamma_double(int n);

// 1 / (1 - gamma_n) (1 + slack): undoes what rounding may have lost in a float32 sum of n terms >=
// 0.
double inflate_float(int n);

// x >= 0 enlarged by at least the rounding of a few double operations; 0 stays 0.
double up(double x);

// A float32 table for exact weights, and its remainders where some weight is inexact.
struct RoundedWeights {
  std::vector<float> weight;
  std::vector<float> residual;  // or empty: all are 0
};

// Enlarges errors.weight_relative and weight_residual to what these weights need.
// Throws: CompileError BF2103 when a weight is beyond float32.
RoundedWeights round_weights(const Constant& exact, const std::string& origin,
                             AffineErrors& errors);

// Fills layer.bias and the bias members of layer.errors. Throws: as above.
void round_bias(const Constant& exact, const std::string& origin, Layer& layer);

// Fills `layer.weight`, `residual`, `bias` and `errors` from the exact affine map.
// Throws: CompileError BF2103 when a weight or bias is beyond float32.
void round_weights(const Affine& affine, Layer& layer);

// The terms below are zeroed when the plan's configuration drops them (mutation test).
enum class ErrorTerm : int {
  kSummation,        // float32 rounding of W c in the interval pass
  kRadiusSummation,  // float32 rounding of |W| r
  kScalar,           // bias addition and the outward step of the interval pass
  kWeightRounding,   // folded weights rounded to float32
  kBiasRounding,     // folded biases rounded
  kCentre,           // double rounding of the centre path
  kProduct,          // float32 (or double) rounding of the backward product
  kCoefficient,      // rounding of coefficients to float32: A x slope, and wide sums when stored
  kOffset,           // float32 rounding of the sum of offsets and what they pay
  kConcretize,       // float32 rounding of |A| r at the input
  kUnderflow,        // products below the normal range
};

// `value`, or 0 when the term is dropped.
double term(const PlannerConfig& config, ErrorTerm which, double value);

// The names that PlannerConfig::dropped_error_terms accepts.
std::span<const std::string_view> error_term_names();

}  // namespace bf_aot
