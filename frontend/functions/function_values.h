#pragma once

#include <gmpxx.h>

#include "frontend/functions/long_real.h"

// Values of functions that take more than a line, for the rows of function_facts.cpp.
namespace bf_aot::values {

double finite_or_nan(double y);
double round_quotient(double x, double a);  // x / a to the nearest integer, ties to even
double sigmoid(double x);
double mish(double x);
double gelu_tanh(double x);

mpq_class floor_of(const mpq_class& x);
mpq_class round_of(const mpq_class& x);  // the nearest integer, ties to even
mpq_class clip(const mpq_class& x, double low, double high);
mpq_class shrink(const mpq_class& x, double a, double b);

LongReal exp(const LongReal& x);
LongReal expm1(const LongReal& x);
LongReal softplus(const LongReal& x);
LongReal gelu(const LongReal& x);
LongReal gelu_tanh(const LongReal& x);

}  // namespace bf_aot::values
