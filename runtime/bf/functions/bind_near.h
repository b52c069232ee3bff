#pragma once

#include "bf/core/bounds.h"
#include "bf/functions/functions.h"

// The box, for networks in which functions that have poles or end near 0 read inputs themselves.

namespace bf {

// bind_box() of double centres, but that the end which is nearer to 0 is the exact one: a logarithm
// of [2, 1e8] must not read what is below 2. Where the ends differ by more than doubles do, it
// keeps its sign alone. Boxes that hold 0 inside are as bind_box() has them.
static inline void bind_near(float lower, float upper, double* centre, float* radius) {
  if (lower < 0 && upper > 0) {
    bind_box(&lower, &upper, 1, centre, radius);
    return;
  }
  const double l = static_cast<double>(lower), h = static_cast<double>(upper);
  Relaxation made = {};
  if (lower >= 0)
    put_magnitudes(l, h, 1, &made);
  else
    put_magnitudes(-h, -l, -1, &made);
  *centre = made.centre;
  *radius = made.radius;
}

static inline void bind_near_box(const float* lower, const float* upper, int n, double* centre,
                                 float* radius) {
  for (int i = 0; i < n; ++i) bind_near(lower[i], upper[i], centre + i, radius + i);
}

}  // namespace bf
