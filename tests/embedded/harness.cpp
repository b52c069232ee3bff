// Runs a generated verifier on boxes and prints what run_embedded.py reads: the bits of its
// bounds, its instructions and its stack. Also checks that it refuses what the interface says.
//
//   -DVERIFIER_HEADER="\"net.h\"" -DVERIFIER=net -DVERIFIER_UPPER=NET
//   -DVERIFIER_ENTRY=_bounds -DVERIFIER_ROWS=_OUTPUTS (or _spec_bounds, _SPEC_ROWS)
//   -DEVALUATE: call net_evaluate too
// test_boxes.h is made from JSON.

#include VERIFIER_HEADER
#include "port.h"
#include "print.h"
#include "test_boxes.h"  // kBoxCount, kLower[][inputs], kUpper[][inputs]

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define BOUNDS JOIN(VERIFIER, VERIFIER_ENTRY)
#define SIZE(what) JOIN(VERIFIER_UPPER, what)

namespace {

constexpr size_t kInputs = SIZE(_INPUTS);
constexpr size_t kOutputs = SIZE(VERIFIER_ROWS);
constexpr size_t kWorkspaceBytes = SIZE(_WORKSPACE_BYTES);
constexpr size_t kWorkspaceAlign = SIZE(_WORKSPACE_ALIGN);
constexpr size_t kGuard = 16;
constexpr unsigned char kGuardByte = 0x5a;

static_assert(sizeof kLower[0] == kInputs * sizeof(float), "the boxes have another dimension");

// The workspace with guard bytes behind it, aligned to what is asked for and no more.
alignas(2 * kWorkspaceAlign) unsigned char memory[2 * kWorkspaceAlign + kWorkspaceBytes + kGuard];
unsigned char* const workspace = memory + kWorkspaceAlign;

float out_lower[kOutputs];
float out_upper[kOutputs];
float bad_lower[kInputs], bad_upper[kInputs];

constexpr float kUntouched = 0x1.5a5a5ap-20f;

void forget_outputs() {
  for (size_t i = 0; i < kOutputs; ++i) out_lower[i] = out_upper[i] = kUntouched;
}

bool outputs_untouched() {
  for (size_t i = 0; i < kOutputs; ++i) {
    if (out_lower[i] != kUntouched || out_upper[i] != kUntouched) return false;
  }
  return true;
}

void print_bits(const char* label, const float* values) {
  port::write(label);
  for (size_t i = 0; i < kOutputs; ++i) {
    uint32_t bits;
    __builtin_memcpy(&bits, &values[i], sizeof bits);
    port::write(" ");
    print::hex32(bits);
  }
  port::write("\n");
}

void print_number(const char* label, uint64_t value) {
  port::write(label);
  print::hex64(value);
  port::write("\n");
}

bf_status run(const float* lower, const float* upper) {
  return BOUNDS(lower, upper, out_lower, out_upper, workspace, kWorkspaceBytes);
}

bool guards_intact() {
  for (size_t i = 0; i < kGuard; ++i) {
    if (workspace[kWorkspaceBytes + i] != kGuardByte) return false;
  }
  for (size_t i = 0; i < kWorkspaceAlign; ++i) {
    if (memory[i] != kGuardByte) return false;
  }
  return true;
}

// Was the status the wanted one, and have refused calls left the outputs alone?
bool expect(const char* what, bf_status got, bf_status want) {
  if (got == want && (want == BF_OK || outputs_untouched())) return true;
  port::write("bf error ");
  port::write(what);
  print_number(": outputs written, or wrong status ", static_cast<uint64_t>(got));
  return false;
}

// One wrong pointer or size at a time, on the first box.
bool refuses_bad_arguments() {
  const float* low = kLower[0];
  const float* high = kUpper[0];
  const size_t bytes = kWorkspaceBytes;
  bool ok = expect("null lower", run(nullptr, high), BF_NULL_ARGUMENT);
  ok &= expect("null upper", run(low, nullptr), BF_NULL_ARGUMENT);
  ok &= expect("null output lower", BOUNDS(low, high, nullptr, out_upper, workspace, bytes),
               BF_NULL_ARGUMENT);
  ok &= expect("null output upper", BOUNDS(low, high, out_lower, nullptr, workspace, bytes),
               BF_NULL_ARGUMENT);
  if (bytes > 0) {
    ok &= expect("null workspace", BOUNDS(low, high, out_lower, out_upper, nullptr, bytes),
                 BF_NULL_ARGUMENT);
    ok &= expect("small workspace", BOUNDS(low, high, out_lower, out_upper, workspace, bytes - 1),
                 BF_WORKSPACE_TOO_SMALL);
  }
  if (bytes > 0 && kWorkspaceAlign > 1) {
    unsigned char* const between = workspace + kWorkspaceAlign / 2;
    ok &= expect("misaligned workspace", BOUNDS(low, high, out_lower, out_upper, between, bytes),
                 BF_WORKSPACE_MISALIGNED);
  }
  return ok;
}

// One wrong interval at a time: first in the first dimension, then in the last.
bool refuses_bad_boxes() {
  const float nan = __builtin_nanf(""), infinity = __builtin_inff();
  const struct {
    const char* name;
    float lower, upper;
    bf_status status;
  } cases[] = {{"NaN lower", nan, 1, BF_NAN_INPUT},
               {"NaN upper", 0, nan, BF_NAN_INPUT},
               {"infinite lower", -infinity, 1, BF_INFINITE_BOX},
               {"infinite upper", 0, infinity, BF_INFINITE_BOX},
               {"empty box", 0x1p-149f, 0, BF_EMPTY_BOX}};
  bool ok = true;
  const size_t dimensions[] = {0, kInputs - 1};
  for (const size_t i : dimensions) {
    for (const auto& bad : cases) {
      for (size_t j = 0; j < kInputs; ++j) {
        bad_lower[j] = kLower[0][j];
        bad_upper[j] = kUpper[0][j];
      }
      bad_lower[i] = bad.lower;
      bad_upper[i] = bad.upper;
      ok &= expect(bad.name, run(bad_lower, bad_upper), bad.status);
    }
  }
  return ok;
}

// But for verifiers without floating point, which work in any.
#if defined(ANY_FLOAT_MODE)
constexpr bf_status kStatusOfModes = BF_OK;
#else
constexpr bf_status kStatusOfModes = BF_FLOAT_ENVIRONMENT;
#endif

bool refuses_float_modes() {
  using port::FloatMode;
  const struct {
    FloatMode mode;
    const char* name;
  } modes[] = {{FloatMode::kUpward, "rounding upward"},
               {FloatMode::kDownward, "rounding downward"},
               {FloatMode::kTowardZero, "rounding toward zero"},
               {FloatMode::kFlushSubnormals, "flushing subnormals"}};
  bool ok = true;
  for (const auto& [mode, name] : modes) {
    const bool exists = port::set_float_mode(mode);
    const bf_status status = exists ? run(kLower[0], kUpper[0]) : kStatusOfModes;
    port::set_float_mode(FloatMode::kDefault);
    ok &= expect(name, status, kStatusOfModes);
  }
  return ok;
}

// The same box twice: once for the stack, once, with the interrupt of the counter, for the rest.
bool run_box(size_t box) {
  port::paint_stack();
  const bf_status status = run(kLower[box], kUpper[box]);
  const size_t stack = port::stack_used();
  port::start_counting();
  const bf_status again = run(kLower[box], kUpper[box]);
  const uint64_t instructions = port::counted_instructions();
  print_number("bf box ", box);
  if (!expect("a good box", status, BF_OK) || !expect("its repetition", again, BF_OK)) return false;
  print_bits("bf lower", out_lower);
  print_bits("bf upper", out_upper);
#if defined(EVALUATE)
  const bf_status evaluated =
      JOIN(VERIFIER, _evaluate)(kLower[box], out_lower, workspace, kWorkspaceBytes);
  if (!expect("evaluation", evaluated, BF_OK)) return false;
  print_bits("bf value", out_lower);
#endif
  print_number("bf stack ", stack);
  print_number("bf instructions ", instructions);
  return true;
}

}  // namespace

int harness_main() {
  for (size_t i = 0; i < sizeof memory; ++i) memory[i] = kGuardByte;
  print_number("bf workspace ", kWorkspaceBytes);
  bool ok = true;
  for (size_t box = 0; box < kBoxCount; ++box) ok &= run_box(box);
  forget_outputs();
  ok &= refuses_bad_arguments();
  ok &= refuses_bad_boxes();
  ok &= refuses_float_modes();
  if (!guards_intact()) {
    port::write("bf error the verifier writes outside its workspace\n");
    ok = false;
  }
  port::write(ok ? "bf done\n" : "bf failed\n");
  return ok ? 0 : 1;
}
