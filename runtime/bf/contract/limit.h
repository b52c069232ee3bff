#ifndef BF_LIMIT_H
#define BF_LIMIT_H

#include "bf.h"

#ifdef __cplusplus
extern "C" {
#endif

/** \file
 * Limits of calls of verifiers that were compiled for several methods, as --method ibp,crown. Plain
 * C90, as bf.h, which it adds to:
 *
 *      bf_status NAME_bounds_within(const float *lower, const float *upper, float *out_lower,
 *                                   float *out_upper, const bf_limit *limit, bf_reached *reached,
 *                                   void *workspace, size_t workspace_bytes);
 *
 * The cheapest method always ends; each other follows while the limit allows. A method that stops
 * leaves the results of the one before as they are. */
typedef struct bf_limit {
  bf_uint64 operations; /**< of all methods but the cheapest, at most; 0: any number */

  /** Null, or asked before each step of these methods, of backward rows before each tile: anything
   * but 0 stops the method. The verifier has no clock: a deadline goes here. The function must
   * leave the workspace and the floating-point environment as they are. */
  int (*stop)(void* data);
  void* data; /**< for stop */
} bf_limit;

/** The method that a call within a limit ended with: its results are the call's. */
typedef struct bf_reached {
  const char* method;   /**< "ibp", "crown-ibp", ..., constant */
  bf_uint32 place;      /**< its place in --method, from 0 */
  bf_uint64 operations; /**< that it and those before it took of the limit */
} bf_reached;

#ifdef __cplusplus
}
#endif

#endif /* BF_LIMIT_H */
