/* tiny: guaranteed bounds on a network's outputs. Do not edit.
 *
 *   made by    bf-aot 0.2.0 from tiny.onnx
 *   sha256     4616919cd2d1c35cf2c1fcbee30afbeb656c57832eff2fa7a25dbbc93f1aa30f
 *   opset      13
 *   method     ibp, semantics real, generic code for generic
 *   covers     the network in exact arithmetic. An evaluation in float32, as that of
 *              tiny_evaluate, rounds and may leave them: --semantics float32 covers it.
 *   inputs     x [1, 2]
 *   outputs    y [1, 2]
 *   workspace  64 bytes
 *   weights    48 bytes
 *   tasks      3
 *
 * This file and the headers that it includes may be used, changed and shipped by anyone,
 * for any purpose, without attribution and without warranty (0BSD).
 */
/* clang-format off */
#ifndef BF_VERIFIER_TINY_H
#define BF_VERIFIER_TINY_H

#include <stddef.h>

#include "bf.h"

#define TINY_ABI 2
#define TINY_INPUTS 2
#define TINY_OUTPUTS 2
#define TINY_SPEC_ROWS 0
#define TINY_WORKSPACE_BYTES 64
#define TINY_WORKSPACE_ALIGN 16
#define TINY_WEIGHTS_BYTES 48
#define TINY_MODEL_SHA256 \
  "4616919cd2d1c35cf2c1fcbee30afbeb656c57832eff2fa7a25dbbc93f1aa30f"

#ifdef __cplusplus
extern "C" {
#endif

/* Bounds of every output over the box lower <= x <= upper:
 *   out_lower[i] <= y_i(x) <= out_upper[i] for every x in it, y evaluated in exact arithmetic.
 * lower, upper: TINY_INPUTS numbers, finite, lower <= upper. out_lower, out_upper: TINY_OUTPUTS
 * numbers, written on BF_OK alone; infinite where nothing is known. workspace: TINY_WORKSPACE_BYTES
 * bytes aligned to TINY_WORKSPACE_ALIGN, the caller's; its contents do not matter before or after.
 * What a call writes, and its workspace, must not overlap its other arrays: BF_OVERLAP. Reentrant.
 * tiny_status_text says in words what was refused. */
bf_status tiny_bounds(const float *lower, const float *upper, float *out_lower, float *out_upper,
                      void *workspace, size_t workspace_bytes);

/* Plain inference in float32: y = network(x), no bound of its rounding. x must not overlap y. */
bf_status tiny_evaluate(const float *x, float *y, void *workspace, size_t workspace_bytes);

/* Any status of the functions of this file in words; never null. */
const char *tiny_status_text(bf_status status);

/* What this verifier is; never null. */
const bf_model_info *tiny_info(void);

#ifdef __cplusplus
}
#endif

#endif /* BF_VERIFIER_TINY_H */
