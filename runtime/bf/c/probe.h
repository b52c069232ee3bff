#pragma once

#include "bf/c/core.h"

// The probe of a device: its arithmetic on pairs of numbers, for its host to compare, which counts
// and names the results in host/device.h.

#if defined(BF_DEVICE)

#define BF_PROBE_RESULTS 11

// Item i: pair i, and BF_PROBE_RESULTS results of it.
BF_PROBE_ENTRY bf_probe(BF_GLOBAL const double* a, BF_GLOBAL const double* b,
                        BF_GLOBAL double* made) {
  const size_t i = BF_BOX;
  BF_GLOBAL double* const to = made + i * BF_PROBE_RESULTS;
  const double x = a[i];
  const double y = b[i];
  const float narrow_x = (float)x;
  const float narrow_y = (float)y;
  const double product = x * y;
  const float narrow_product = narrow_x * narrow_y;
  const double sum = x + y;
  const double part = sum - x;
  to[0] = sum;
  to[1] = product;
  to[2] = x / y;
  to[3] = BF_FMA(x, y, -product);
  to[4] = (x - (sum - part)) + (y - part);
  to[5] = (double)narrow_x;
  to[6] = (double)(narrow_x + narrow_y);
  to[7] = (double)narrow_product;
  to[8] = (double)(narrow_x / narrow_y);
  to[9] = (double)BF_FMA(narrow_x, narrow_y, -narrow_product);
  to[10] = (double)bf_magnitude_float(-narrow_x);
}

// Item i: whether box i is one that bounds are promised for, 0, or not, 1. reach: of its ends.
BF_PROBE_ENTRY bf_check_boxes(BF_GLOBAL const float* lowers, BF_GLOBAL const float* uppers,
                              int inputs, float reach, BF_GLOBAL int32_t* faults) {
  const size_t box = BF_BOX;
  BF_GLOBAL const float* const lower = lowers + box * (size_t)inputs;
  BF_GLOBAL const float* const upper = uppers + box * (size_t)inputs;
  bool good = true;
  for (int i = 0; i < inputs; ++i)
    good = good && lower[i] <= upper[i] && lower[i] >= -reach && upper[i] <= reach;
  faults[box] = good ? 0 : 1;
}

#endif
