// Start-up code and semihosting for Cortex-M0+ to M55 on QEMU's boards. No C library.

#include "port.h"

extern "C" {
// From runtime/board/sections.ld.
extern uint32_t data_load[], data_begin[], data_end[], bss_begin[], bss_end[];
extern uint32_t stack_bottom[], stack_top[];

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

namespace {

volatile uint32_t& at(uint32_t address) {
  return *reinterpret_cast<volatile uint32_t*>(address);
}

// Arm semihosting, version 2: operation in r0, argument in r1.
int semihost(int operation, const void* argument) {
  register int r0 __asm__("r0") = operation;
  register const void* r1 __asm__("r1") = argument;
  __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
  return r0;
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
