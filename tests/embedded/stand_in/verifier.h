#pragma once

#include "runtime/bf.h"

/* A verifier written by hand, for the tests of the harness: interval bounds of
 *   h = relu(W x + b), y = V h + c, with two inputs, two hidden values and one output. */
#define STAND_IN_INPUTS 2
#define STAND_IN_OUTPUTS 1
#define STAND_IN_WORKSPACE_BYTES 16
#define STAND_IN_WORKSPACE_ALIGN 4

#ifdef __cplusplus
extern "C" {
#endif

bf_status stand_in_bounds(const float* lower, const float* upper, float* out_lower,
                          float* out_upper, void* workspace, size_t workspace_bytes);

#ifdef __cplusplus
}
#endif
