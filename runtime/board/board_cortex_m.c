/* Start-up, memory routines and console of a Cortex-M under QEMU or a debugger, without any C
 * library. Yours to change and ship, without attribution. On your board: your start-up file, its
 * console, and the C library's memcpy and memset. */
#include <stdint.h>

#include "board.h"

/* From board.ld. */
extern uint32_t data_load[], data_begin[], data_end[], bss_begin[], bss_end[];
extern uint32_t stack_bottom[], stack_top[];

int main(void);
void* memcpy(void* to, const void* from, size_t count);
void* memset(void* to, int value, size_t count);

/* Compilers call these for copies of structures and arrays. */
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

/* Arm semihosting: operation in r0, argument in r1. */
static void semihost(int operation, const void* argument) {
  register int r0 __asm__("r0") = operation;
  register const void* r1 __asm__("r1") = argument;
  __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
}

void put_text(const char* text) {
  enum { kWrite0 = 0x04 };
  semihost(kWrite0, text);
}

static void stop(int exit_code) {
  enum { kExitExtended = 0x20, kApplicationExit = 0x20026 };
  uint32_t arguments[2];
  arguments[0] = kApplicationExit;
  arguments[1] = (uint32_t)exit_code;
  for (;;) semihost(kExitExtended, arguments);
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

/* In assembly, so that neither uses the stack itself: both then see the caller's stack pointer, and
 * what a callee of the caller writes lies right below it. */
__attribute__((naked)) void paint_stack(void) {
  __asm__(
      ".syntax unified\n"
      "ldr r0, 3f\n"
      "ldr r1, 4f\n"
      "mov r2, sp\n"
      "1: cmp r0, r2\n"
      "beq 2f\n"
      "str r1, [r0]\n"
      "adds r0, #4\n"
      "b 1b\n"
      "2: bx lr\n"
      ".balign 4\n"
      "3: .word stack_bottom\n"
      "4: .word 0xa5c3a5c3\n");
}

__attribute__((naked)) size_t stack_used(void) {
  __asm__(
      ".syntax unified\n"
      "ldr r0, 3f\n"
      "ldr r1, 4f\n"
      "mov r2, sp\n"
      "1: cmp r0, r2\n"
      "beq 2f\n"
      "ldr r3, [r0]\n"
      "adds r0, #4\n"
      "cmp r3, r1\n"
      "beq 1b\n"
      "subs r0, #4\n"
      "2: subs r0, r2, r0\n"
      "bx lr\n"
      ".balign 4\n"
      "3: .word stack_bottom\n"
      "4: .word 0xa5c3a5c3\n");
}

static void fault_handler(void) {
  put_text("stopped by a processor exception\n");
  stop(3);
}

static void reset_handler(void) {
  const uint32_t* from = data_load;
  uint32_t* to;
#if defined(__ARM_FP)
  volatile uint32_t* const access = (volatile uint32_t*)0xe000ed88; /* CPACR */
  *access |= 0xf00000u;                                             /* the floating point unit */
  __asm__ volatile("dsb\n\tisb" ::: "memory");
#endif
  for (to = data_begin; to != data_end; ++to) *to = *from++;
  for (to = bss_begin; to != bss_end; ++to) *to = 0;
  stop(main());
}

/* Reset, NMI, HardFault, MemManage, BusFault, UsageFault, 4 reserved, SVCall, Debug, reserved,
 * PendSV, SysTick. */
struct vector_table {
  uint32_t* initial_stack;
  void (*handlers[15])(void);
};
__attribute__((section(".vectors"), used)) static const struct vector_table vectors = {
    stack_top,
    {reset_handler, fault_handler, fault_handler, fault_handler, fault_handler, fault_handler, 0, 0,
     0, 0, fault_handler, fault_handler, 0, fault_handler, fault_handler}};
