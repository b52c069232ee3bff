#include <fmt/format.h>

#include "aot/kernels/kernels.h"
#include "aot/loop/intrinsics.h"

namespace bf_aot {
namespace {

// What the code was scheduled for, as the C++ compiler knows it.
std::string target_check(const Target& target) {
  std::string macro;
  if (target.name == "x86-64-v4") macro = "__AVX512F__";
  if (target.name == "x86-64-v3") macro = "__AVX2__";
  if (target.name == "x86-64") macro = "__SSE2__";
  if (target.name == "aarch64") macro = "__ARM_NEON";
  if (macro.empty()) return {};
  std::string flags;
  for (const std::string& flag : target.flags) flags += " " + flag;
  return fmt::format(
      "#if !defined({})\n#error \"this verifier is for {}: compile it with{}\"\n#endif\n\n", macro,
      target.name, flags);
}

// The register class of a vector in inline assembly.
std::string register_class(const Target& target) {
  if (target.name.starts_with("x86-64")) return target.vector_bytes == 64 ? "v" : "x";
  if (target.name == "aarch64") return "w";
  return {};
}

constexpr const char* kMacros = R"cc(#define BF_RESTRICT __restrict
#define BF_KERNEL __attribute__((noinline)) void
#if defined(__clang__)
#define BF_UNROLL(n) _Pragma("clang loop unroll(full)")
#else
#define BF_UNROLL_TEXT(text) _Pragma(#text)
#define BF_UNROLL(n) BF_UNROLL_TEXT(GCC unroll n)
#endif
)cc";

constexpr const char* kUnrollBy = R"cc(#if defined(__clang__)
#define BF_UNROLL_BY_TEXT(text) _Pragma(#text)
#define BF_UNROLL_BY(n) BF_UNROLL_BY_TEXT(clang loop unroll_count(n))
#else
#define BF_UNROLL_BY(n) BF_UNROLL(n)
#endif
)cc";

// Of an address that may lie behind the last element: a hint, never a fault.
constexpr const char* kPrefetch = R"cc(#define BF_PREFETCH(p, bytes) \
                                         __builtin_prefetch(reinterpret_cast<const void*>(reinterpret_cast<std::uintptr_t>(p) + (bytes)))
)cc";

constexpr const char* kScalarHelpers =
    R"([[maybe_unused]] constexpr float kInfinity = __builtin_inff();

[[maybe_unused]] constexpr int smaller(int a, int b) {
  return a < b ? a : b;
}

[[maybe_unused]] inline float larger(float a, float b) {
  return a > b ? a : b;
}

[[maybe_unused]] inline float magnitude(float x) {
  return __builtin_fabsf(x);
}

template <typename T>
inline T* at(void* arena, std::size_t offset) {
  return reinterpret_cast<T*>(static_cast<unsigned char*>(arena) + offset);
}

)";

constexpr const char* kVectorHelpers = R"(template <typename V, typename T>
inline V load(const T* from) {
  V x;
  __builtin_memcpy(&x, from, sizeof x);
  return x;
}

template <typename V, typename T>
inline void store(T* to, V x) {
  __builtin_memcpy(to, &x, sizeof x);
}

template <typename V, typename T>
inline V broadcast(T x) {
  return x - V{};
}

// Between floats and as many doubles.
template <typename To, typename V>
inline To convert(V x) {
  return __builtin_convertvector(x, To);
}

)";

constexpr const char* kLoadFirst =
    R"(// Loads the first `count` elements, all when count is larger; the others are zero.
template <typename V>
inline V load_first(const float* from, int count) {
  constexpr int kSize = static_cast<int>(sizeof(V) / sizeof(float));
  float elements[kSize] = {};
  for (int i = 0; i < smaller(kSize, count); ++i) elements[i] = from[i];
  return load<V>(elements);
}

)";

constexpr const char* kEntry =
    R"(// Of a list: how many count, the entries, then how many that count lie below 0, 8, 16, ..
// None is negative: compilers that know it divide by a power of two in one step.
inline std::ptrdiff_t entry(const std::int32_t* list, int place) {
  return static_cast<std::ptrdiff_t>(static_cast<std::uint32_t>(list[1 + place]));
}

)";

constexpr const char* kPlaceFrom =
    R"(// The place of the first that counts and is not below `value`, a multiple of 8 or all of them.
inline int place_from(const std::int32_t* list, int entries, int value) {
  return list[1 + entries + (value + 7) / 8];
}

)";

constexpr const char* kPinned =
    R"(// A pointer that compilers take as it is. GCC 12 takes it apart otherwise, and keeps a sum of the
// parts for each element that is read from it, in more registers than there are.
template <typename T>
inline T* pinned(T* p) {
  __asm__("" : "+r"(p));
  return p;
}

)";

constexpr const char* kWidenedRow =
    R"(// So many floats as doubles, in whole vectors: what converts and spreads one takes the place of two
