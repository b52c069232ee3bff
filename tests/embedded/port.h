#pragma once

#include <stddef.h>
#include <stdint.h>

// What the harness needs from the machine below it: port_cortex_m.cpp (bare metal under QEMU with
// semihosting) or port_host.cpp (an ordinary process, for comparison).

namespace port {

// Writes a NUL-terminated text to the console.
void write(const char* text);

[[noreturn]] void stop(int exit_code);

// Instructions between the two calls, up to a few; 0 where the machine does not count.
void start_counting();
uint64_t counted_instructions();

// Fills the free stack with a pattern; stack_used() then gives the bytes of it that have been
// written since. 0 where the machine has no stack of its own.
void paint_stack();
size_t stack_used();

// Puts the floating point unit into a mode that verifiers must refuse, or back. False where there
// is no such mode.
enum class FloatMode { kDefault, kUpward, kDownward, kTowardZero, kFlushSubnormals };
bool set_float_mode(FloatMode mode);

}  // namespace port

int harness_main();
