// Runs a generated monitor on boxes of states and prints what monitor_test.py reads: its verdicts,
// the bits of its ranges, its instructions and its stack.
// The monitor is called monitor; test_states.h is made by monitor_test.py.

#include "monitor.h"
#include "port.h"
#include "print.h"
#include "test_states.h"  // kBoxCount, kLower[][states], kUpper[][states]

namespace {

constexpr size_t kBytes = MONITOR_WORKSPACE_BYTES, kRanges = (MONITOR_PERIODS + 1) * MONITOR_STATES;
constexpr size_t kGuard = 16;
constexpr unsigned char kGuardByte = 0x5a;

alignas(MONITOR_WORKSPACE_ALIGN) unsigned char memory[kGuard + kBytes + kGuard];
unsigned char* const workspace = memory + kGuard;
monitor_result result;

bf_status run(const double* lower, const double* upper) {
  return monitor_look_ahead(lower, upper, &result, workspace, kBytes);
}

void print_number(const char* label, uint64_t value) {
  port::write(label);
  print::hex64(value);
  port::write("\n");
}

void print_ranges(const char* label, const double* values) {
  port::write(label);
  for (size_t i = 0; i < kRanges; ++i) {
    uint64_t bits;
    __builtin_memcpy(&bits, &values[i], sizeof bits);
    port::write(" ");
    print::hex64(bits);
  }
  port::write("\n");
}

int fail(const char* what) {
  port::write("bf error ");
  port::write(what);
  port::write("\n");
  return 1;
}

bool refuses_bad_calls() {
  double low[MONITOR_STATES], high[MONITOR_STATES];
  for (size_t i = 0; i < MONITOR_STATES; ++i) low[i] = high[i] = 0;
  if (run(nullptr, high) != BF_NULL_ARGUMENT) return false;
  if (monitor_look_ahead(low, high, &result, workspace, kBytes - 1) != BF_WORKSPACE_TOO_SMALL)
    return false;
  if (monitor_look_ahead(low, high, &result, workspace + 4, kBytes) != BF_WORKSPACE_MISALIGNED)
    return false;
  auto* const inside = reinterpret_cast<double*>(workspace);
  if (run(inside, high) != BF_OVERLAP) return false;
  low[0] = __builtin_nan("");
  if (run(low, high) != BF_NAN_INPUT) return false;
  low[0] = 1;
  if (run(low, high) != BF_EMPTY_BOX) return false;
  high[0] = __builtin_inf();
  if (run(low, high) != BF_INFINITE_BOX) return false;
  if (!port::set_float_mode(port::FloatMode::kUpward)) return true;
  high[0] = 1;
  const bf_status status = run(low, high);
  port::set_float_mode(port::FloatMode::kDefault);
  return status == BF_FLOAT_ENVIRONMENT;
}

}  // namespace

int harness_main() {
  for (size_t i = 0; i < kGuard; ++i) memory[i] = memory[kGuard + kBytes + i] = kGuardByte;
  if (!refuses_bad_calls()) return fail("a bad call is not refused");
  for (size_t box = 0; box < kBoxCount; ++box) {
    port::paint_stack();
    port::start_counting();
    const bf_status status = run(kLower[box], kUpper[box]);
    const uint64_t instructions = port::counted_instructions();
    const size_t stack = port::stack_used();
    if (status != BF_OK) return fail("a good call is refused");
    print_number("bf box ", box);
    print_number("bf safe ", result.safe_periods);
    print_number("bf open ", result.open_requirement);
    print_ranges("bf lower", result.lower);
    print_ranges("bf upper", result.upper);
    print_number("bf instructions ", instructions);
    print_number("bf stack ", stack);
  }
  for (size_t i = 0; i < kGuard; ++i)
    if (memory[i] != kGuardByte || memory[kGuard + kBytes + i] != kGuardByte)
      return fail("a call wrote outside of the workspace");
  port::write("bf done\n");
  return 0;
}
