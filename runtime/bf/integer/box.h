#pragma once

#include "bf.h"
#include "bf/contract/integers.h"
#include "bf/integer/codes.h"

// The caller's floats without floating point: boxes to codes, codes to bounds. See
// docs/proofs/integer-grid.md.

namespace bf::integer {

constexpr std::uint32_t kInfinityBits = 0x7f800000u;

static inline std::uint32_t bits_of(const float* x) {
  std::uint32_t bits;
  __builtin_memcpy(&bits, x, sizeof bits);
  return bits;
}

// Rises with the float; both zeros have key 0. Not for NaN.
static inline std::int32_t key_of(std::uint32_t bits) {
  const auto magnitude = static_cast<std::int32_t>(bits & 0x7fffffffu);
  return (bits >> 31) != 0 ? -magnitude : magnitude;
}

// Checks what bf::check_box() checks, without floating point.
static inline bf_status check_box(const float* lower, const float* upper, int n) {
  bool empty = false;
  bool infinite = false;
  for (int i = 0; i < n; ++i) {
    const std::uint32_t low = bits_of(lower + i);
    const std::uint32_t high = bits_of(upper + i);
    const std::uint32_t low_magnitude = low & 0x7fffffffu;
    const std::uint32_t high_magnitude = high & 0x7fffffffu;
    if (low_magnitude > kInfinityBits || high_magnitude > kInfinityBits) return BF_NAN_INPUT;
    infinite = infinite || low_magnitude == kInfinityBits || high_magnitude == kInfinityBits;
    empty = empty || key_of(low) > key_of(high);
  }
  if (empty) return BF_EMPTY_BOX;
  return infinite ? BF_INFINITE_BOX : BF_OK;
}

// Checks what bf::check_workspace() checks, but the float environment: nothing depends on it.
static inline bf_status check_workspace(const void* workspace, std::size_t bytes,
                                        std::size_t needed, std::size_t align) {
  if (workspace == nullptr) return needed == 0 ? BF_OK : BF_NULL_ARGUMENT;
  if (bytes < needed) return BF_WORKSPACE_TOO_SMALL;
  return reinterpret_cast<std::uintptr_t>(workspace) % align == 0 ? BF_OK : BF_WORKSPACE_MISALIGNED;
}

// Index i, or what a table of indices has there.
struct Own {
  std::size_t operator[](int i) const { return static_cast<std::size_t>(i); }
};

// The first table for all elements.
struct First {
  std::size_t operator[](int) const { return 0; }
};

// codes_i = how many of the keys of element i's table are at most x's key. The tables follow each
// other, `keys` numbers each.
template <typename Source, typename Table>
static inline void quantize(const float* x, const Source& source, const std::int32_t* tables,
                            int keys, const Table& table, int n, Code* codes) {
  for (int i = 0; i < n; ++i)
    codes[i] = static_cast<Code>(count_up_to(tables + static_cast<std::size_t>(keys) * table[i],
                                             keys, key_of(bits_of(x + source[i]))));
}

// The bits of the outputs' bounds, [tables][256].
struct Bounds {
  const std::uint32_t* lower;
  const std::uint32_t* upper;
  bool falls;
};

template <typename Source, typename Table>
static inline void dequantize(const Code* lower, const Code* upper, const Source& source,
                              const Bounds* tables, const Table& table, int n, float* out_lower,
                              float* out_upper) {
  for (int i = 0; i < n; ++i) {
    const Bounds& bounds = tables[table[i]];
    const Code low = bounds.falls ? upper[source[i]] : lower[source[i]];
    const Code high = bounds.falls ? lower[source[i]] : upper[source[i]];
    __builtin_memcpy(out_lower + i, bounds.lower + low, sizeof(float));
    __builtin_memcpy(out_upper + i, bounds.upper + high, sizeof(float));
  }
}

}  // namespace bf::integer
