#pragma once

#include "bf/contract/integers.h"
#include "bf/core/rounding.h"

// Arguments of functions of period 2 pi, less a multiple of it.

namespace bf {

// Wider intervals, a few periods, are not reduced.
constexpr double kWidestWave = 40;
constexpr double kAngleError = 0x1p-49;

// 1 / (2 pi) in binary: the bits after the point, in 32 at a time, behind 64 zeros.
constexpr std::uint32_t kTurnBits[38] = {
    0x00000000u, 0x00000000u, 0x28be60dbu, 0x9391054au, 0x7f09d5f4u, 0x7d4d3770u, 0x36d8a566u,
    0x4f10e410u, 0x7f9458eau, 0xf7aef158u, 0x6dc91b8eu, 0x909374b8u, 0x01924bbau, 0x82746487u,
    0x3f877ac7u, 0x2c4a69cfu, 0xba208d7du, 0x4baed121u, 0x3a671c09u, 0xad17df90u, 0x4e64758eu,
    0x60d4ce7du, 0x272117e2u, 0xef7e4a0eu, 0xc7fe25ffu, 0xf7816603u, 0xfbcbc462u, 0xd6829b47u,
    0xdb4d9fb3u, 0xc9f2c26du, 0xd3d18fd9u, 0xa797fa8bu, 0x5d49eeb1u, 0xfaf97c5eu, 0xcf41ce7du,
    0xe294a4bau, 0x9afed7ecu, 0x47e35742u,
};

// 32 bits of kTurnBits, from bit `first` on.
static inline std::uint32_t turn_bits(int first) {
  const int word = first / 32;
  const int shift = first % 32;
  const std::uint64_t both = (std::uint64_t{kTurnBits[word]} << 32) | kTurnBits[word + 1];
  return static_cast<std::uint32_t>(both >> (32 - shift));
}

// 2^64 times the fractional part of m 2^e / (2 pi), rounded down to an integer or the one below;
// 0 <= m < 2^53, -64 <= e <= 971.
//
// Proof. A bit of 1 / (2 pi) that is worth 2^-p with p <= e gives an integer, which is left out.
// The next 128 bits are a number A 2^-128, and those behind them add less than m 2^-128 < 2^-75.
// The product m A is made modulo 2^128, 32 bits at a time from the least on: no sum of halves of
// products and a carry leaves 64 bits. Its leading half is the result: what it lacks, 2^-64 and
// 2^-75, is less than 2^-63.
static inline std::uint64_t fraction_of_turns(std::uint64_t m, int e) {
  constexpr std::uint64_t kHalf = 0xffffffffu;
  const std::uint64_t m_low = m & kHalf;
  const std::uint64_t m_high = m >> 32;
  std::uint64_t carry = 0;
  std::uint64_t before = 0;  // the word of A behind this one
  std::uint64_t made = 0;
  for (int i = 3; i >= 0; --i) {
    const std::uint64_t word = turn_bits(e + 64 + 32 * i);
    const std::uint64_t first = m_low * word;
    const std::uint64_t second = m_high * before;
    const std::uint64_t sum = carry + (first & kHalf) + (second & kHalf);
    made = (made >> 32) | (sum << 32);
    carry = (sum >> 32) + (first >> 32) + (second >> 32);
    before = word;
  }
  return made;
}

// x - 2 pi n for an integer n, up to kAngleError, between -3.15 and 3.15. x is finite, |x| >= 1.
//
// Proof. x = m 2^e, m < 2^53 and -52 <= e <= 971. The fraction misses less than 2^-63 turns; read
// as a signed number it is less an integer, and at most 1/2 in magnitude. Its conversion, the
// constant and the product take a rounding each: 3 2^-53 pi and 2 pi 2^-63 are less than 2^-49.
static inline double wave_angle(double x) {
  std::uint64_t bits;
  __builtin_memcpy(&bits, &x, sizeof bits);
  const int e = static_cast<int>((bits >> 52) & 0x7ff) - 1075;
  const std::uint64_t m = (bits & 0xfffffffffffffu) | 0x10000000000000u;
  const std::uint64_t fraction = fraction_of_turns(m, e);
  const bool over_half = (fraction >> 63) != 0;
  const std::uint64_t size = over_half ? ~fraction + 1 : fraction;
  const double angle = static_cast<double>(size) * (0x1.921fb54442d18p+2 * 0x1p-64);
  return (x < 0) == over_half ? angle : -angle;
}

}  // namespace bf
