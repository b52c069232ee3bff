#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

namespace bf_aot {

// IEEE 754 binary16, exactly.
inline double float16_to_double(std::uint16_t bits) {
  return Eigen::half_impl::half_to_float(Eigen::half_impl::raw_uint16_to_half(bits));
}

// bfloat16, the upper half of a binary32, exactly.
inline double bfloat16_to_double(std::uint16_t bits) {
  return Eigen::bfloat16_impl::bfloat16_to_float(
      Eigen::bfloat16_impl::raw_uint16_to_bfloat16(bits));
}

// A float of 8 bits with so many of its mantissa, exactly. Its exponents are less `bias`.
struct Float8Format {
  int mantissa_bits = 3;
  int bias = 7;
  enum class Special : std::uint8_t {
    kIeee,      // the largest exponent has infinities and NaN
    kLargest,   // the largest number of either sign is NaN
    kNegative,  // minus zero is NaN
  };
  Special special = Special::kLargest;
};

inline double float8_to_double(std::uint8_t bits, const Float8Format& format) {
  const int exponents = 1 << (7 - format.mantissa_bits);
  const int ones = (1 << format.mantissa_bits) - 1;
  const int mantissa = bits & ones;
  const int exponent = (bits & 0x7F) >> format.mantissa_bits;
  const double sign = bits >= 0x80 ? -1 : 1;
  using Special = Float8Format::Special;
  const bool nan = (format.special == Special::kNegative && bits == 0x80) ||
                   (format.special == Special::kLargest && (bits & 0x7F) == 0x7F);
  if (nan) return std::numeric_limits<double>::quiet_NaN();
  if (format.special == Special::kIeee && exponent == exponents - 1)
    return mantissa == 0 ? sign * std::numeric_limits<double>::infinity()
                         : std::numeric_limits<double>::quiet_NaN();
  const int digits = exponent == 0 ? mantissa : mantissa + ones + 1;
  return sign * std::ldexp(digits, std::max(exponent, 1) - format.bias - format.mantissa_bits);
}

// FLOAT4E2M1: a sign, two bits of the exponent and one of the mantissa, without special numbers.
inline double float4_to_double(std::uint8_t bits) {
  constexpr double kMagnitudes[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
  return (bits & 8) != 0 ? -kMagnitudes[bits & 7] : kMagnitudes[bits & 7];
}

// A power of two, FLOAT8E8M0, exactly.
inline double float8_power_to_double(std::uint8_t bits) {
  return bits == 0xFF ? std::numeric_limits<double>::quiet_NaN() : std::ldexp(1.0, bits - 127);
}

}  // namespace bf_aot
