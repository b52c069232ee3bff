/* Start-up and console of a Cortex-R under QEMU or a debugger, without any C library. Yours to
 * change and ship, without attribution. On your board: your start-up file and its console. */
#include <stdint.h>

#include "board.h"

/* From board.ld. */
extern uint32_t data_load[], data_begin[], data_end[], bss_begin[], bss_end[];

int main(void);
void fault_handler(void);
void start(void);

/* Arm semihosting: operation in r0, argument in r1. A debugger may change lr. */
static void semihost(int operation, const void* argument) {
  register int r0 __asm__("r0") = operation;
  register const void* r1 __asm__("r1") = argument;
  __asm__ volatile("svc 0xab" : "+r"(r0) : "r"(r1) : "memory", "lr");
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

__attribute__((used)) void fault_handler(void) {
  put_text("stopped by a processor exception\n");
  stop(3);
}

__attribute__((used)) void start(void) {
  const uint32_t* from = data_load;
  uint32_t* to;
  for (to = data_begin; to != data_end; ++to) *to = *from++;
  for (to = bss_begin; to != bss_end; ++to) *to = 0;
  stop(main());
}

/* Reset, undefined instruction, SVC, prefetch abort, data abort, reserved, IRQ, FIQ. Both handlers
 * have a stack; the floating point unit is let in by CPACR and turned on. */
__attribute__((section(".vectors"), naked, used, target("arm"))) void reset_vectors(void) {
  __asm__(
      "b 1f\n"
      "b 2f\n"
      "b 2f\n"
      "b 2f\n"
      "b 2f\n"
      "nop\n"
      "b 2f\n"
      "b 2f\n"
      "1: ldr sp, 3f\n"
#if defined(__ARM_FP)
      "mrc p15, 0, r0, c1, c0, 2\n"
      "orr r0, r0, #0xf00000\n"
      "mcr p15, 0, r0, c1, c0, 2\n"
      "isb\n"
      "mov r0, #0x40000000\n"
      "vmsr fpexc, r0\n"
#endif
      "ldr r0, 4f\n"
      "bx r0\n"
      "2: ldr sp, 3f\n"
      "ldr r0, 5f\n"
      "bx r0\n"
      "3: .word stack_top\n"
      "4: .word start\n"
      "5: .word fault_handler\n");
}
