#ifndef BF_H
#define BF_H

#include <stddef.h>

/* C90 has no <stdint.h>: GCC and clang name the types themselves. */
#if defined(__cplusplus) || !defined(__UINT64_TYPE__) || \
    (defined(__STDC_VERSION__) && __STDC_VERSION__ >= 199901L)
#include <stdint.h>
typedef uint32_t bf_uint32;
typedef uint64_t bf_uint64;
#else
typedef __UINT32_TYPE__ bf_uint32;
__extension__ typedef __UINT64_TYPE__ bf_uint64;
#endif

/** \file
 * Generated verifiers and their callers share this: status codes, verdicts, the description of
 * a compiled model. Plain C90; no heap, no globals, no dependency. A generated entry point reads
 *
 *      bf_status NAME_bounds(const float *lower, const float *upper, float *out_lower,
 *                            float *out_upper, void *workspace, size_t workspace_bytes); */

/** Version of this runtime and of the compiler that it belongs to. */
#define BF_VERSION_MAJOR 0
#define BF_VERSION_MINOR 2
#define BF_VERSION_PATCH 0
#define BF_VERSION_STRING "0.2.0"

/** Version of the interface between verifiers, this header and the runtime library. It changes
 * when an old verifier can no longer be used with a new header; verifiers carry theirs in
 * bf_model_info.abi. */
#define BF_ABI_VERSION 2

