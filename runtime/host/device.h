#ifndef BF_HOST_DEVICE_H
#define BF_HOST_DEVICE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "bf.h"

/* The common part of hosts of verifiers on devices, in C99 and C++17: the verifier as they are
 * given it, why a device is refused, and the probe of its arithmetic. For programs, not for
 * verifiers. */

/* Boxes that go together, at most. */
#define BF_DEVICE_MOST_BOXES ((size_t)65536)

/* Words of a failure, with its end. */
#define BF_DEVICE_TEXT 2048

/* A table of weights, and its place in the device's memory, in bytes. */
typedef struct bf_device_table {
  const void* data;
  size_t bytes;
  size_t offset;
} bf_device_table;

/* A verifier for a device. Entry points bound one box by a group of `items` items, in an arena of
 * `arena_bytes`. */
typedef struct bf_device_program {
  const char* const* source; /* texts that make one */
  size_t texts;
  const bf_device_table* tables;
  size_t table_count;
  size_t weights_bytes;
  size_t arena_bytes;
  size_t items;
  size_t team_bytes; /* of memory that the items of a group share */
  size_t inputs;
} bf_device_program;

/* Why a device is refused, or what failed. */
typedef enum bf_device_fault {
  BF_DEVICE_READY = 0,
  BF_DEVICE_NO_LIBRARY,    /* the library of devices cannot be loaded, or lacks a function */
  BF_DEVICE_NOT_FOUND,     /* there is no such device */
  BF_DEVICE_NO_DOUBLES,    /* it has no arithmetic in double */
  BF_DEVICE_NO_SUBNORMALS, /* it flushes subnormal floats */
  BF_DEVICE_NO_ROUNDING,   /* it does not round quotients of floats correctly */
  BF_DEVICE_BIG_ENDIAN,    /* it has another order of bytes than its host */
  BF_DEVICE_NOT_BUILT,     /* its compiler refuses the verifier */
  BF_DEVICE_INEXACT,       /* the probe found arithmetic that is not IEEE 754's */
  BF_DEVICE_HOST_MODE,     /* this thread, which probes it, does not keep IEEE 754's arithmetic */
  BF_DEVICE_GROUP,         /* its groups have fewer items than the verifier's */
  BF_DEVICE_PROCESSOR,     /* it is a processor, whose groups must be of one item */
  BF_DEVICE_CALL           /* a call of its library failed */
} bf_device_fault;

/* The results of an entry point, of each box, and their arrays. lines: numbers that it writes
 * besides bounds; 0: none. */
typedef struct bf_device_results {
  const char* entry;
  size_t outputs;
  size_t lines;
  float* lower;
  float* upper;
  float* out_lines; /* null: they are not asked for */
} bf_device_results;

/* Those of boxes from `first` on. */
static inline bf_device_results bf_device_results_from(const bf_device_results* results,
                                                       size_t first) {
  bf_device_results made = *results;
  made.lower += first * results->outputs;
  made.upper += first * results->outputs;
  if (made.out_lines != NULL) made.out_lines += first * results->lines;
  return made;
}

/* Copies ends of boxes, those of refused ones as zeros, which every verifier takes: what devices
 * make of them counts for nothing. */
static inline void bf_device_copy_boxes(size_t boxes, size_t inputs, const bf_status* statuses,
                                        const float* from, float* to) {
  size_t i;
  for (i = 0; i < boxes; ++i) {
    if (statuses[i] == BF_OK)
      memcpy(to + i * inputs, from + i * inputs, inputs * sizeof(float));
    else
      memset(to + i * inputs, 0, inputs * sizeof(float));
  }
}

/* Copies outputs; those of refused boxes are left as they were. */
static inline void bf_device_copy_outputs(size_t boxes, size_t outputs, const bf_status* statuses,
                                          const float* from, float* to) {
  size_t i;
  for (i = 0; i < boxes; ++i)
    if (statuses[i] == BF_OK) memcpy(to + i * outputs, from + i * outputs, outputs * sizeof(float));
}

/* ---- The probe: pairs of numbers, what IEEE 754 makes of them, and what the device made. */

#define BF_PROBE_PAIRS 4096
#define BF_PROBED 11 /* BF_PROBE_RESULTS of bf/c/probe.h */

