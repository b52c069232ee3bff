/* Memory routines and printing for a board without any C library. Yours to change and ship, without
 * attribution. With a C library, its memcpy and memset. */
#include <stdint.h>

#include "board.h"

/* Compilers call these for copies of structures and arrays; at link time, too, where nothing seemed
 * to use them before. */
__attribute__((used)) void* memcpy(void* to, const void* from, size_t count);
__attribute__((used)) void* memset(void* to, int value, size_t count);

void* memcpy(void* to, const void* from, size_t count) {
  unsigned char* out = to;
  const unsigned char* in = from;
  while (count-- > 0) *out++ = *in++;
  return to;
}

void* memset(void* to, int value, size_t count) {
  unsigned char* out = to;
  while (count-- > 0) *out++ = (unsigned char)value;
  return to;
}

/* Fixed point with kBefore limbs of 16 bits before the point and kAfter behind it, the lowest
 * first, holds every float exactly. */
enum { kBefore = 8, kAfter = 10, kLimbs = kBefore + kAfter, kDigits = 9 };

/* Divides what is before the point by ten; returns the digit that is left. */
static unsigned next_digit_before(uint16_t* limbs) {
  uint32_t rest = 0;
  int i;
  for (i = kLimbs - 1; i >= kAfter; --i) {
    rest = rest << 16 | limbs[i];
    limbs[i] = (uint16_t)(rest / 10);
    rest %= 10;
  }
  return rest;
}

/* Multiplies what is behind the point by ten; returns the digit that passes the point. */
static unsigned next_digit_behind(uint16_t* limbs) {
  uint32_t carry = 0;
  int i;
  for (i = 0; i < kAfter; ++i) {
    carry += (uint32_t)limbs[i] * 10;
    limbs[i] = (uint16_t)carry;
    carry >>= 16;
  }
  return carry;
}

static int is_zero_behind(const uint16_t* limbs) {
  int i;
  for (i = 0; i < kAfter; ++i)
    if (limbs[i] != 0) return 0;
  return 1;
}

void put_number(float number) {
  union {
    float number;
    uint32_t bits;
  } of;
  uint16_t limbs[kLimbs] = {0};
  char text[64];
  char *begin = text + 48, *end = text + 48;
  uint32_t mantissa, position;
  int digits, i;
  of.number = number;
  if ((of.bits & 0x80000000u) != 0) put_text("-");
  if ((of.bits >> 23 & 255) == 255) {
    put_text((of.bits & 0x7fffff) != 0 ? "nan" : "inf");
    return;
  }
  mantissa = of.bits & 0x7fffff;
  position = of.bits >> 23 & 255; /* the mantissa's lowest bit has weight 2^(position - 150) */
  if (position != 0)
    mantissa |= 0x800000;
  else
    position = 1;
  position += 16 * kAfter - 150;
  for (i = 0; i < 24; ++i)
    if ((mantissa >> i & 1) != 0)
      limbs[(position + (uint32_t)i) / 16] |= (uint16_t)(1u << (position + (uint32_t)i) % 16);

  do {
    *--begin = (char)('0' + next_digit_before(limbs));
    for (i = kAfter; i < kLimbs && limbs[i] == 0; ++i) {
    }
  } while (i < kLimbs);
  digits = *begin == '0' ? 0 : (int)(end - begin);
  *end = 0;
  put_text(begin);
  if (digits >= kDigits || is_zero_behind(limbs)) return;
  put_text(".");
  while (digits < kDigits && !is_zero_behind(limbs)) {
    char digit[2] = {0, 0};
    digit[0] = (char)('0' + next_digit_behind(limbs));
    if (digits > 0 || digit[0] != '0') ++digits;
    put_text(digit);
  }
}