#ifdef __cplusplus
extern "C" {
#endif

/** The reason why a call returned. Outputs are written if and only if the status is BF_OK, but for
 * what a bf_executor that breaks its contract leaves. */
typedef enum bf_status {
  BF_OK = 0,
  BF_NULL_ARGUMENT,        /**< a pointer is null */
  BF_NAN_INPUT,            /**< a bound of the input box is NaN */
  BF_EMPTY_BOX,            /**< a lower bound is greater than its upper bound */
  BF_INFINITE_BOX,         /**< a bound of the input box is infinite */
  BF_WORKSPACE_TOO_SMALL,  /**< fewer bytes than NAME_WORKSPACE_BYTES */
  BF_WORKSPACE_MISALIGNED, /**< address is no multiple of NAME_WORKSPACE_ALIGN */
  BF_FLOAT_ENVIRONMENT,    /**< rounding is not to nearest, subnormals are flushed to zero, or
                            *   products are fused into sums where the verifier forbids it */
  BF_NO_SUCH_CASE,         /**< a number of no case of the compiled-in property */
  BF_CONTEXT_TOO_SMALL,    /**< fewer bytes than NAME_CONTEXT_BYTES */
  BF_CONTEXT_MISALIGNED,   /**< address is no multiple of NAME_CONTEXT_ALIGN */
  BF_CONTEXT_FOREIGN,      /**< not initialised, or of another verifier */
  BF_BLOB_TOO_SMALL,       /**< fewer bytes than NAME_BLOB_BYTES */
  BF_BLOB_FOREIGN,         /**< no blob, or of another model */
  BF_BLOB_STALE,           /**< of this model, but another version, method or set of options */
  BF_BLOB_CORRUPT,         /**< the checksum is not that of the contents */
  BF_BAD_COUNT,            /**< a call for no boxes, or for more than NAME_BATCH */
  BF_BAD_EXECUTOR,         /**< no run or no workers, or its run returned before its jobs had */
  BF_FLOAT32_RANGE,        /**< semantics float32: a bound of the input box is beyond
                            *   NAME_FLOAT32_REACH, where the network might overflow */
  BF_OVERLAP,              /**< an array that the call writes, or its workspace or context, shares
                            *   bytes with another argument */
  BF_DEVICE_FAILED         /**< a call of the library of a device failed, or its memory is full */
} bf_status;

/** The verdict on a property on a box. Only BF_VERIFIED and BF_FALSIFIED are proofs. The property's
 * region is the union of its cases' boxes, as NAME_property_box has them: of inputs elsewhere it
 * says nothing, so that none of them can violate it. */
typedef enum bf_verdict {
  BF_UNKNOWN = 0, /**< the bounds are too loose to decide */
  BF_VERIFIED,    /**< the whole box lies in the property's region, and the property holds on it */
  BF_FALSIFIED,   /**< a point of the box violates the property */
  BF_BUDGET,      /**< the budget or the workspace ran out before a decision */
  BF_OUTSIDE,     /**< no point of the box lies in the property's region */
  BF_PARTLY_OUTSIDE /**< the property holds where the box lies in its region; elsewhere, or where
                     *   only several cases together could cover the box, nothing is said */
} bf_verdict;

/** The finding of a verifier with a compiled-in property about a box:
 *
 *      bf_status NAME_verify(const float *lower, const float *upper, bf_result *result,
 *                            void *workspace, size_t workspace_bytes);
 *
 * Written on BF_OK alone, but for `counterexample`, which is the caller's. */
typedef struct bf_result {
  bf_verdict verdict; /**< BF_BUDGET of NAME_decide alone */

  /** The number of the case, and of its clause, that is violated (BF_FALSIFIED) or not excluded
   * (BF_UNKNOWN, BF_BUDGET): the first such (NAME_verify), or that of an open box (NAME_decide). */
  bf_uint32 property_case;
  bf_uint32 clause;

  /** Null, or where the violating input goes on BF_FALSIFIED: as many numbers as the model has
   * inputs. */
  float* counterexample;
} bf_result;

/** The progress of a search of NAME_decide. */
typedef struct bf_search {
  bf_uint64 boxes;     /**< that were bounded */
  bf_uint64 points;    /**< that were tried */
  bf_uint64 open;      /**< boxes that are left */
  bf_uint64 most_open; /**< boxes that were left at the same time */
  double proven;       /**< share of the volume of the cases' boxes that is verified, rounded */
} bf_search;

/** The budget of a verifier compiled with --decide for a decision of its property on a box:
 *
 *      bf_status NAME_decide(const float *lower, const float *upper, const bf_budget *budget,
 *                            bf_result *result, bf_search *search, void *workspace,
 *                            size_t workspace_bytes);
 *
 * It splits boxes that bounds do not decide until all are verified, a violating point is found, or
 * the budget is spent. */
typedef struct bf_budget {
  bf_uint64 boxes; /**< most boxes to bound; 0: any number */

  /** Null, or asked at least once between any two calls of the bounds: anything but 0 ends the
   * search with BF_BUDGET. The verifier has no clock: a limit of time goes here, and so does a
   * line that shows how far the search has come. */
  int (*stop)(void* data, const bf_search* search);
  void* data; /**< for stop */
} bf_budget;

/** A part of a call's work, with its argument. Touches the call's memory alone, never fails, never
 * throws. */
typedef void (*bf_job)(void* data, size_t job);

/** The executor that does the work of calls of a verifier compiled with --parallel:
 *
 *      bf_status NAME_bounds_parallel(const float *lower, const float *upper, float *out_lower,
 *                                     float *out_upper, void *workspace, size_t workspace_bytes,
 *                                     const bf_executor *executor);
 *
 * Verifiers start no threads. Adapters for std::thread, OpenMP and oneTBB are in host/ beside this
 * header. Results are the same to the bit for any executor. */
typedef struct bf_executor {
  /** Calls job(data, i) for each i < jobs, once, in any order, at the same time or not, and returns
   * when all calls have; what they wrote must then be visible to the caller, and what the caller
   * wrote before to them. Must not throw. Jobs deal out the work among themselves: one that runs
   * late finds less left, and one that is never called costs time alone. So does one on a thread
   * that does not round to nearest, or flushes subnormals: it takes nothing. The caller's own
   * thread must be left to round as it did: else the call ends with BF_FLOAT_ENVIRONMENT, as it
   * ends with BF_BAD_EXECUTOR when jobs still run, and what was written of its outputs means
   * nothing. */
  void (*run)(void* self, bf_job job, void* data, size_t jobs);
  void* self;     /**< for run */
  size_t workers; /**< jobs that can run at the same time, at least 1; jobs never exceeds it */
} bf_executor;

/** Counts of what calls on a context found there, for verifiers compiled with --cache: see
 * NAME_cache_counters. All start at 0 with the context. */
typedef struct bf_cache_counters {
  bf_uint64 calls;         /**< that returned BF_OK */
  bf_uint64 hits;          /**< on the box of the call before: no forward pass */
  bf_uint64 misses;        /**< on another box */
  bf_uint64 full_hits;     /**< hits whose results were there: no work but copying them */
  bf_uint64 anchor_hits;   /**< on a box inside the anchor: its bounds were used */
  bf_uint64 anchor_misses; /**< on a box that became the anchor */
  bf_uint64 intersections; /**< ends of neurons' intervals that the anchor's bounds tightened */
  bf_uint64 warm_starts;   /**< optimisations that began where an earlier call's ended */
  bf_uint64 loads;         /**< blobs that were accepted */
} bf_cache_counters;

/** A blob that NAME_context_save wrote begins with a header of so many bytes: 8 of a magic, 64
 * digits of the model's SHA-256, the ABI version (4), marks of valid parts (4), the fingerprint of
 * the verifier's plan (8), the number of bytes that follow the header (8), more marks (4), 4
 * zeros, and a checksum of everything else (8, FNV-1a). Byte order is the machine's. The checksum
 * finds accidents; whoever can forge a blob can forge bounds. */
#define BF_BLOB_HEADER_BYTES 112

/** Description of one compiled model: constant, lives as long as the program. Strings end in NUL.
 */
typedef struct bf_model_info {
  const char* name;         /**< prefix of the verifier's symbols */
  const char* model_sha256; /**< of the model file, 64 hexadecimal digits */
  const char* method;       /**< "ibp", "crown-ibp", "crown", ... */
  const char* semantics;    /**< arithmetic of the network that the bounds hold for, as "real" */
  const char* tool_version; /**< BF_VERSION_STRING of the compiler that wrote the verifier */
  bf_uint32 inputs;         /**< length of the input box's arrays */
  bf_uint32 outputs;        /**< number of the model's outputs */
  bf_uint32 spec_rows;      /**< rows of a compiled-in specification; 0 when there is none */
  size_t workspace_bytes;   /**< smallest workspace */
  size_t workspace_align;   /**< alignment of the workspace, a power of two */
  size_t weights_bytes;     /**< constant data of the model */
  bf_uint32 abi;            /**< BF_ABI_VERSION of the header that the verifier was compiled with */
} bf_model_info;

/** A short English text for a status: "lower bound greater than upper bound". Never null, also for
 * values outside the enumeration. */
const char* bf_status_text(bf_status status);

/** The word that names a verdict: "verified". Never null, also for values outside the enumeration.
 */
const char* bf_verdict_text(bf_verdict verdict);

/** BF_VERSION_STRING of the linked runtime library. */
const char* bf_version(void);

#ifdef __cplusplus
}
#endif

#endif /* BF_H */
