#pragma once

#include "bf/contract/integers.h"

// Outward-rounded scalar arithmetic for generated verifiers.
//
// X_up(...) is a float (double) that is at least the exact real result of X on the given values,
// X_down(...) one that is at most that result. Overflow, underflow and infinite operands included.
// Where the result does not exist in the extended reals (a NaN operand, inf - inf, 0 * inf,
// division by zero) _up returns +inf and _down -inf: the bounds that claim nothing.
//
// Everything rests on two assumptions, which float_environment_ok() checks at run time: rounding
// to nearest, and subnormals neither flushed on output nor on input. Note [one step outward]:
//
//   Let r be the float nearest to the exact result x, ties either way. No float lies strictly
//   between r and its neighbours p < r < n, so x > n would make n nearer than r, and x < p would
//   make p nearer. Hence p <= x <= n: one step outward from r is a bound. At the ends:
//     r = +inf   n = +inf bounds all; rounding to +inf needs x > MAX, hence p = MAX <= x;
//     r = MAX    n = +inf;
//     r = 0      x lies within half the least subnormal, hence between the neighbours of 0;
//   and the same with signs reversed. The step costs at most 1.5 ulp against x.
//
// An expression that is an argument may be contracted by the compiler, as in add_up(a * b, c)
// becoming one fused multiply-add: then x is the exact a * b + c. The results of the functions here
// pass through integers and are never contracted further.
//
// All functions have internal linkage: verifiers compiled with different instruction sets never
// share a copy of one.
//
// The compiler must keep IEEE arithmetic. What it admits to is refused here. clang admits to little
// but -ffast-math as a whole: keeps_arithmetic() asks at run time, and bf-aot does not pass flags
// of that kind on.

#if defined(__FAST_MATH__)
#error "bf: -ffast-math breaks proven bounds: compile verifiers without it (and without -Ofast)"
#endif
#if defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__
#error "bf: -ffinite-math-only breaks proven bounds: compile verifiers without it"
#endif
#if defined(__ASSOCIATIVE_MATH__) || defined(__RECIPROCAL_MATH__)
#error "bf: -fassociative-math and -freciprocal-math break proven bounds: compile without them"
#endif
#if defined(__NO_SIGNED_ZEROS__)
#error "bf: -fno-signed-zeros breaks proven bounds: compile verifiers without it"
#endif
// GCC and clang vectorise float sums with it, whatever the flags say of arithmetic.
#if defined(__ARM_FEATURE_MVE) && (__ARM_FEATURE_MVE & 2)
#error "bf: Helium's float arithmetic flushes subnormals: compile with -mcpu=cortex-m55+nomve"
#endif
// 16 says that only half precision is affected: float and double are evaluated as such.
#if !defined(__FLT_EVAL_METHOD__) || (__FLT_EVAL_METHOD__ != 0 && __FLT_EVAL_METHOD__ != 16)
#error "bf: floats are evaluated with excess precision: on 32-bit x86 use -msse2 -mfpmath=sse"
#endif

static_assert(sizeof(float) == 4 && __FLT_MANT_DIG__ == 24, "bf: float must be IEEE binary32");
static_assert(sizeof(double) == 8 && __DBL_MANT_DIG__ == 53, "bf: double must be IEEE binary64");

// Constants are what they say, in the precision that they say, and their sums are rounded to
// nearest, ties to even.
static_assert(sizeof(1.0) == sizeof(double) && 1.0 + 0x1p-30 != 1.0,
              "bf: -fsingle-precision-constant breaks proven bounds: compile verifiers without it");
static_assert(1.0 + 0x1p-53 == 1.0 && 0x1.0000000000001p0 + 0x1p-53 == 0x1.0000000000002p0 &&
                  1.0f + 0x1p-24f == 1.0f && 0x1.000002p0f + 0x1p-24f == 0x1.000004p0f,
              "bf: constants must be rounded to nearest, ties to even");
static_assert(0x1p-126f * 0.5f != 0 && 0x1p-1022 * 0.5 != 0, "bf: subnormals must be kept");
static_assert(-__builtin_inff() < -__FLT_MAX__ && __builtin_nanf("") != __builtin_nanf(""),
              "bf: infinities and NaNs must be kept");

namespace bf {

// The least float greater than x. next_up(-inf) is the least finite float, next_up(±0) the least
// subnormal, next_up(+inf) and next_up(NaN) are +inf.
//
// Proof: without the sign bit, the bits of finite floats of one sign, read as an integer, count
// them in order of magnitude, and the next one after MAX is inf. So +1 leads away from zero for
// x > 0 and -1 towards zero for x < 0; from the least negative subnormal it leads to -0.
static inline float next_up(float x) {
  std::uint32_t bits;
  __builtin_memcpy(&bits, &x, sizeof bits);
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude == 0) {
    bits = 1;
  } else if (magnitude > 0x7f800000u || bits == 0x7f800000u) {
    bits = 0x7f800000u;
  } else {
    bits += (bits >> 31) != 0 ? 0xffffffffu : 1u;
  }
  __builtin_memcpy(&x, &bits, sizeof x);
  return x;
}

