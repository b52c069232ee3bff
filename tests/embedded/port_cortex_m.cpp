// Start-up code and semihosting for Cortex-M0+ to M55 on QEMU's boards. No C library.

#include "port_arm.h"

extern "C" {
// From runtime/board/sections.ld.
extern uint32_t data_load[], data_begin[], data_end[], bss_begin[], bss_end[];
extern uint32_t stack_bottom[], stack_top[];
}

static int semihost(int operation, const void* argument) {
  register int r0 __asm__("r0") = operation;
  register const void* r1 __asm__("r1") = argument;
  __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
  return r0;
}

namespace {

volatile uint32_t& at(uint32_t address) {
  return *reinterpret_cast<volatile uint32_t*>(address);
}

// SysTick counts down from 2^24 - 1 at the clock of the board; its handler counts the wraps.
constexpr uint32_t kSysTickControl = 0xe000e010, kSysTickReload = 0xe000e014;
constexpr uint32_t kSysTickValue = 0xe000e018, kWrap = 1u << 24;
volatile uint32_t wraps;

void systick_handler() {
  wraps = wraps + 1;
}

void fault_handler() {
  port::write("bf error fault: a processor exception stopped the program\n");
  port::stop(3);
}

[[noreturn]] void reset_handler() {
#if defined(__ARM_FP)
  at(0xe000ed88) = at(0xe000ed88) | 0xf00000u;  // CPACR: full access to the floating point unit
  __asm__ volatile("dsb\n\tisb" ::: "memory");
#endif
  const uint32_t* from = data_load;
  for (uint32_t* to = data_begin; to != data_end; ++to) *to = *from++;
  for (uint32_t* to = bss_begin; to != bss_end; ++to) *to = 0;
  port::stop(harness_main());
}

using Handler = void (*)();
struct VectorTable {
  uint32_t* initial_stack;
  Handler handlers[15];
};
// Reset, NMI, HardFault, MemManage, BusFault, UsageFault, 4 reserved, SVCall, Debug, reserved,
// PendSV, SysTick.
[[gnu::section(".vectors"), gnu::used]] const VectorTable vectors = {
    stack_top,
    {reset_handler, fault_handler, fault_handler, fault_handler, fault_handler, fault_handler,
     nullptr, nullptr, nullptr, nullptr, fault_handler, fault_handler, nullptr, fault_handler,
     systick_handler}};

}  // namespace

namespace port {

void start_counting() {
  at(kSysTickControl) = 0;
  wraps = 0;
  at(kSysTickReload) = kWrap - 1;
  at(kSysTickValue) = 0;    // any write clears
  at(kSysTickControl) = 7;  // enabled, with interrupt, processor clock
}

// machine.py runs QEMU with -icount shift=5: one instruction takes 32 ns of the board's time. TICK
// is a tick in 128ths of that: 160 on the boards of 25 MHz, where it takes 40 ns. No division: it
// would be libgcc's.
#if !defined(TICK)
#define TICK 160
#endif
uint64_t counted_instructions() {
  const uint32_t value = at(kSysTickValue);
  at(kSysTickControl) = 0;
  const uint64_t ticks = static_cast<uint64_t>(wraps) * kWrap + (kWrap - 1 - value);
  return ticks * TICK >> 7;
}

}  // namespace port
