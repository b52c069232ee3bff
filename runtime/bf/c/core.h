#pragma once

// Outward-rounded scalar arithmetic of verifiers in C99 and in the languages of devices. Each
// function makes the bits of its namesake in bf/core/rounding.h and bf/core/kernel.h, where its
// proof is; tests/runtime/c_*_test.cpp compare them.
//
// The text is apart from the C++ one, since that is written over vectors, overloads and templates
// of constants, of which C has none. Each function here does what one lane does there.
//
// A source for a device begins with BF_ITEMS, the items of its groups, BF_STAGED, the weights that
// these share at a time, and the words of its language: bf/c/words/opencl.h, bf/c/words/cuda.h.

#if !defined(BF_DEVICE)
#include "bf/c/words/c99.h"
#endif

// A factor that covers 2^12 double roundings: (1 - v)^-4096 < 1 + 2^-40.
#define BF_DOUBLE_SLACK 0x1.0000000001p0

// Sums over neurons are kept in so many parts, of every so-many-th neuron.
#define BF_PARTIAL_SUMS 8

#define BF_ELEMENT_AT(type, arena, offset) \
  ((BF_GLOBAL type*)(BF_GLOBAL void*)((BF_GLOBAL unsigned char*)(arena) + (offset)))
#define BF_FLOAT_AT(arena, offset) BF_ELEMENT_AT(float, arena, offset)
#define BF_DOUBLE_AT(arena, offset) BF_ELEMENT_AT(double, arena, offset)
#define BF_INT32_AT(arena, offset) BF_ELEMENT_AT(int32_t, arena, offset)

BF_FUNCTION int bf_smaller(int a, int b) {
  return a < b ? a : b;
}

#if BF_ITEMS > 1

// Holds what items tell each other: a count each, partial sums, and weights that all read.
typedef struct bf_team {
  int counts[BF_ITEMS];
  double sums[2 * BF_PARTIAL_SUMS];
#if BF_STAGED > 0
  float staged[BF_STAGED];
#endif
} bf_team;

#if defined(BF_TEAM_BYTES)  // what hosts set aside for it
typedef char bf_team_has_its_size[sizeof(bf_team) == BF_TEAM_BYTES ? 1 : -1];
#endif

// Counts of an item, of those before it, and of all.
typedef struct bf_counts {
  int before;
  int all;
} bf_counts;

// Returns what the items count together, of which this one has `own`. All of them call it.
BF_FUNCTION bf_counts bf_count_together(int own, BF_LOCAL bf_team* team) {
  bf_counts made = {0, 0};
  team->counts[BF_ITEM] = own;
  BF_BARRIER;
  for (int i = 0; i < BF_ITEMS; ++i) {
    if (i == BF_ITEM) made.before = made.all;
    made.all += team->counts[i];
  }
  BF_BARRIER;
  return made;
}

// The first of n units of this item, whose units follow each other; of item BF_ITEMS, n.
BF_FUNCTION int bf_first_unit(int item, int n) {
  return (int)((int64_t)n * item / BF_ITEMS);
}

#endif

// A list has the number of its entries that count, its entries, then how many that count lie below
// 0, 8, 16, ..
BF_FUNCTION ptrdiff_t bf_entry(BF_GLOBAL const int32_t* list, int place) {
  return (ptrdiff_t)list[1 + place];
}

// The place of the first entry that counts and is not below `value`, a multiple of 8 or all.
BF_FUNCTION int bf_place_from(BF_GLOBAL const int32_t* list, int entries, int value) {
  return (int)list[1 + entries + (value + 7) / 8];
}

// The larger of two floats; b where one is NaN.
BF_FUNCTION float bf_larger_float(float a, float b) {
  return a > b ? a : b;
}

// The larger of two doubles; b where one is NaN.
BF_FUNCTION double bf_larger_double(double a, double b) {
  return a > b ? a : b;
}

BF_FUNCTION double bf_magnitude_double(double x) {
  return BF_MAGNITUDE(x);
}

BF_FUNCTION float bf_magnitude_float(float x) {
  return BF_MAGNITUDE_FLOAT(x);
}

// x == 0, false for NaN.
BF_FUNCTION bool bf_is_zero(double x) {
  return x >= 0.0 && x <= 0.0;
}

BF_FUNCTION bool bf_is_zero_float(float x) {
  return x >= 0.0f && x <= 0.0f;
}

// a == b, false for NaN.
BF_FUNCTION bool bf_is_equal(double a, double b) {
  return a >= b && a <= b;
}

BF_FUNCTION bool bf_is_equal_float(float a, float b) {
  return a >= b && a <= b;
}

BF_FUNCTION uint64_t bf_bits_of(double x) {
  return BF_BITS_OF(x);
}