// next_up() of double, by the same proof.
static inline double next_up(double x) {
  std::uint64_t bits;
  __builtin_memcpy(&bits, &x, sizeof bits);
  const std::uint64_t magnitude = bits & 0x7fffffffffffffffu;
  if (magnitude == 0) {
    bits = 1;
  } else if (magnitude > 0x7ff0000000000000u || bits == 0x7ff0000000000000u) {
    bits = 0x7ff0000000000000u;
  } else {
    bits += (bits >> 63) != 0 ? ~std::uint64_t{0} : std::uint64_t{1};
  }
  __builtin_memcpy(&x, &bits, sizeof x);
  return x;
}

// The greatest float less than x; -inf for -inf and NaN. Proof: negation is exact and reverses the
// order of the floats.
static inline float next_down(float x) {
  return -next_up(-x);
}
static inline double next_down(double x) {
  return -next_up(-x);
}

// Sums. Proof: note [one step outward]. A sum of floats is a multiple of the least subnormal, so
// it rounds to zero only if it is zero: that case needs no step, and zero radii stay zero. (A
// product contracted into the sum could underflow to zero: callers pass none that is inexact.)
static inline float add_up(float a, float b) {
  const float sum = a + b;
  return sum == 0 ? sum : next_up(sum);
}
static inline float add_down(float a, float b) {
  const float sum = a + b;
  return sum == 0 ? sum : next_down(sum);
}
static inline double add_up(double a, double b) {
  const double sum = a + b;
  return sum == 0 ? sum : next_up(sum);
}
static inline double add_down(double a, double b) {
  const double sum = a + b;
  return sum == 0 ? sum : next_down(sum);
}

// Differences. Proof: a - b is the sum of a and -b, and negation is exact.
static inline float sub_up(float a, float b) {
  return add_up(a, -b);
}
static inline float sub_down(float a, float b) {
  return add_down(a, -b);
}
static inline double sub_up(double a, double b) {
  return add_up(a, -b);
}
static inline double sub_down(double a, double b) {
  return add_down(a, -b);
}

// a + b, rounded outward only when it is inexact. Proof: sum + rest = a + b (Knuth's two-sum, for
// any order of magnitudes); an infinite sum makes rest NaN and takes the step. No argument is a
// product, so nothing is contracted.
static inline double exact_sum_up(double a, double b) {
  const double sum = a + b;
  const double part = sum - a;
  const double rest = (a - (sum - part)) + (b - part);
  return rest <= 0 ? sum : next_up(sum);
}
static inline double exact_sum_down(double a, double b) {
  return -exact_sum_up(-a, -b);
}

// Products. Proof: note [one step outward]. A product that is zero because a factor is zero is
// exact; one that rounds to zero by underflow takes the step; 0 * inf is NaN, not zero.
static inline float mul_up(float a, float b) {
  const float product = a * b;
  return product == 0 && (a == 0 || b == 0) ? product : next_up(product);
}
static inline float mul_down(float a, float b) {
  const float product = a * b;
  return product == 0 && (a == 0 || b == 0) ? product : next_down(product);
}
static inline double mul_up(double a, double b) {
  const double product = a * b;
  return product == 0 && (a == 0 || b == 0) ? product : next_up(product);
}
static inline double mul_down(double a, double b) {
  const double product = a * b;
  return product == 0 && (a == 0 || b == 0) ? product : next_down(product);
}

// Quotients. Proof: note [one step outward] for b != 0; for b = 0 there is no quotient, and the
// sign of the zero must not choose a bound: infinity (-1 / 0 is -inf in IEEE arithmetic).
static inline float div_up(float a, float b) {
  return b == 0 ? __builtin_inff() : next_up(a / b);
}
static inline float div_down(float a, float b) {
  return b == 0 ? -__builtin_inff() : next_down(a / b);
}
static inline double div_up(double a, double b) {
  return b == 0 ? __builtin_inf() : next_up(a / b);
}
static inline double div_down(double a, double b) {
  return b == 0 ? -__builtin_inf() : next_down(a / b);
}