// multiply-adds on some processors with AVX-512.
template <typename To, typename From>
inline void widened_row(const float* from, int count, double* to) {
  constexpr int kLanes = static_cast<int>(sizeof(To) / sizeof(double));
  int i = 0;
  for (; i + kLanes <= count; i += kLanes) store(to + i, convert<To>(load<From>(from + i)));
  for (; i < count; ++i) to[i] = static_cast<double>(from[i]);
}

)";

constexpr const char* kWidenedTile =
    R"(// Numbers that lie next to each other as doubles in `room`, where loads spread them over lanes: what
// spreads a register takes the place of a multiply-add on some processors with AVX-512, and on Zen 5
// stores reach loads faster by another register than the stack pointer.
template <typename To, typename From, int kCount>
inline const double* widened_tile(const float* from, double (&room)[kCount]) {
  constexpr int kLanes = static_cast<int>(sizeof(To) / sizeof(double));
  double* to = room;
#if defined(__AVX512F__)
  to = pinned(to);
#endif
  int i = 0;
  for (; i + kLanes <= kCount; i += kLanes) store(to + i, convert<To>(load<From>(from + i)));
  for (; i < kCount; ++i) to[i] = static_cast<double>(from[i]);
#if defined(__AVX512F__)
  __asm__("" : "+m"(*reinterpret_cast<double(*)[kCount]>(to)));
#endif
  return to;
}

)";

std::string float_vector(std::int64_t lanes) {
  return fmt::format(R"(using f32x{0} = float __attribute__((vector_size({1})));
using i32x{0} = std::int32_t __attribute__((vector_size({1})));

[[maybe_unused]] inline f32x{0} larger(f32x{0} a, f32x{0} b) {{
  return a > b ? a : b;
}}

[[maybe_unused]] inline f32x{0} magnitude(f32x{0} x) {{
  return (f32x{0})((i32x{0})x & 0x7fffffff);
}}

// Stores the first `count` elements; all when count is larger.
[[maybe_unused]] inline void store_first(float* to, f32x{0} x, int count) {{
  float elements[{0}];
  __builtin_memcpy(elements, &x, sizeof x);
  for (int i = 0; i < smaller({0}, count); ++i) to[i] = elements[i];
}}

)",
                     lanes, 4 * lanes);
}

// One instruction where GCC 12 makes four of the portable conversion.
std::string native_widening(const Target& target, const loop::Needs& needs) {
  std::string call;
  std::int64_t lanes = 0;
  if (target.name == "x86-64-v4") {
    call = "__builtin_ia32_cvtps2pd512_mask(x, f64x8{}, static_cast<char>(-1), 4)";
    lanes = 8;
  } else if (target.name == "x86-64-v3") {
    call = "__builtin_ia32_cvtps2pd256(x)";
    lanes = 4;
  }
  if (lanes == 0 || !needs.vectors.contains({loop::Type::kFloat64, lanes}) ||
      !needs.vectors.contains({loop::Type::kFloat32, lanes}))
    return {};
  return fmt::format(R"(#if !defined(__clang__)
// One instruction where GCC 12 makes four of the portable conversion.
template <>
inline f64x{0} convert<f64x{0}, f32x{0}>(f32x{0} x) {{
  return {1};
}}
#endif

)",
                     lanes, call);
}

}  // namespace

std::string emit_prelude(const Plan& plan, const loop::Needs& needs) {
  const Target& target = plan.config.target;
  std::string text = needs.vectors.empty() ? std::string() : target_check(target);
  text += kMacros;
  if (needs.helpers.contains("BF_UNROLL_BY")) text += kUnrollBy;
  if (needs.helpers.contains("BF_PREFETCH")) text += kPrefetch;
  const std::string registers = register_class(target);
  if (!needs.vectors.empty()) {
    text += "// A value that is used twice stays in its register: one load instead of two.\n";
    if (registers.empty())
      text += "#define BF_KEEP(x)\n";
    else
      text += fmt::format(
          "#if defined(__clang__)\n#define BF_KEEP(x)\n#else\n"
          "#define BF_KEEP(x) __asm__(\"\" : \"+{}\"(x))\n#endif\n",
          registers);
  }
  text += "\nnamespace {\n\n";
  text += kScalarHelpers;
  if (needs.helpers.contains("entry")) text += kEntry;
  if (needs.helpers.contains("place_from")) text += kPlaceFrom;
  for (const loop::Intrinsic& each : loop::intrinsics())
    if (needs.helpers.contains(each.name)) text += each.text + "\n";
  if (needs.vectors.empty()) return text;
  text += kVectorHelpers;
  if (needs.helpers.contains("pinned")) text += kPinned;
  if (needs.helpers.contains("widened_row")) text += kWidenedRow;
  if (needs.helpers.contains("widened_tile")) text += kWidenedTile;
  if (needs.helpers.contains("load_first")) text += kLoadFirst;
  for (const auto& [type, lanes] : needs.vectors) {
    if (type == loop::Type::kFloat32)
      text += float_vector(lanes);
    else
      text += fmt::format("using f64x{} = double __attribute__((vector_size({})));\n\n", lanes,
                          8 * lanes);
  }
  return text + native_widening(target, needs);
}

}  // namespace bf_aot
