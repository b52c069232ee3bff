/* Start-up and console of a Cortex-M under QEMU or a debugger, without any C library. Yours to
 * change and ship, without attribution. On your board: your start-up file and its console. */
#include <stdint.h>

#include "board.h"

/* From board.ld. */
extern uint32_t data_load[], data_begin[], data_end[], bss_begin[], bss_end[];
extern uint32_t stack_bottom[], stack_top[];

int main(void);

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
