#pragma once

#include "bf/core/rounding.h"

namespace bf {

// over_z z + offset, a bound from below.
struct ReluLine {
  double over_z, offset;
};

// a relu(z) >= over_z z + offset where lower <= z <= upper, lower < 0 < upper, and the neuron's
// split holds: z >= 0 (split > 0), z <= 0 (split < 0), or none. choice >= 0: of a split the
// multiplier of its condition; else the slope of the line below, as far as it is at most 1. Exact
// for the over_z that is returned, also where the compiler fuses products into sums: it may not
// see that over_z is a product. Infinite or NaN where nothing is known.
// Proof: docs/proofs/neuron-splits.md.
static inline ReluLine relu_line(double a, int split, double choice, double lower, double upper) {
  if (split > 0) return {a - choice, 0};
  if (split < 0) return {choice, 0};
  if (a >= 0) return {a * (choice < 1 ? choice : 1), 0};
  const double over_z = mul_down(a, upper / (upper - lower));
  const double at_lower = mul_down(-over_z, lower);
  const double at_upper = mul_down(sub_down(a, over_z), upper);
  const double least = at_lower < at_upper ? at_lower : at_upper;
  return {over_z, least < 0 ? least : 0};
}

}  // namespace bf