// The float nearest to x, ties to even. Note [pairs of floats]: on x86 GCC 12 takes two doubles
// that are rounded to floats and widened again as they were, from -O2 on, also where scalar code
// does so with neighbours in memory: what is compared or subtracted then is not the float. The
// statement is opaque to it. Every float that is widened where it was made is made here.
static inline float nearest_float(double x) {
  float nearest = static_cast<float>(x);
#if defined(__GNUC__) && !defined(__clang__) && defined(__SSE2__)
  __asm__("" : "+x"(nearest));
#elif defined(__GNUC__) && !defined(__clang__) && defined(__aarch64__)
  __asm__("" : "+w"(nearest));
#endif
  return nearest;
}

// The least float that is at least x; +inf beyond the range and for NaN. Proof: the nearest float
// either is at least x, which the comparison decides exactly since every float is a double, or it
// is the one below x and the next one is wanted. A NaN fails the comparison.
static inline float float_up(double x) {
  const float nearest = nearest_float(x);
  return static_cast<double>(nearest) >= x ? nearest : next_up(nearest);
}

// The greatest float that is at most x; -inf below the range and for NaN. Proof: as for float_up.
static inline float float_down(double x) {
  const float nearest = nearest_float(x);
  return static_cast<double>(nearest) <= x ? nearest : next_down(nearest);
}

// Does the compiler fuse products into sums in this file? Verifiers that make the same numbers
// twice (docs/proofs/relaxations-made-anew.md) forbid it, and ask: flags may overrule them. Of
// x = 1 + 2^-30, x x = 1 + 2^-29 + 2^-60 is a product that rounding loses 2^-60 of.
static inline bool fuses_products() {
  const volatile double source = 1 + 0x1p-30, rounded = 1 + 0x1p-29;
  const double x = source, minus = -rounded;
  const double sum = x * x + minus;
  return sum != 0;
}

// Does clang compile this file to the arithmetic that is written? -fassociative-math makes x of
// (x + y) - y, -freciprocal-math 3 (1/7) of 3 / 7, and -fno-honor-nans finds NaN equal to itself.
// Of GCC the conditions above ask.
static inline bool keeps_arithmetic() {
#if defined(__clang__)
  const volatile float one = 1.0f, three = 3.0f, large = 0x1p25f, none = __builtin_nanf("");
  const volatile float sevenths = 0x1.b6db6ep-2f;  // 3 / 7, rounded; 3 (1 / 7) is the next float
  const float x = one, y = large, quotient = three / 7.0f, nan = none;
  return (x + y) - y == 0 && quotient == sevenths && nan != nan;
#else
  return true;
#endif
}

// Does the processor round to nearest and keep subnormals? Reads the control register where the
// target's is known; elsewhere computes sums and products that any other mode gets wrong.
static inline bool float_environment_ok() {
  if (!keeps_arithmetic()) return false;
#if defined(__SSE2__)
  // MXCSR: rounding control 14:13, flush to zero 15, denormals are zero 6.
  return (__builtin_ia32_stmxcsr() & 0xe040u) == 0;
#elif defined(__aarch64__)
  // FPCR: rounding mode 23:22, flush to zero 24, flush inputs to zero 0.
  std::uint64_t fpcr;
  __asm__ volatile("mrs %0, fpcr" : "=r"(fpcr));
  return (fpcr & 0x1c00001u) == 0;
#elif defined(__arm__) && defined(__ARM_FP)
  // FPSCR: rounding mode 23:22, flush to zero 24.
  std::uint32_t fpscr;
  __asm__ volatile("vmrs %0, fpscr" : "=r"(fpscr));
  return (fpscr & 0x1c00000u) == 0;
#elif defined(__riscv_flen)
  // frm: 0 is to nearest, ties to even. Subnormals are always kept.
  std::uintptr_t frm;
  __asm__ volatile("frrm %0" : "=r"(frm));
  return frm == 0;
#else
  // 1 + u is halfway to its upper neighbour 1 + 2u: nearest-even goes down, upward goes up.
  // 1 + 3u is halfway between 1 + 2u and 1 + 4u: nearest-even goes up, downward and to zero down.
  volatile float one = 1.0f, u = 0x1p-24f, odd = 0x1.000002p0f, even = 0x1.000004p0f;
  volatile float half = 0.5f, two = 2.0f, least_normal = 0x1p-126f, subnormal = 0x1p-127f;
  volatile double one_d = 1.0, u_d = 0x1p-53, odd_d = 0x1.0000000000001p0;
  volatile double even_d = 0x1.0000000000002p0, half_d = 0.5, two_d = 2.0;
  volatile double least_normal_d = 0x1p-1022, subnormal_d = 0x1p-1023;
  return one + u == one && odd + u == even && least_normal * half != 0 &&
         subnormal * two == least_normal && one_d + u_d == one_d && odd_d + u_d == even_d &&
         least_normal_d * half_d != 0 && subnormal_d * two_d == least_normal_d;
#endif
}

}  // namespace bf
