#pragma once

#include "bf/contract/integers.h"
#include "bf/core/vectors.h"

#define BF_LANES __attribute__((always_inline)) static inline

namespace bf {

// Lanes of doubles that a vector of neurons has; 1 where there are no vectors.
constexpr int kNeuronLanes = kVectorBytes >= 16 ? kVectorBytes / 8 : 1;

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
  BF_LANES Doubles wide(Floats x) { return convert_rows<Doubles, kLanes>(x); }
  BF_LANES Doubles wide(const float* from) { return wide(load_rows<Floats>(from)); }
  BF_LANES Doubles size(Doubles x) {
    const Longs bits = load_rows<Longs>(&x) & 0x7fffffffffffffff;
    return load_rows<Doubles>(&bits);
  }
  BF_LANES Doubles larger(Doubles a, Doubles b) { return a > b ? a : b; }
  BF_LANES bool any(Longs condition) {
#if defined(__AVX512F__)
    if constexpr (kLanes == 8) {
      using Named = typename VectorOf<long long, kLanes>::type;  // as the built-in function has it
      return __builtin_ia32_cmpq512_mask(load_rows<Named>(&condition), Named{}, kNotEqual,
                                         kEvery) != 0;
    }
#endif
    std::int64_t lanes[kLanes], some = 0;
    store_rows(lanes, condition);
    for (const std::int64_t lane : lanes) some |= lane;
    return some != 0;
  }

  // next_up of rounding.h, in fewer steps: the sum with 0 makes -0 to 0, a shifted sign is -1 or 0,
  // and neither +inf nor NaN is less than +inf.
  BF_LANES Doubles next_up(Doubles x) {
    return after(x + 0.0);
  }
  BF_LANES Floats next_up(Floats x) {
    const Floats least = x + 0.0f;
    const auto next = bits_after<Ints, std::uint32_t>(least);
    return least < __builtin_inff() ? load_rows<Floats>(&next) : Floats{} + __builtin_inff();
  }
  // next_up of all but -0.
  BF_LANES Doubles after(Doubles x) {
    const auto next = bits_after<Longs, std::uint64_t>(x);
    return x < __builtin_inf() ? load_rows<Doubles>(&next) : all(__builtin_inf());
  }
  BF_LANES Doubles add_up(Doubles a, Doubles b) {
    const Doubles sum = a + b;
    return sum == 0 ? sum : after(sum);
  }
  BF_LANES Doubles sub_up(Doubles a, Doubles b) {
    return add_up(a, -b);
  }
  BF_LANES Doubles add_down(Doubles a, Doubles b) {
    const Doubles sum = a + b;
    return sum == 0 ? sum : -after(-sum);
  }
  BF_LANES Doubles sub_down(Doubles a, Doubles b) {
    return add_down(a, -b);
  }
  // exact_sum_up of rounding.h.
  BF_LANES Doubles exact_sum_up(Doubles a, Doubles b) {
    const Doubles sum = a + b;
    const Doubles part = sum - a;
    const Doubles rest = (a - (sum - part)) + (b - part);
    return rest <= 0 ? sum : next_up(sum);
  }
  BF_LANES Doubles mul_up(Doubles a, Doubles b) {
    const Doubles product = a * b;
    return ((product == 0) & ((a == 0) | (b == 0))) ? product : next_up(product);
  }
  BF_LANES Floats float_up(Doubles x) {
#if defined(__AVX512F__)
    if constexpr (kLanes == 8) return rounded<kUpward>(x == x ? x : all(__builtin_inf()));
#endif
    const Floats nearest = nearest_floats<Floats>(x);
    const Ints up = __builtin_convertvector(wide(nearest) >= x, Ints);
    return up ? nearest : next_up(nearest);
  }
  BF_LANES Floats float_down(Doubles x) {
#if defined(__AVX512F__)
    if constexpr (kLanes == 8) return rounded<kDownward>(x == x ? x : all(-__builtin_inf()));
#endif
    const Floats nearest = nearest_floats<Floats>(x);
    const Ints down = __builtin_convertvector(wide(nearest) <= x, Ints);
    return down ? nearest : -next_up(-nearest);
  }

 private:
  // Bits of the next number above x. Those of -0 and NaN, which nobody uses, are made too: without
  // signs, whose overflow is undefined.
  template <typename Signed, typename Unsigned, typename Vector>
  BF_LANES typename VectorOf<Unsigned, kLanes>::type bits_after(Vector x) {
    using Bits = typename VectorOf<Unsigned, kLanes>::type;
    constexpr int kSign = 8 * sizeof(Unsigned) - 1;
    const Signed step = (load_rows<Signed>(&x) >> kSign) | 1;
    return load_rows<Bits>(&x) + load_rows<Bits>(&step);
  }

#if defined(__AVX512F__)
  // The instruction's own rounding: the least float that is at least x, the greatest that is at
  // most x; of no NaN. Flags stay as they are.
  static constexpr int kDownward = 9, kUpward = 10, kNotEqual = 4;
  static constexpr unsigned char kEvery = 0xff;
  template <int kRounding>
  BF_LANES Floats rounded(Doubles x) {
#if defined(__clang__)
    return __builtin_ia32_cvtpd2ps512_mask(x, Floats{}, kEvery, kRounding);
#else
    return __builtin_ia32_cvtpd2ps512_mask(x, Floats{}, static_cast<char>(kEvery), kRounding);
#endif
  }
#endif
};

// bind_box() of bounds.h, backward methods, on one vector.
template <int kCount>
BF_LANES void bind_lanes(const float* lower, const float* upper, double* centre, float* radius) {
  using L = Lanes<kCount>;
  const auto l = L::wide(lower), h = L::wide(upper);
  const auto reach = L::float_up(0.5 * L::exact_sum_up(h, -l));
  const auto r = L::wide(reach);
  store_rows(radius, reach);
  store_rows(centre, typename L::Doubles(h >= -l ? h - r : l + r));
}

}  // namespace bf
