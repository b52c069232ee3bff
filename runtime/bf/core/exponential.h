#pragma once

#include "bf/core/lanes.h"
#include "bf/core/rounding.h"

// Exponentials and logarithms in double with proven errors, for layers that are made of both. Other
// functions have tables. Proof: docs/proofs/log-softmax.md, "Exponentials and logarithms".

namespace bf {

// near() and log_near() miss at most so much, relative to their results.
constexpr double kExponentialError = 0x1p-47;

// near() takes |x| up to this.
constexpr double kMostExponent = 690;

// Numbers side by side, kLanes > 1, or one; with the outward rounding of both.
template <int kLanes>
struct Powers {
  using Doubles = typename VectorOf<double, kLanes>::type;

  BF_LANES Doubles all(double x) { return x - Doubles{}; }

  BF_LANES Doubles add_up(Doubles a, Doubles b) {
    if constexpr (kLanes > 1)
      return Lanes<kLanes>::add_up(a, b);
    else
      return bf::add_up(a, b);
  }
  BF_LANES Doubles add_down(Doubles a, Doubles b) { return -add_up(-a, -b); }
  BF_LANES Doubles sub_up(Doubles a, Doubles b) { return add_up(a, -b); }
  BF_LANES Doubles sub_down(Doubles a, Doubles b) { return add_down(a, -b); }
  BF_LANES Doubles mul_up(Doubles a, Doubles b) {
    if constexpr (kLanes > 1)
      return Lanes<kLanes>::mul_up(a, b);
    else
      return bf::mul_up(a, b);
  }
  BF_LANES Doubles mul_down(Doubles a, Doubles b) { return -mul_up(-a, b); }
  BF_LANES Doubles larger(Doubles a, Doubles b) { return a > b ? a : b; }

  // e^x up to kExponentialError, |x| <= kMostExponent.
  BF_LANES Doubles near(Doubles x) {
    constexpr double kPerLog2 = 1.4426950408889634;
    // ln 2 in two parts, the first of 32 bits: its products with k are exact.
    constexpr double kHigh = 0x1.62e42feep-1, kLow = 0x1.a39ef35793c76p-33;
    constexpr double kUnits = 0x1.8p52;  // sums with it end in an integer k
    const Doubles rounded = x * kPerLog2 + kUnits;
    const Doubles count = rounded - kUnits;
    const Doubles r = (x - count * kHigh) - count * kLow;
    Doubles sum = all(1.0 / 6227020800);  // 1 / 13!
    constexpr double kInverse[] = {1.0 / 479001600,
                                   1.0 / 39916800,
                                   1.0 / 3628800,
                                   1.0 / 362880,
                                   1.0 / 40320,
                                   1.0 / 5040,
                                   1.0 / 720,
                                   1.0 / 120,
                                   1.0 / 24,
                                   1.0 / 6,
                                   0.5,
                                   1,
                                   1};
    BF_UNROLL_ROWS for (const double inverse : kInverse) sum = sum * r + inverse;
    const auto bits = (load_rows<Bits>(&rounded) + 1023) << 52;
    return sum * load_rows<Doubles>(&bits);
  }

  // Bounds of e^x, x <= kMostExponent; of 0 they are 1. Far below zero they are 0 and 2^-990.
  BF_LANES Doubles up(Doubles x) {
    const Doubles made = near(x < -kMostExponent ? all(-kMostExponent) : x);
    const Doubles outward = x == 0 ? all(1) : made * (1 + 2 * kExponentialError);
    return x < -kMostExponent ? all(0x1p-990) : outward;
  }
  BF_LANES Doubles down(Doubles x) {
    const Doubles made = near(x < -kMostExponent ? all(-kMostExponent) : x);
    const Doubles inward = x == 0 ? all(1) : made * (1 - 2 * kExponentialError);
    return x < -kMostExponent ? all(0) : inward;
  }

  // ln x up to kExponentialError, x > 0 finite and normal; ln 1 is 0.
  BF_LANES Doubles log_near(Doubles x) {
    constexpr double kLog2 = 0.6931471805599453, kRoot = 1.4142135623730951;
    constexpr std::uint64_t kInteger = 0x4330000000000000;  // the bits of 2^52
    const Bits bits = load_rows<Bits>(&x);
    const Bits of_exponent = (bits >> 52) | kInteger;
    const Bits of_mantissa = (bits & 0xfffffffffffff) | (std::uint64_t{1023} << 52);
    Doubles exponent = load_rows<Doubles>(&of_exponent) - (0x1p52 + 1023);
    Doubles m = load_rows<Doubles>(&of_mantissa);
    exponent = m > kRoot ? exponent + 1 : exponent;
    m = m > kRoot ? m * 0.5 : m;
    const Doubles f = (m - 1) / (m + 1);
    const Doubles s = f * f;
    constexpr double kInverse[] = {1.0 / 19, 1.0 / 17, 1.0 / 15, 1.0 / 13, 1.0 / 11,
                                   1.0 / 9,  1.0 / 7,  1.0 / 5,  1.0 / 3,  1};
    Doubles sum = all(1.0 / 21);
    BF_UNROLL_ROWS for (const double inverse : kInverse) sum = sum * s + inverse;
    return exponent * kLog2 + 2 * f * sum;
  }

  // Bounds of ln x, x > 0 finite and normal.
  BF_LANES Doubles log_up(Doubles x) {
    const Doubles y = log_near(x);
    return y + size(y) * (2 * kExponentialError);
  }
  BF_LANES Doubles log_down(Doubles x) {
    const Doubles y = log_near(x);
    return y - size(y) * (2 * kExponentialError);
  }

 private:
  using Bits = typename VectorOf<std::uint64_t, kLanes>::type;
  BF_LANES Doubles size(Doubles x) { return x < 0 ? -x : x; }
};

}  // namespace bf
