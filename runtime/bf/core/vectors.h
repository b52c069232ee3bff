#pragma once

#include "bf/contract/integers.h"

// Vectors of the target's native width: lanes are rows, or output channels.

#define BF_RESTRICT __restrict
#if defined(__clang__)
#define BF_UNROLL_ROWS _Pragma("clang loop unroll(full)")
#else
#define BF_UNROLL_ROWS _Pragma("GCC unroll 16")
#endif

namespace bf {

#if defined(__AVX512F__)
constexpr int kVectorBytes = 64;
#elif defined(__AVX__)
constexpr int kVectorBytes = 32;
#elif defined(__SSE2__) || defined(__ARM_NEON)
constexpr int kVectorBytes = 16;
#else
constexpr int kVectorBytes = 4;
#endif

// Lanes of a native vector that divide the rows.
template <typename T>
constexpr int lanes_of(int rows) {
  int lanes =
      kVectorBytes > static_cast<int>(sizeof(T)) ? kVectorBytes / static_cast<int>(sizeof(T)) : 1;
  while (rows % lanes != 0) lanes /= 2;
  return lanes;
}

template <typename T, int kLanes>
struct VectorOf {
  typedef T type __attribute__((vector_size(kLanes * sizeof(T))));
};
template <typename T>
struct VectorOf<T, 1> {
  typedef T type;
};

// A vector where numbers of any type lie side by side, aligned as these are.
template <typename V>
struct __attribute__((packed, may_alias)) Placed {
  V value;
};

// Note [copies of constants]: vectors are no bytes.
template <typename V>
static inline V load_rows(const void* from) {
  if constexpr (sizeof(V) > 8) {
    return static_cast<const Placed<V>*>(from)->value;
  } else {
    V value;
    __builtin_memcpy(&value, from, sizeof value);
    return value;
  }
}

template <typename V>
static inline void store_rows(void* to, V value) {
  if constexpr (sizeof(V) > 8)
    static_cast<Placed<V>*>(to)->value = value;
  else
    __builtin_memcpy(to, &value, sizeof value);
}

// Registers that hold vectors, as constraints of GCC's assembler statements.
#if defined(__clang__)
#elif defined(__x86_64__)
#define BF_VECTOR_REGISTER "v"
#elif defined(__aarch64__)
#define BF_VECTOR_REGISTER "w"
#endif

// A vector that is made once and used often: GCC 12 would make it again for each product.
template <typename V>
__attribute__((always_inline)) static inline V made_once(V value) {
#if defined(BF_VECTOR_REGISTER)
  if constexpr (sizeof(V) >= 16 && sizeof(V) <= kVectorBytes)
    __asm__("" : "+" BF_VECTOR_REGISTER(value));
#endif
  return value;
}

template <typename V>
__attribute__((always_inline)) static inline V load_once(const void* from) {
  return made_once(load_rows<V>(from));
}

// A pointer that the compiler takes as it is, and does not know what it points to. Where pixels
// side by side read through taps side by side, GCC 12 keeps what the next tap reads again, in more
// registers than there are.
//
// Note [copies of constants]: for AVX-512, GCC 12 copies bytes in pieces of up to 64, and takes a
// piece of a constant, equal 8 bytes followed by zeros, for equal 8 bytes alone: a loop that copies
// a table {2, 2, 2, 2, 2, 2, 0, 0} that it knows writes eight times 2. Constants that are vectors
// it gets right. So tables that are copied unchanged are pinned, and vectors are loaded and stored
// as what they are, not by memcpy. tests/soundness/constants_test.cpp looks for other copies.
template <typename T>
__attribute__((always_inline)) static inline T* pinned(T* from) {
  __asm__("" : "+r"(from));
  return from;
}

// A vector of floats as one of `To`, of as many lanes.
template <typename To, int kLanes>
static inline To convert_rows(typename VectorOf<float, kLanes>::type value) {
  if constexpr (kLanes == 1) return static_cast<To>(value);
#if defined(__AVX512F__) && !defined(__clang__)
  // GCC 12 converts the halves apart and joins them.
  else if constexpr (sizeof(To) == 64 && kLanes == 8)
    return __builtin_ia32_cvtps2pd512_mask(value, To{}, -1, 4);  // exact
#endif
  else
    return __builtin_convertvector(value, To);
}

template <typename T>
struct BitsOf;
template <>
struct BitsOf<float> {
  using type = std::uint32_t;
};
template <>
struct BitsOf<double> {
  using type = std::uint64_t;
};

// |value| of a number T, or of a vector of them: without the signs.
template <typename T, typename Vector>
static inline Vector magnitude(Vector value) {
  if constexpr (sizeof(Vector) > sizeof(T)) {
    using Bits = typename BitsOf<T>::type;
    typename VectorOf<Bits, sizeof(Vector) / sizeof(T)>::type bits;
    __builtin_memcpy(&bits, &value, sizeof bits);
    bits &= static_cast<Bits>(-1) >> 1;
    __builtin_memcpy(&value, &bits, sizeof value);
    return value;
  } else if constexpr (sizeof(T) == sizeof(float)) {
    return __builtin_fabsf(value);
  } else {
    return __builtin_fabs(value);
  }
}

// Doubles rounded to the nearest floats, as many. Note [pairs of floats] in rounding.h.
template <typename Floats, typename Doubles>
__attribute__((always_inline)) static inline Floats nearest_floats(Doubles x) {
  Floats nearest = __builtin_convertvector(x, Floats);
#if defined(BF_VECTOR_REGISTER)
  if constexpr (sizeof(Floats) >= 8 && sizeof(Floats) <= kVectorBytes)
    __asm__("" : "+" BF_VECTOR_REGISTER(nearest));
#endif
  return nearest;
}

template <int kValue>
struct Count {
  static constexpr int value = kValue;
};

// A vector of sums as floats, to nearest.
template <typename Floats, int kLanes, typename Vector>
static inline Floats narrow_rows(Vector sum) {
  if constexpr (kLanes == 1)
    return static_cast<Floats>(sum);
  else
    return __builtin_convertvector(sum, Floats);
}

}  // namespace bf
