#pragma once

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// The words of runtime/bf/c/ in CUDA C++. A verifier of target cuda begins with this header. What
// compilers may fuse, error terms cover; nvcc's defaults round quotients and keep subnormals.

#define BF_DEVICE 1

#if defined(__NVCC__)
#pragma nv_diag_suppress 177  // a verifier calls some of the functions
#endif

#if defined(__FAST_MATH__) || (defined(__CUDA_FTZ) && __CUDA_FTZ)
#error "bf: fast math breaks proven bounds: compile without --use_fast_math and -ftz=true"
#endif
#if defined(__CUDA_PREC_DIV) && !__CUDA_PREC_DIV
#error "bf: quotients must be rounded: compile without -prec-div=false"
#endif

#define BF_GLOBAL
#define BF_CONSTANT
#define BF_TABLE static __device__ const
#define BF_FUNCTION static __device__ inline
#define BF_INLINE static __device__ __forceinline__
#define BF_RESTRICT __restrict__
#define BF_KERNEL static __device__ void
#define BF_UNROLL(n)
#if defined(__CUDACC__)
#define BF_PRAGMA_TEXT(text) _Pragma(#text)
#define BF_UNROLL_BY(n) BF_PRAGMA_TEXT(unroll n)
#else
#define BF_UNROLL_BY(n)
#endif
#define BF_PREFETCH(p, bytes) ((void)0)

#define BF_INFINITY HUGE_VALF
#define BF_INFINITY_DOUBLE HUGE_VAL
#define BF_MAGNITUDE(x) fabs(x)
#define BF_MAGNITUDE_FLOAT(x) fabsf(x)
#define BF_BITS_OF(x) ((uint64_t)__double_as_longlong(x))
#define BF_OF_BITS(bits) __longlong_as_double((long long)(bits))
#define BF_BITS_OF_FLOAT(x) __float_as_uint(x)
#define BF_FLOAT_OF_BITS(bits) __uint_as_float(bits)
#define BF_FMA(x, y, z) fma(x, y, z)

// An entry point is called for each box by a group of BF_ITEMS items, the probe by one item. Hosts
// of NVRTC find the probe by its name; nvcc links several verifiers, each with its own.
#if defined(__CUDACC_RTC__)
#define BF_PROBE_ENTRY extern "C" __global__ void
#else
#define BF_PROBE_ENTRY static __global__ void
#endif
#define BF_ENTRY extern "C" __global__ void
#define BF_BOX ((size_t)blockIdx.x)

#if BF_ITEMS > 1

// The items of a group: the number of one, what one of them does alone, where all wait for each
// other, and memory that they share, the last argument of routines that count or sum together.
#define BF_ITEM ((int)threadIdx.x)
#define BF_ONCE if (BF_ITEM == 0)
#define BF_BARRIER __syncthreads()
#define BF_LOCAL
#define BF_TEAM , BF_LOCAL bf_team* team
#define BF_OF_TEAM , team

// An entry point has that memory itself.
#define BF_GIVEN_TEAM
#define BF_OWN_TEAM          \
  __shared__ bf_team shared; \
  bf_team* const team = &shared;

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
