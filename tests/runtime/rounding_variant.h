#pragma once

#include <stddef.h>

// The rounding primitives as array functions: loops, so that the compiler may inline, unroll and
// vectorise what it is tested on. rounding_variant.cpp defines one table for each set of compiler
// flags; all tables live in one program, as the verifiers of an application do.

namespace bf_test {

template <class Float>
struct Primitives {
  using Binary = void (*)(const Float* a, const Float* b, Float* result, size_t count);
  using Unary = void (*)(const Float* a, Float* result, size_t count);

  Unary next_up, next_down;
  Binary add_up, add_down, sub_up, sub_down, mul_up, mul_down, div_up, div_down;
  Binary polynomial_up;  // an upper bound of a * b + a: invites contraction
};

struct RoundingVariant {
  const char* name;
  Primitives<float> on_float;
  Primitives<double> on_double;
  void (*float_up)(const double* a, float* result, size_t count);
  void (*float_down)(const double* a, float* result, size_t count);
  bool (*float_environment_ok)();
};

}  // namespace bf_test
