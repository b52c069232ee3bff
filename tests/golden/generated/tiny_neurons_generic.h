/* tiny: guaranteed bounds on a network's outputs. Do not edit.
 *
 *   made by    bf-aot 0.2.0 from tiny.onnx
 *   sha256     4616919cd2d1c35cf2c1fcbee30afbeb656c57832eff2fa7a25dbbc93f1aa30f
 *   opset      13
 *   method     crown, semantics real, generic code for generic
 *   covers     the network in exact arithmetic. An evaluation in float32, as that of
 *              tiny_evaluate, rounds and may leave them: --semantics float32 covers it.
 *   inputs     x [1, 2]
 *   outputs    y [1, 2]
 *   spec       4 rows
 *   workspace  320 bytes
 *   weights    144 bytes
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
#define TINY_SPEC_ROWS 4
#define TINY_WORKSPACE_BYTES 320
#define TINY_WORKSPACE_ALIGN 16
#define TINY_WEIGHTS_BYTES 144
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

/* The same for the 4 rows C y - d of the specification. */
bf_status tiny_spec_bounds(const float *lower, const float *upper, float *out_lower,
                           float *out_upper, void *workspace, size_t workspace_bytes);

/* The property tiny_cases.vnnlib: an input of a case's box must not satisfy a clause of the case.
 * */
#define TINY_PROPERTY_CASES 3
#define TINY_VERIFY_WORKSPACE_BYTES (TINY_WORKSPACE_BYTES + 56)

/* Whether the property holds for every x with lower <= x <= upper: BF_VERIFIED, BF_FALSIFIED with
 * a violating x, or BF_UNKNOWN. BF_OUTSIDE, BF_PARTLY_OUTSIDE: not all of the box lies in the
 * region that the property speaks of, the boxes of tiny_property_box. Arguments as for
 * tiny_bounds, but workspace_bytes is at least TINY_VERIFY_WORKSPACE_BYTES. The property itself
 * holds when each case's box is verified. */
bf_status tiny_verify(const float *lower, const float *upper, bf_result *result, void *workspace,
                      size_t workspace_bytes);

/* The least box of floats around that of a case, from 0. */
bf_status tiny_property_box(size_t index, float *lower, float *upper);

/* tiny_spec_bounds, and where the neurons lie before their ReLUs: ranges[i] <= z_i <=
 * ranges[6 + i] for neuron i of 6, counted over the layers that the rows depend on; written
 * for layers with an activation alone. null: not wanted. */
bf_status tiny_spec_ranges(const float *lower, const float *upper, float *out_lower,
                           float *out_upper, float *ranges, void *workspace,
                           size_t workspace_bytes);

/* Decides the property tiny_cases.vnnlib on a box by splits of neurons: as tiny_verify, but
 * what is undecided is split at a neuron or at an input, over and over, whichever gains more.
 * BF_BUDGET: `budget` is spent, of which a node is a box, or more
 * than 64 nodes are open at a time; TINY_OPEN_BOX_BYTES more of workspace is room for one more.
 * BF_UNKNOWN: a node that no float divides is left. budget: see bf.h; null: no limit. search: null,
 * or where to write how far the search came. The same result on every run. */
#define TINY_OPEN_BOX_BYTES 56
#define TINY_DECIDE_WORKSPACE_BYTES (TINY_WORKSPACE_BYTES + 5360)
bf_status tiny_decide(const float *lower, const float *upper, const bf_budget *budget,
                      bf_result *result, bf_search *search, void *workspace,
                      size_t workspace_bytes);

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
