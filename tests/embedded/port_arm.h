#pragma once

#include "port.h"

// The ports for Cortex-M and Cortex-R share this file: memory routines, the console by semihosting,
// the paint of the stack, the modes of the floating point unit. Included once, by the port.

// Arm semihosting, version 2: operation in r0, argument in r1.
static int semihost(int operation, const void* argument);

extern "C" {
// By words where both are aligned to them, as C libraries do.
void* memcpy(void* to, const void* from, size_t count) {
  auto* out = static_cast<unsigned char*>(to);
  const auto* in = static_cast<const unsigned char*>(from);
  if (((reinterpret_cast<uintptr_t>(to) | reinterpret_cast<uintptr_t>(from)) & 3) == 0)
    for (; count >= 4; count -= 4, out += 4, in += 4)
      *reinterpret_cast<uint32_t*>(out) = *reinterpret_cast<const uint32_t*>(in);
  for (size_t i = 0; i < count; ++i) out[i] = in[i];
  return to;
}

void* memset(void* to, int value, size_t count) {
  auto* out = static_cast<unsigned char*>(to);
  for (size_t i = 0; i < count; ++i) out[i] = static_cast<unsigned char>(value);
  return to;
}
}

namespace port {

void write(const char* text) {
  constexpr int kWrite0 = 0x04;
  semihost(kWrite0, text);
}

void stop(int exit_code) {
  constexpr int kExitExtended = 0x20;
  constexpr uint32_t kApplicationExit = 0x20026;
  const uint32_t arguments[2] = {kApplicationExit, static_cast<uint32_t>(exit_code)};
  for (;;) semihost(kExitExtended, arguments);
}

// In assembly, so that neither uses the stack itself: both then see the caller's stack pointer,
// and what a callee of the caller writes lies right below it.
[[gnu::naked]] void paint_stack() {
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

[[gnu::naked]] size_t stack_used() {
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

bool set_float_mode(FloatMode mode) {
#if defined(__ARM_FP)
  uint32_t bits = 0;
  if (mode == FloatMode::kUpward) bits = 1u << 22;
  if (mode == FloatMode::kDownward) bits = 2u << 22;
  if (mode == FloatMode::kTowardZero) bits = 3u << 22;
  if (mode == FloatMode::kFlushSubnormals) bits = 1u << 24;
  // The other bits stay: ARMv8.1-M's low-overhead loops fault where LTPSIZE is not its reset value.
  uint32_t fpscr;
  __asm__ volatile("vmrs %0, fpscr" : "=r"(fpscr));
  bits |= fpscr & ~0x1c00000u;
  __asm__ volatile("vmsr fpscr, %0" ::"r"(bits) : "memory");
  return true;
#else
  return mode == FloatMode::kDefault;
#endif
}

}  // namespace port
