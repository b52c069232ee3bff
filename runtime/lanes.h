#pragma once

#include <cstdint>

#include "vectors.h"

#define BF_LANES __attribute__((always_inline)) static inline

namespace bf {

// Vectors of doubles, of as many floats, and of the integers that hold their bits, for kCount
// neurons or boxes side by side; and outward rounding on them.
template <int kCount>
struct Lanes {
  static constexpr int kLanes = lanes_of<double>(kCount);
  static constexpr int kVectors = kCount / kLanes;
  static_assert(kLanes > 1, "bf: lanes need vectors");
  using Doubles = typename VectorOf<double, kLanes>::type;
  using Floats = typename VectorOf<float, kLanes>::type;
  using Longs = typename VectorOf<std::int64_t, kLanes>::type;
  using Ints = typename VectorOf<std::int32_t, kLanes>::type;

  BF_LANES Doubles all(double x) { return x - Doubles{}; }
  BF_LANES Doubles wide(Floats x) { return __builtin_convertvector(x, Doubles); }
  BF_LANES Doubles wide(const float* from) { return wide(load_rows<Floats>(from)); }
  BF_LANES Doubles size(Doubles x) {
    const Longs bits = load_rows<Longs>(&x) & 0x7fffffffffffffff;
    return load_rows<Doubles>(&bits);
  }
  BF_LANES Doubles larger(Doubles a, Doubles b) { return a > b ? a : b; }
  BF_LANES bool any(Longs condition) {
    std::int64_t lanes[kLanes], some = 0;
    store_rows(lanes, condition);
    for (const std::int64_t lane : lanes) some |= lane;
    return some != 0;
  }

  // next_up of rounding.h: the same case distinction on the same integers.
  BF_LANES Doubles next_up(Doubles x) {
    constexpr std::int64_t kInfinite = 0x7ff0000000000000;
    const Longs bits = load_rows<Longs>(&x);
    const Longs magnitude = bits & 0x7fffffffffffffff;
    Longs next = bits + 1 + 2 * Longs(bits < 0);  // a true comparison is -1
    next = magnitude == 0 ? Longs{} + 1 : next;
    next = ((magnitude > kInfinite) | (bits == kInfinite)) ? Longs{} + kInfinite : next;
    return load_rows<Doubles>(&next);
  }
  BF_LANES Floats next_up(Floats x) {
    constexpr std::int32_t kInfinite = 0x7f800000;
    const Ints bits = load_rows<Ints>(&x);
    const Ints magnitude = bits & 0x7fffffff;
    Ints next = bits + 1 + 2 * Ints(bits < 0);
    next = magnitude == 0 ? Ints{} + 1 : next;
    next = ((magnitude > kInfinite) | (bits == kInfinite)) ? Ints{} + kInfinite : next;
    return load_rows<Floats>(&next);
  }
  BF_LANES Doubles add_up(Doubles a, Doubles b) {
    const Doubles sum = a + b;
    return sum == 0 ? sum : next_up(sum);
  }
  BF_LANES Doubles sub_up(Doubles a, Doubles b) { return add_up(a, -b); }
  BF_LANES Doubles add_down(Doubles a, Doubles b) {
    const Doubles sum = a + b;
    return sum == 0 ? sum : -next_up(-sum);
  }
  BF_LANES Doubles sub_down(Doubles a, Doubles b) { return add_down(a, -b); }
  BF_LANES Doubles mul_up(Doubles a, Doubles b) {
    const Doubles product = a * b;
    return ((product == 0) & ((a == 0) | (b == 0))) ? product : next_up(product);
  }
  BF_LANES Floats float_up(Doubles x) {
    const Floats nearest = __builtin_convertvector(x, Floats);
    const Ints up = __builtin_convertvector(wide(nearest) >= x, Ints);
    return up ? nearest : next_up(nearest);
  }
  BF_LANES Floats float_down(Doubles x) {
    const Floats nearest = __builtin_convertvector(x, Floats);
    const Ints down = __builtin_convertvector(wide(nearest) <= x, Ints);
    return down ? nearest : -next_up(-nearest);
  }
};

}  // namespace bf
