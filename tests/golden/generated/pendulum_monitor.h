/*
 * watch: a look-ahead monitor of a closed loop. Do not edit.
 *
 *   plant       plant.onnx
 *   sha256      df74e38b0d367926f3975d68d38b1b107844bae7af75e8e4da30af24ad77a01d
 *   controller  controller.onnx
 *   sha256      ccaae2bd6338b7d71dfcdd486145b7fe427dc278bf55b1082e6b0532ebdbd901
 *   periods     20 of 0.05 seconds, each in one step of order 2
 *   symbols     10, and 18 within a period
 *   workspace   9736 bytes
 *   operations  966662 on doubles at most, and 20 calls of the network's verifier
 *
 * This file and the headers that it includes may be used, changed and shipped by anyone,
 * for any purpose, without attribution and without warranty (0BSD).
 */
/* clang-format off */
#ifndef BF_MONITOR_WATCH_H
#define BF_MONITOR_WATCH_H

#include <stddef.h>

#include "bf.h"

#define WATCH_STATES 2
#define WATCH_PERIODS 20
#define WATCH_REQUIREMENTS 1
#define WATCH_WORKSPACE_BYTES 9736
#define WATCH_WORKSPACE_ALIGN 8

#ifdef __cplusplus
extern "C" {
#endif

/* What is proven of the next WATCH_PERIODS periods. Period p lasts from p to p + 1 periods from
 * now; the last one has its end, too. */
typedef struct watch_result {
  /* So many periods from now on are proven to meet all requirements; then the first that is not. */
  bf_uint32 safe_periods;
  /* The requirement that is not proven in that period, from 0; WATCH_REQUIREMENTS where all are
   * proven, or where no bounds were found. */
  bf_uint32 open_requirement;
  /* 1 for each period that is proven, else 0. */
  unsigned char proven[WATCH_PERIODS];
  /* States of each period, and at the end; infinite where no bounds were found. */
  double lower[(WATCH_PERIODS + 1) * WATCH_STATES];
  double upper[(WATCH_PERIODS + 1) * WATCH_STATES];
} watch_result;

/* Looks ahead from every state with lower <= x <= upper: WATCH_STATES numbers, finite. The control
 * is computed now, and at the beginning of each period.
 * Requirement 0: always (<= -0.5 angle 0.5)
 * result is written on BF_OK alone. workspace: WATCH_WORKSPACE_BYTES bytes aligned to
 * WATCH_WORKSPACE_ALIGN, the caller's; its contents do not matter before or after. What a call
 * writes, and its workspace, must not overlap its other arrays: BF_OVERLAP. Reentrant. */
bf_status watch_look_ahead(const double *lower, const double *upper, watch_result *result,
                            void *workspace, size_t workspace_bytes);

#ifdef __cplusplus
}
#endif

#endif /* BF_MONITOR_WATCH_H */
