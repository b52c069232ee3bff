#pragma once

#include "bf/contract/integers.h"

// Primitives that printed kernels are made of. A vector type V has float or double elements: `using
// f32x8 = float __attribute__((vector_size(32)))`.

#define BF_RESTRICT __restrict
#define BF_KERNEL __attribute__((noinline)) void
#if defined(__clang__)
#define BF_PRAGMA_TEXT(text) _Pragma(#text)
#define BF_UNROLL(n) _Pragma("clang loop unroll(full)")
#define BF_UNROLL_BY(n) BF_PRAGMA_TEXT(clang loop unroll_count(n))
#else
#define BF_PRAGMA_TEXT(text) _Pragma(#text)
#define BF_UNROLL(n) BF_PRAGMA_TEXT(GCC unroll n)
#define BF_UNROLL_BY(n) BF_UNROLL(n)
#endif

// A value that is used twice stays in its register: one load instead of two.
#define BF_KEEP(x) bf::kernel::keep(x)

// Asks ahead for an address that may lie behind the last element: a hint, never a fault.
#define BF_PREFETCH(p, bytes) \
  __builtin_prefetch(reinterpret_cast<const void*>(reinterpret_cast<std::uintptr_t>(p) + (bytes)))

namespace bf {
namespace kernel {

constexpr float kInfinity = __builtin_inff();

constexpr int smaller(int a, int b) {
  return a < b ? a : b;
}

// Keeps a value that fits a register in one; see BF_KEEP.
template <typename V>
__attribute__((always_inline)) static inline void keep(V& x) {
#if defined(__clang__)
  (void)x;
#elif defined(__AVX512F__)
  if constexpr (sizeof(V) <= 64) __asm__("" : "+v"(x));
#elif defined(__AVX__)
  if constexpr (sizeof(V) <= 32) __asm__("" : "+x"(x));
#elif defined(__SSE2__)
  if constexpr (sizeof(V) <= 16) __asm__("" : "+x"(x));
#elif defined(__ARM_NEON)
  if constexpr (sizeof(V) <= 16) __asm__("" : "+w"(x));
#else
  (void)x;
#endif
}

// The larger of floats, or of vectors of them element by element; b where one is NaN.
template <typename V>
static inline V larger(V a, V b) {
  return a > b ? a : b;
}

static inline float magnitude(float x) {
  return __builtin_fabsf(x);
}
template <typename V>
static inline V magnitude(V x) {
  static_assert(sizeof(x[0]) == sizeof(float), "of floats");
  typedef decltype(x < x) Bits;
  return (V)((Bits)x & 0x7fffffff);
}

template <typename T>
static inline T* at(void* arena, std::size_t offset) {
  return reinterpret_cast<T*>(static_cast<unsigned char*>(arena) + offset);
}

// A list has the number of its entries that count, its entries, then how many that count lie below
// 0, 8, 16, .. None is negative: compilers that know it divide by a power of two in one step.
static inline std::ptrdiff_t entry(const std::int32_t* list, int place) {
  return static_cast<std::ptrdiff_t>(static_cast<std::uint32_t>(list[1 + place]));
}

// The place of the first entry that counts and is not below `value`, a multiple of 8 or all.
static inline int place_from(const std::int32_t* list, int entries, int value) {
  return list[1 + entries + (value + 7) / 8];
}

template <typename V, typename T>
static inline V load(const T* from) {
  V x;
  __builtin_memcpy(&x, from, sizeof x);
  return x;
}

template <typename V, typename T>
static inline void store(T* to, V x) {
  __builtin_memcpy(to, &x, sizeof x);
}

// The first `count` elements, all when count is larger; the others are zero.
template <typename V>
static inline V load_first(const float* from, int count) {
  constexpr int kSize = static_cast<int>(sizeof(V) / sizeof(float));
  float elements[kSize] = {};
  for (int i = 0; i < smaller(kSize, count); ++i) elements[i] = from[i];
  return load<V>(elements);
}
template <typename V>
static inline void store_first(float* to, V x, int count) {
  constexpr int kSize = static_cast<int>(sizeof(V) / sizeof(float));
  float elements[kSize];
  __builtin_memcpy(elements, &x, sizeof x);
  for (int i = 0; i < smaller(kSize, count); ++i) to[i] = elements[i];
}

template <typename V, typename T>
static inline V broadcast(T x) {
  return x - V{};
}

// Converts between floats and as many doubles.
template <typename To, typename V>
static inline To convert(V x) {
#if !defined(__clang__) && (defined(__AVX512F__) || defined(__AVX2__))
  // GCC 12 makes four instructions of the portable conversion; this is one.
#if defined(__AVX512F__)
  if constexpr (sizeof(V) == 32 && sizeof(To) == 64)
    return __builtin_ia32_cvtps2pd512_mask(x, To{}, static_cast<char>(-1), 4);
#else
  if constexpr (sizeof(V) == 16 && sizeof(To) == 32) return __builtin_ia32_cvtps2pd256(x);
#endif
  else
#endif
    return __builtin_convertvector(x, To);
}

// A pointer that compilers take as it is. GCC 12 takes it apart otherwise, and keeps a sum of the
// parts for each element that is read from it, in more registers than there are.
template <typename T>
static inline T* pinned(T* p) {
  __asm__("" : "+r"(p));
  return p;
}

// Converts `count` floats to doubles, in whole vectors: to convert and spread one at each use takes
// the place of two multiply-adds on some processors with AVX-512.
template <typename To, typename From>
static inline void widened_row(const float* from, int count, double* to) {
  constexpr int kLanes = static_cast<int>(sizeof(To) / sizeof(double));
  int i = 0;
  for (; i + kLanes <= count; i += kLanes) store(to + i, convert<To>(load<From>(from + i)));
  for (; i < count; ++i) to[i] = static_cast<double>(from[i]);
}

// Numbers that lie next to each other as doubles in `room`, where loads spread them over lanes:
// what spreads a register takes the place of a multiply-add on some processors with AVX-512, and on
// Zen 5 stores reach loads faster by another register than the stack pointer.
template <typename To, typename From, int kCount>
static inline const double* widened_tile(const float* from, double (&room)[kCount]) {
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

}  // namespace kernel
}  // namespace bf
