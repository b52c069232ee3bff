#pragma once

#include <float.h>
#include <stdbool.h>

#include "bf.h"

// Checks of boxes, in C99 and C++.

// BF_OK when the box is one that bounds are promised for. n: elements of lower and of upper.
static inline bf_status bf_check_box(const float* lower, const float* upper, int n) {
  bool good = true;
  for (int i = 0; i < n; ++i)
    good = good && lower[i] <= upper[i] && lower[i] >= -FLT_MAX && upper[i] <= FLT_MAX;
  if (good) return BF_OK;
  for (int i = 0; i < n; ++i)
    if (!(lower[i] <= upper[i]) && !(lower[i] > upper[i])) return BF_NAN_INPUT;
  for (int i = 0; i < n; ++i)
    if (!(lower[i] <= upper[i])) return BF_EMPTY_BOX;
  return BF_INFINITE_BOX;
}

// bf_check_box() of semantics float32: within `reach` no evaluation of the network overflows.
static inline bf_status bf_check_box_within(const float* lower, const float* upper, int n,
                                            float reach) {
  const bf_status status = bf_check_box(lower, upper, n);
  if (status != BF_OK) return status;
  for (int i = 0; i < n; ++i)
    if (lower[i] < -reach || upper[i] > reach) return BF_FLOAT32_RANGE;
  return BF_OK;
}
