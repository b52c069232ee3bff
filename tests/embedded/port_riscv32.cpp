// Start-up code and semihosting for RV32IMAC on QEMU's virt. No C library.

#include "port.h"

extern "C" {
// From runtime/board/sections.ld.
extern uint32_t data_load[], data_begin[], data_end[], bss_begin[], bss_end[];

void* memcpy(void* to, const void* from, size_t count) {
  auto* out = static_cast<unsigned char*>(to);
  const auto* in = static_cast<const unsigned char*>(from);
  for (size_t i = 0; i < count; ++i) out[i] = in[i];
  return to;
}

void* memset(void* to, int value, size_t count) {
  auto* out = static_cast<unsigned char*>(to);
  for (size_t i = 0; i < count; ++i) out[i] = static_cast<unsigned char>(value);
  return to;
}

[[gnu::used]] void fault_handler() {
  port::write("bf error fault: a processor exception stopped the program\n");
  port::stop(3);
}

[[gnu::used]] void start() {
  const uint32_t* from = data_load;
  for (uint32_t* to = data_begin; to != data_end; ++to) *to = *from++;
  for (uint32_t* to = bss_begin; to != bss_end; ++to) *to = 0;
  port::stop(harness_main());
}

// The first instructions: a stack, and a handler of exceptions.
[[gnu::section(".vectors"), gnu::naked, gnu::used]] void reset_handler() {
  __asm__(
      ".option arch, +zicsr\n"
      "la sp, stack_top\n"
      "la t0, 1f\n"
      "csrw mtvec, t0\n"
      "call start\n"
      ".balign 4\n"
      "1: la sp, stack_top\n"
      "call fault_handler\n");
}
}

namespace {

// RISC-V semihosting: operation in a0, argument in a1. The three instructions, in this order and
// uncompressed in one page of memory, are the call.
int semihost(int operation, const void* argument) {
  register int a0 __asm__("a0") = operation;
  register const void* a1 __asm__("a1") = argument;
  __asm__ volatile(
      ".balign 16\n"
      ".option push\n"
      ".option norvc\n"
      "slli zero, zero, 0x1f\n"
      "ebreak\n"
      "srai zero, zero, 7\n"
      ".option pop\n"
      : "+r"(a0)
      : "r"(a1)
      : "memory");
  return a0;
}

uint64_t counted_from;

// Of QEMU with -icount: nanoseconds.
uint64_t instret() {
  uint32_t low, high, again;
  do {
    __asm__ volatile(
        ".option push\n"
        ".option arch, +zicsr\n"
        "csrr %0, minstreth\n"
        "csrr %1, minstret\n"
        "csrr %2, minstreth\n"
        ".option pop\n"
        : "=r"(high), "=r"(low), "=r"(again));
  } while (high != again);
  return static_cast<uint64_t>(high) << 32 | low;
}

}  // namespace

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

void start_counting() {
  counted_from = instret();
}

// machine.py runs QEMU with -icount shift=5: one instruction takes 32 ns.
uint64_t counted_instructions() {
  return (instret() - counted_from) / 32;
}

// In assembly, so that neither uses the stack itself: both then see the caller's stack pointer,
// and what a callee of the caller writes lies right below it.
[[gnu::naked]] void paint_stack() {
  __asm__(
      "la t0, stack_bottom\n"
      "li t1, 0xa5c3a5c3\n"
      "1: beq t0, sp, 2f\n"
      "sw t1, 0(t0)\n"
      "addi t0, t0, 4\n"
      "j 1b\n"
      "2: ret\n");
}

[[gnu::naked]] size_t stack_used() {
  __asm__(
      "la t0, stack_bottom\n"
      "li t1, 0xa5c3a5c3\n"
      "1: beq t0, sp, 2f\n"
      "lw t2, 0(t0)\n"
      "bne t2, t1, 2f\n"
      "addi t0, t0, 4\n"
      "j 1b\n"
      "2: sub a0, sp, t0\n"
      "ret\n");
}

bool set_float_mode(FloatMode mode) {
  return mode == FloatMode::kDefault;
}

}  // namespace port