BF_FUNCTION double bf_of_bits(uint64_t bits) {
  return BF_OF_BITS(bits);
}

BF_FUNCTION uint32_t bf_bits_of_float(float x) {
  return BF_BITS_OF_FLOAT(x);
}

BF_FUNCTION float bf_float_of_bits(uint32_t bits) {
  return BF_FLOAT_OF_BITS(bits);
}

// The least float greater than x; +inf for +inf and NaN.
BF_FUNCTION float bf_next_up_float(float x) {
  uint32_t bits = bf_bits_of_float(x);
  const uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude == 0u) {
    bits = 1u;
  } else if (magnitude > 0x7f800000u || bits == 0x7f800000u) {
    bits = 0x7f800000u;
  } else {
    bits += (bits >> 31) != 0u ? 0xffffffffu : 1u;
  }
  return bf_float_of_bits(bits);
}

BF_FUNCTION float bf_next_down_float(float x) {
  return -bf_next_up_float(-x);
}

// The least double greater than x; +inf for +inf and NaN.
BF_FUNCTION double bf_next_up(double x) {
  uint64_t bits = bf_bits_of(x);
  const uint64_t magnitude = bits & 0x7fffffffffffffffu;
  if (magnitude == 0u) {
    bits = 1u;
  } else if (magnitude > 0x7ff0000000000000u || bits == 0x7ff0000000000000u) {
    bits = 0x7ff0000000000000u;
  } else {
    bits += (bits >> 63) != 0u ? 0xffffffffffffffffu : 1u;
  }
  return bf_of_bits(bits);
}

BF_FUNCTION double bf_next_down(double x) {
  return -bf_next_up(-x);
}

// Bounds of sums, differences, products and quotients: note [one step outward] in
// bf/core/rounding.h. X_up is at least the exact result, X_down at most.
BF_FUNCTION double bf_add_up(double a, double b) {
  const double sum = a + b;
  return bf_is_zero(sum) ? sum : bf_next_up(sum);
}

BF_FUNCTION double bf_add_down(double a, double b) {
  const double sum = a + b;
  return bf_is_zero(sum) ? sum : bf_next_down(sum);
}

BF_FUNCTION double bf_sub_up(double a, double b) {
  return bf_add_up(a, -b);
}

BF_FUNCTION double bf_sub_down(double a, double b) {
  return bf_add_down(a, -b);
}

// a + b, rounded outward only when it is inexact.
BF_FUNCTION double bf_exact_sum_up(double a, double b) {
  const double sum = a + b;
  const double part = sum - a;
  const double rest = (a - (sum - part)) + (b - part);
  return rest <= 0.0 ? sum : bf_next_up(sum);
}

BF_FUNCTION double bf_exact_sum_down(double a, double b) {
  return -bf_exact_sum_up(-a, -b);
}

BF_FUNCTION double bf_mul_up(double a, double b) {
  const double product = a * b;
  return bf_is_zero(product) && (bf_is_zero(a) || bf_is_zero(b)) ? product : bf_next_up(product);
}

BF_FUNCTION double bf_mul_down(double a, double b) {
  const double product = a * b;
  return bf_is_zero(product) && (bf_is_zero(a) || bf_is_zero(b)) ? product : bf_next_down(product);
}

BF_FUNCTION double bf_div_up(double a, double b) {
  return bf_is_zero(b) ? BF_INFINITY_DOUBLE : bf_next_up(a / b);
}

BF_FUNCTION double bf_div_down(double a, double b) {
  return bf_is_zero(b) ? -BF_INFINITY_DOUBLE : bf_next_down(a / b);
}

// The float nearest to x. Note [pairs of floats] in bf/core/rounding.h: on x86 GCC 12 takes floats
// that are widened where they were made as the doubles that they were. nvcc has the host's macros
// where it compiles for a device.
BF_FUNCTION float bf_nearest_float(double x) {
  float nearest = (float)x;
#if defined(__GNUC__) && !defined(__clang__) && !defined(__CUDACC__) && defined(__SSE2__)
  __asm__("" : "+x"(nearest));
#elif defined(__GNUC__) && !defined(__clang__) && !defined(__CUDACC__) && defined(__aarch64__)
  __asm__("" : "+w"(nearest));
#endif
  return nearest;
}

// The least float that is at least x; +inf beyond the range and for NaN.
BF_FUNCTION float bf_float_up(double x) {
  const float nearest = bf_nearest_float(x);
  return (double)nearest >= x ? nearest : bf_next_up_float(nearest);
}

// The greatest float that is at most x; -inf below the range and for NaN.
BF_FUNCTION float bf_float_down(double x) {
  const float nearest = bf_nearest_float(x);
  return (double)nearest <= x ? nearest : bf_next_down_float(nearest);
}