static const char* const bf_probe_names[BF_PROBED] = {"sums in double",
                                                      "products in double",
                                                      "quotients in double",
                                                      "fused products in double",
                                                      "errors of sums in double",
                                                      "roundings to float",
                                                      "sums in float",
                                                      "products in float",
                                                      "quotients in float",
                                                      "fused products in float",
                                                      "magnitudes of floats"};

static inline double bf_probe_of_bits(uint64_t bits) {
  double x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

static inline int bf_probe_is_nan(double x) {
  return !(x <= 0.0) && !(x >= 0.0);
}

static inline int bf_probe_is_same(double a, double b) {
  return memcmp(&a, &b, sizeof a) == 0 || (bf_probe_is_nan(a) && bf_probe_is_nan(b));
}

/* The i-th pair: ends of ranges, subnormals, ties of roundings; then numbers of all magnitudes,
 * those of every second pair within the range of floats. */
static inline void bf_probe_pair(size_t i, double* a, double* b) {
  static const double ends[] = {0.0,
                                1.0,
                                3.0,
                                7.0,
                                0x1p-24,
                                0x1p-53,
                                0x1p-126,
                                0x1p-127,
                                0x1p-149,
                                0x1p-1022,
                                0x1p-1023,
                                0x1p-1074,
                                0x1.fffffep127,
                                0x1.fffffffffffffp1023,
                                0x1.000002p0,
                                0x1.000001p0,
                                0x1.0000000000001p0,
                                0.5};
  const size_t count = sizeof ends / sizeof *ends;
  uint64_t state = 0x9e3779b97f4a7c15u * (uint64_t)(i + 1);
  uint64_t bits[2];
  int k;
  if (i < 2 * count * count) {
    *a = ends[i % count];
    *b = ends[i / count % count] * (i < count * count ? 1.0 : -1.0);
    return;
  }
  for (k = 0; k < 2; ++k) {
    state ^= state >> 30;
    state *= 0xbf58476d1ce4e5b9u;
    state ^= state >> 27;
    state *= 0x94d049bb133111ebu;
    state ^= state >> 31;
    bits[k] = state;
    if (i % 2 == 0) { /* exponents -150 .. 105, and the digits of a float */
      const uint64_t exponent = 1023u - 150u + ((state >> 52) & 0xffu);
      bits[k] = (state & 0x800fffffe0000000u) | (exponent << 52);
    }
  }
  *a = bf_probe_of_bits(bits[0]);
  *b = bf_probe_of_bits(bits[1]);
}

/* Whether this thread rounds to nearest and keeps subnormal numbers, as what is expected of a
 * device and what is checked of boxes assume: by sums and products that every other mode gets
 * wrong. */
static inline int bf_device_host_is_ieee(void) {
  const volatile float one = 1.0f, u = 0x1p-24f, odd = 0x1.000002p0f, half = 0.5f;
  const volatile float two = 2.0f, normal = 0x1p-126f, subnormal = 0x1p-127f;
  const volatile double one_d = 1.0, u_d = 0x1p-53, odd_d = 0x1.0000000000001p0, half_d = 0.5;
  const volatile double two_d = 2.0, normal_d = 0x1p-1022, subnormal_d = 0x1p-1023;
  const volatile float down = one + u, up = odd + u, halved = normal * half;
  const volatile float doubled = subnormal * two, kept = halved * two;
  const volatile double down_d = one_d + u_d, up_d = odd_d + u_d, halved_d = normal_d * half_d;
  const volatile double doubled_d = subnormal_d * two_d, kept_d = halved_d * two_d;
  return bf_probe_is_same((double)down, 1.0) && bf_probe_is_same((double)up, 0x1.000004p0) &&
         bf_probe_is_same((double)doubled, 0x1p-126) && bf_probe_is_same((double)kept, 0x1p-126) &&
         bf_probe_is_same(down_d, 1.0) && bf_probe_is_same(up_d, 0x1.0000000000002p0) &&
         bf_probe_is_same(doubled_d, 0x1p-1022) && bf_probe_is_same(kept_d, 0x1p-1022);
}

/* Whether x y is so far from the ends of the range that its error is a double. */
static inline int bf_probe_is_moderate(double x) {
  const double size = x < 0 ? -x : x;
  return size > 0x1p-400 && size < 0x1p400;
}

/* x y - p for the nearest double p, without fused products: Dekker's sum over halves. */
static inline double bf_probe_product_error(double x, double y) {
  volatile double p, high_x, low_x, high_y, low_y, t;
  p = x * y;
  t = 134217729.0 * x;
  high_x = t - x;
  high_x = t - high_x;
  low_x = x - high_x;
  t = 134217729.0 * y;
  high_y = t - y;
  high_y = t - high_y;
  low_y = y - high_y;
  t = high_x * high_y;
  t = t - p;
  p = high_x * low_y;
  t = t + p;
  p = low_x * high_y;
  t = t + p;
  p = low_x * low_y;
  return t + p;
}

/* The result that has no name in IEEE 754 alone: what the device may make is not known where
 * `known` is 0. */
static inline double bf_probe_expected(size_t result, double x, double y, int* known) {
  const volatile float narrow_x = (float)x;
  const volatile float narrow_y = (float)y;
  const volatile double sum = x + y;
  const volatile double part = sum - x;
  const volatile double first = x - (sum - part);
  const volatile double second = y - part;
  const volatile double product = x * y;
  const volatile float narrow_product = narrow_x * narrow_y;
  volatile float narrow;
  *known = 1;
  switch (result) {
    case 0:
      return sum;
    case 1:
      return product;
    case 2:
      return x / y;
    case 3:
      *known = bf_probe_is_moderate(x) && bf_probe_is_moderate(y);
      return *known ? bf_probe_product_error(x, y) : 0.0;
    case 4:
      return first + second;
    case 5:
      return (double)narrow_x;
    case 6:
      narrow = narrow_x + narrow_y;
      return (double)narrow;
    case 7:
      return (double)narrow_product;
    case 8:
      narrow = narrow_x / narrow_y;
      return (double)narrow;
    case 9: {
      /* Both are exact in double, and so is their difference. It is a float where no digit of it
       * is below the least one. */
      const double exact = (double)narrow_x * (double)narrow_y;
      const double size = exact < 0 ? -exact : exact;
      *known = size > 0x1p-100 && size < 0x1p127;
      return *known ? exact - (double)narrow_product : 0.0;
    }
    default:
      return narrow_x < 0 ? -(double)narrow_x : (double)narrow_x;
  }
}

/* The number of the first result that is not what it should be; -1: all are. made: what the device
 * made of all pairs. pair: the number of the pair. */
static inline int bf_probe_fault(const double* made, size_t* pair) {
  size_t i, k;
  for (i = 0; i < BF_PROBE_PAIRS; ++i) {
    double x, y;
    bf_probe_pair(i, &x, &y);
    for (k = 0; k < BF_PROBED; ++k) {
      int known;
      const double expected = bf_probe_expected(k, x, y, &known);
      /* A zero has either sign where it is a difference of products or a magnitude. */
      const double got = made[i * BF_PROBED + k];
      if (!known || bf_probe_is_same(got, expected)) continue;
      if ((k == 3 || k == 9 || k == 10) && got >= 0.0 && got <= 0.0 && expected >= 0.0 &&
          expected <= 0.0)
        continue;
      *pair = i;
      return (int)k;
    }
  }
  return -1;
}

/* Notes what the device made of the pairs if it is not what it should be, or that this thread
 * cannot tell. Returns whether it is. */
static inline int bf_probe_passes(const double* made, bf_device_fault* fault,
                                  char text[BF_DEVICE_TEXT]) {
  size_t pair = 0;
  double x, y;
  int result;
  if (!bf_device_host_is_ieee()) {
    *fault = BF_DEVICE_HOST_MODE;
    (void)snprintf(text, BF_DEVICE_TEXT, "%s",
                   "this thread does not round to nearest, or flushes subnormal numbers to zero: "
                   "it cannot tell whether the device's arithmetic is IEEE 754's");
    return 0;
  }
  result = bf_probe_fault(made, &pair);
  if (result < 0) return 1;
  bf_probe_pair(pair, &x, &y);
  *fault = BF_DEVICE_INEXACT;
  (void)snprintf(text, BF_DEVICE_TEXT, "%s are not as IEEE 754 has them, of %a and %a",
                 bf_probe_names[result], x, y);
  return 0;
}

#endif /* BF_HOST_DEVICE_H */
