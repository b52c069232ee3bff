// Start-up code and semihosting for Cortex-R5 on QEMU's versatilepb. No C library.

#include "port_arm.h"

extern "C" {
// From runtime/board/sections.ld.
extern uint32_t data_load[], data_begin[], data_end[], bss_begin[], bss_end[];

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

// Eight exceptions, of which the first is the reset; both handlers have a stack, and the floating
// point unit is let in by CPACR and turned on.
[[gnu::section(".vectors"), gnu::naked, gnu::used, gnu::target("arm")]] void reset_vectors() {
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
      "mrc p15, 0, r0, c1, c0, 2\n"
      "orr r0, r0, #0xf00000\n"
      "mcr p15, 0, r0, c1, c0, 2\n"
      "isb\n"
      "mov r0, #0x40000000\n"
      "vmsr fpexc, r0\n"
      "ldr r0, 4f\n"
      "bx r0\n"
      "2: ldr sp, 3f\n"
      "ldr r0, 5f\n"
      "bx r0\n"
      "3: .word stack_top\n"
      "4: .word start\n"
      "5: .word fault_handler\n");
}
}

static int semihost(int operation, const void* argument) {
  register int r0 __asm__("r0") = operation;
  register const void* r1 __asm__("r1") = argument;
  __asm__ volatile("svc 0xab" : "+r"(r0) : "r"(r1) : "memory", "lr");
  return r0;
}

namespace {

// The cycle counter of the performance monitor, which QEMU with -icount advances by the board's
// nanoseconds.
uint32_t cycles() {
  uint32_t count;
  __asm__ volatile("mrc p15, 0, %0, c9, c13, 0" : "=r"(count));
  return count;
}

uint32_t counted_from;

}  // namespace

namespace port {

void start_counting() {
  const uint32_t all_on = 1, cycle_counter = 1u << 31;
  __asm__ volatile("mcr p15, 0, %0, c9, c12, 0" ::"r"(all_on));
  __asm__ volatile("mcr p15, 0, %0, c9, c12, 1" ::"r"(cycle_counter));
  counted_from = cycles();
}

// machine.py runs QEMU with -icount shift=5: one instruction takes 32 ns. A count of 32 bits lasts
// for 134 million instructions.
uint64_t counted_instructions() {
  return (cycles() - counted_from) >> 5;
}

}  // namespace port
