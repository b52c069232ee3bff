// Prints one hash per rounding primitive over special values and pseudo-random bit patterns. The
// hashes must be those of the host, whose primitives are tested against exact rationals.

#include "port.h"
#include "print.h"
#include "tests/runtime/rounding_variant.h"

extern "C" const bf_test::RoundingVariant bf_rounding_target;

namespace {

constexpr size_t kCount = 64;    // numbers in a batch
constexpr size_t kBatches = 64;  // of each primitive

uint64_t random_state;

// Marsaglia's xorshift64.
uint64_t random_bits() {
  random_state ^= random_state << 13;
  random_state ^= random_state >> 7;
  random_state ^= random_state << 17;
  return random_state;
}

// A float's bits as an integer, which are the same on machines of either order of bytes.
template <class Float>
struct BitsOf {
  using Type = uint64_t;
};
template <>
struct BitsOf<float> {
  using Type = uint32_t;
};
template <class Float>
using Bits = typename BitsOf<Float>::Type;

template <class Float>
void fill(Float (&values)[kCount]) {
  constexpr uint64_t kSpecial[] = {0x0, 0x1, 0x2, 0x7ff, 0x800, 0x3ff, 0x7fe, 0x7fd, 0x001, 0x400};
  for (Float& value : values) {
    uint64_t bits = random_bits();
    if (bits % 8 == 0) {  // special exponent fields, mantissas all zeros or all ones
      const uint64_t exponent = kSpecial[(bits >> 8) % 10] & 0x7ff;
      bits = (bits >> 63 << 63) | exponent << 52 | ((bits & 0x100) != 0 ? 0xfffffffffffffu : 0u);
      if (sizeof(Float) == 4)
        bits = (bits >> 63 << 31) | (exponent & 0xff) << 23 | (bits & 0x7fffff);
    }
    const Bits<Float> kept = static_cast<Bits<Float>>(bits);
    __builtin_memcpy(&value, &kept, sizeof value);
  }
}

// FNV-1a over the bytes, the lowest of a number first. Signs and bits count; no primitive returns
// NaN.
template <class Float>
uint64_t hash(uint64_t state, const Float (&values)[kCount]) {
  for (const Float& value : values) {
    Bits<Float> bits;
    __builtin_memcpy(&bits, &value, sizeof value);
    for (size_t i = 0; i < sizeof value; ++i)
      state = (state ^ (bits >> 8 * i & 0xff)) * 0x100000001b3u;
  }
  return state;
}

constexpr uint64_t kHashStart = 0xcbf29ce484222325u;

void report(const char* name, uint64_t value) {
  port::write("bf hash ");
  port::write(name);
  port::write(" ");
  print::hex64(value);
  port::write("\n");
}

template <class In, class Out>
void report_unary(const char* name, void (*compute)(const In*, Out*, size_t)) {
  static In a[kCount];
  static Out result[kCount];
  random_state = 1;
  uint64_t state = kHashStart;
  for (size_t batch = 0; batch < kBatches; ++batch) {
    fill(a);
    compute(a, result, kCount);
    state = hash(state, result);
  }
  report(name, state);
}

template <class Float>
void report_binary(const char* name, void (*compute)(const Float*, const Float*, Float*, size_t)) {
  static Float a[kCount], b[kCount], result[kCount];
  random_state = 2;
  uint64_t state = kHashStart;
  for (size_t batch = 0; batch < kBatches; ++batch) {
    fill(a);
    fill(b);
    compute(a, b, result, kCount);
    state = hash(state, result);
  }
  report(name, state);
}

template <class Float>
void report_all(const bf_test::Primitives<Float>& primitives) {
  report_unary("next_up", primitives.next_up);
  report_unary("next_down", primitives.next_down);
  report_binary("add_up", primitives.add_up);
  report_binary("add_down", primitives.add_down);
  report_binary("sub_up", primitives.sub_up);
  report_binary("sub_down", primitives.sub_down);
  report_binary("mul_up", primitives.mul_up);
  report_binary("mul_down", primitives.mul_down);
  report_binary("div_up", primitives.div_up);
  report_binary("div_down", primitives.div_down);
}

bool environment_is_checked() {
  using port::FloatMode;
  if (!bf_rounding_target.float_environment_ok()) return false;
  const FloatMode modes[] = {FloatMode::kUpward, FloatMode::kDownward, FloatMode::kTowardZero,
                             FloatMode::kFlushSubnormals};
  for (const FloatMode mode : modes) {
    if (!port::set_float_mode(mode)) continue;
    const bool ok = bf_rounding_target.float_environment_ok();
    port::set_float_mode(FloatMode::kDefault);
    if (ok) return false;
  }
  return true;
}

// A loop of known length, for the instruction counter that the harness's figures come from.
void count_known_loop() {
#if (defined(__arm__) && !defined(__linux__)) || (defined(__riscv) && __riscv_xlen == 32)
  port::start_counting();
  uint32_t rounds = 100000;
#if defined(__arm__)
  __asm__ volatile(".syntax unified\n1: subs %0, #1\n\tbne 1b" : "+l"(rounds)::"cc");
#else
  __asm__ volatile("1: addi %0, %0, -1\n\tbnez %0, 1b" : "+r"(rounds));
#endif
  const uint64_t counted = port::counted_instructions();
  port::write("bf loop ");
  print::hex64(counted);
  port::write("\n");
#endif
}

}  // namespace

int harness_main() {
  count_known_loop();
  port::write("bf float\n");
  report_all(bf_rounding_target.on_float);
  port::write("bf double\n");
  report_all(bf_rounding_target.on_double);
  port::write("bf narrowing\n");
  report_unary("float_up", bf_rounding_target.float_up);
  report_unary("float_down", bf_rounding_target.float_down);
  if (!environment_is_checked()) {
    port::write("bf error float_environment_ok() is wrong\n");
    return 1;
  }
  port::write("bf done\n");
  return 0;
}
