#pragma once

#include <string>
#include <vector>

#include "planner/plan/plan.h"

namespace bf_aot {

// A linear function of tensors that are layers already, not yet a layer itself.
struct Expression {
  std::vector<Term> terms;
  Constant bias;
  AffineErrors errors;
  Origin origin;
};

Constant zeros(int n);

// a + b, elementwise; what rounding the sums may have lost is added to the error bounds.
Constant add_constants(Constant a, const Constant& b);

// A convolution of tensor `input`, its bias one per element.
// Throws: CompileError BF2103 when a weight is beyond float32.
Expression conv_expression(const Conv& conv, LayerId input, const Origin& origin);

// expression times factors that are 1 but for their errors, one for each element.
void multiply_by_ones(const Constant& factor, Expression& expression);

// sum += expression.
void add_expression(Expression expression, Expression& sum);

// "a + b"; `a` where it names b already, or has grown long.
Origin join_names(const Origin& a, const Origin& b);

}  // namespace bf_aot
