#pragma once

// The words of runtime/bf/c/ in OpenCL C 1.2, which has address spaces and its own names of types.
// A verifier of target opencl begins with this header.

#define BF_DEVICE 1

#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#if defined(BF_NO_CONTRACTION)
#pragma OPENCL FP_CONTRACT OFF
#endif

#if defined(__FAST_RELAXED_MATH__)
#error "bf: fast math breaks proven bounds: build without -cl-fast-relaxed-math"
#endif

// Keywords here, and names in the routines.
#define constant constant_
#define half half_
#define kernel kernel_

typedef int int32_t;
typedef long int64_t;
typedef uint uint32_t;
typedef ulong uint64_t;

#define BF_GLOBAL __global
#define BF_CONSTANT __constant
#define BF_TABLE static __constant const
#define BF_FUNCTION static inline
#define BF_INLINE static inline __attribute__((always_inline))
#define BF_RESTRICT restrict
#define BF_KERNEL static void
#define BF_UNROLL(n) _Pragma("unroll")
#define BF_UNROLL_BY(n)
#define BF_PREFETCH(p, bytes) ((void)0)

#define BF_INFINITY INFINITY
#define BF_INFINITY_DOUBLE ((double)INFINITY)
#define BF_MAGNITUDE(x) fabs(x)
#define BF_MAGNITUDE_FLOAT(x) fabs(x)
#define BF_BITS_OF(x) as_ulong(x)
#define BF_OF_BITS(x) as_double(x)
#define BF_BITS_OF_FLOAT(x) as_uint(x)
#define BF_FLOAT_OF_BITS(x) as_float(x)
#define BF_FMA(x, y, z) fma(x, y, z)

// An entry point is called for each box by a group of BF_ITEMS items, the probe by one item.
#define BF_PROBE_ENTRY __kernel void
#define BF_ENTRY __kernel __attribute__((reqd_work_group_size(BF_ITEMS, 1, 1))) void
#define BF_BOX get_group_id(0)

#if BF_ITEMS > 1

// The items of a group: the number of one, what one of them does alone, where all wait for each
// other, and memory that they share, the last argument of routines that count or sum together.
#define BF_ITEM ((int)get_local_id(0))
#define BF_ONCE if (BF_ITEM == 0)
#define BF_BARRIER barrier(CLK_GLOBAL_MEM_FENCE | CLK_LOCAL_MEM_FENCE)
#define BF_LOCAL __local
#define BF_TEAM , BF_LOCAL bf_team* team
#define BF_OF_TEAM , team

// An entry point's last argument is that memory. It is no variable: where routines that are not
// inlined get the address of one, PoCL 3.1 keeps it for all groups at once, whose bounds are wrong.
#define BF_GIVEN_TEAM , BF_LOCAL bf_team* team
#define BF_OWN_TEAM

// A loop over 0 .. n - 1 that the items of a group deal out: no iteration needs what another makes.
// All items go through as many turns, since PoCL 3.1 mistakes loops that some of them leave before.
#define BF_EACH_OF(type, i, n)                                                              \
  for (type i##_turn = 0, i = BF_ITEM; i##_turn < (n); i##_turn += BF_ITEMS, i += BF_ITEMS) \
    if (i < (n))

#else

#define BF_ITEM 0
#define BF_ONCE
#define BF_BARRIER ((void)0)
#define BF_TEAM
#define BF_OF_TEAM
#define BF_GIVEN_TEAM
#define BF_EACH_OF(type, i, n) for (type i = 0; i < (n); ++i)

#endif

#define BF_EACH(i, n) BF_EACH_OF(int, i, n)
