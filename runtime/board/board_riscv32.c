/* Start-up and console of a 32-bit RISC-V under QEMU or a debugger, without any C library. Yours to
 * change and ship, without attribution. On your board: your start-up file and its console. */
#include <stdint.h>

#include "board.h"

/* From board.ld. */
extern uint32_t data_load[], data_begin[], data_end[], bss_begin[], bss_end[];

int main(void);

/* RISC-V semihosting: operation in a0, argument in a1. The three instructions, in this order and
 * uncompressed in one page of memory, are the call. */
static void semihost(int operation, const void* argument) {
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

/* In assembly, so that neither uses the stack itself: both then see the caller's stack pointer, and
 * what a callee of the caller writes lies right below it. */
__attribute__((naked)) void paint_stack(void) {
  __asm__(
      "la t0, stack_bottom\n"
      "li t1, 0xa5c3a5c3\n"
      "1: beq t0, sp, 2f\n"
      "sw t1, 0(t0)\n"
      "addi t0, t0, 4\n"
      "j 1b\n"
      "2: ret\n");
}

__attribute__((naked)) size_t stack_used(void) {
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

__attribute__((used)) static void fault_handler(void) {
  put_text("stopped by a processor exception\n");
  stop(3);
}

__attribute__((used)) static void start(void) {
  const uint32_t* from = data_load;
  uint32_t* to;
  for (to = data_begin; to != data_end; ++to) *to = *from++;
  for (to = bss_begin; to != bss_end; ++to) *to = 0;
  stop(main());
}

/* The first instructions: a stack, and a handler of exceptions. */
__attribute__((section(".vectors"), naked, used)) static void reset_handler(void) {
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
