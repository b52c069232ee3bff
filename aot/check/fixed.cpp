#include "aot/check/fixed.h"

#include <algorithm>
#include <array>

namespace bf_check {
namespace {

__extension__ typedef unsigned __int128 u128;
static_assert(GMP_LIMB_BITS == 64);

constexpr unsigned kFine = 112;  // places of reduced arguments, and of series
constexpr unsigned kMostTerms = 32;
using Series = std::array<i128, kMostTerms>;

constexpr i128 fine(u64 high, u64 low) {
  return static_cast<i128>(static_cast<u128>(high) << 64 | low);
}
constexpr i128 kLog2 = fine(0xb17217f7d1cf, 0x79abc9e3b39803f2);  // floor(2^112 log 2)

u128 size_of(i128 x) {
  return x < 0 ? -static_cast<u128>(x) : static_cast<u128>(x);
}

// The number of this size and sign, where it was rounded down and `rest` was left.
i128 floored(u128 size, bool rest, bool negative) {
  const i128 x = in_fixed(static_cast<i128>(size));
  return negative ? -x - (rest ? 1 : 0) : x;
}

// floor(x / 2^by) or x 2^-by.
i128 shifted(i128 x, int by) {
  if (by >= 0) return by > 126 ? (x < 0 ? -1 : 0) : x >> by;
  if (size_of(x) >> (126 + by) != 0) in_fixed(static_cast<i128>(1) << 126);
  return x * (static_cast<i128>(1) << -by);
}

// The sum of c[k] x^k for k < count, in 2^-112.
i128 sum_of(const Series& c, unsigned count, i128 x) {
  i128 sum = c[count - 1];
  for (unsigned k = count - 1; k > 0; --k) sum = c[k - 1] + product(sum, x, kFine);
  return sum;
}

// floor(2^112 / k!).
Series inverse_factorials() {
  Series c;
  c[0] = static_cast<i128>(1) << kFine;
  for (unsigned k = 1; k < kMostTerms; ++k) c[k] = c[k - 1] / k;
  return c;
}

// A number between low and high times 2^(power - 112).
struct Scaled {
  i128 low, high;
  int power;
};

// e^x for |x| <= 64. With x = n log 2 + r, |r| < 0.36, the series of e^r is cut behind r^24.
Scaled power_of_e(i128 x) {
  static const Series c = inverse_factorials();
  constexpr i64 kStep = static_cast<i64>(kLog2 >> 62);  // in 2^-50
  const i64 n = (static_cast<i64>(x >> 30) + kStep / 2 + 100 * kStep) / kStep - 100;
  const i128 r = x * (static_cast<i128>(1) << (kFine - kPlaces)) - n * kLog2;
  const i128 sum = sum_of(c, 25, r);
  return {sum - 160, sum + 160, static_cast<int>(n)};
}

}  // namespace

i128 in_fixed(i128 x) {
  if (size_of(x) >> 126 != 0)
    throw NotProven("a function's numbers are beyond the checker's range");
  return x;
}

i128 product(i128 a, i128 b, unsigned shift) {
  const u128 x = size_of(a), y = size_of(b);
  const u64 x0 = static_cast<u64>(x), x1 = static_cast<u64>(x >> 64);
  const u64 y0 = static_cast<u64>(y), y1 = static_cast<u64>(y >> 64);
  const u128 lowest = static_cast<u128>(x0) * y0;
  const u128 first = static_cast<u128>(x0) * y1, second = static_cast<u128>(x1) * y0;
  const u128 middle = (lowest >> 64) + static_cast<u64>(first) + static_cast<u64>(second);
  const u128 high = static_cast<u128>(x1) * y1 + (first >> 64) + (second >> 64) + (middle >> 64);
  const u128 low = middle << 64 | static_cast<u64>(lowest);
  if (high >> (shift - 2) != 0) in_fixed(static_cast<i128>(1) << 126);
  return floored(high << (128 - shift) | low >> shift, low << (128 - shift) != 0,
                 (a < 0) != (b < 0));
}

i128 quotient(i128 a, i128 b, unsigned shift) {
  const u128 x = size_of(a), low = x << shift, high = x >> (128 - shift);
  const u128 by = static_cast<u128>(b);
  const mp_limb_t above[4] = {static_cast<u64>(low), static_cast<u64>(low >> 64),
                              static_cast<u64>(high), static_cast<u64>(high >> 64)};
  const mp_limb_t below[2] = {static_cast<u64>(by), static_cast<u64>(by >> 64)};
  mp_limb_t whole[4] = {0, 0, 0, 0}, rest[2] = {0, 0};
  mpn_tdiv_qr(whole, rest, 0, above, 4, below, below[1] != 0 ? 2 : 1);
  if ((whole[2] | whole[3]) != 0) in_fixed(static_cast<i128>(1) << 126);
  return floored(static_cast<u128>(whole[1]) << 64 | whole[0], (rest[0] | rest[1]) != 0, a < 0);
}

Range fixed(const Rat& x) {
  bool rough = false;
  const Int down = floor_shifted(x, kPlaces, &rough);
  const i128 low = to_i128(down, 126, "a constant of the network");
  return {low, low + (rough ? 1 : 0)};
}

Range operator-(const Range& x) {
  return {-x.high, -x.low};
}

Range operator+(const Range& x, const Range& y) {
  return {in_fixed(x.low + y.low), in_fixed(x.high + y.high)};
}

Range operator*(const Range& x, const Range& y) {
  Range all{product(x.low, y.low), -product(-x.low, y.low)};
  const auto add = [&](i128 a, i128 b) {
    all.low = std::min(all.low, product(a, b));
    all.high = std::max(all.high, -product(-a, b));
  };
  if (x.low != x.high) add(x.high, y.low);
  if (y.low != y.high) add(x.low, y.high), add(x.high, y.high);
  return all;
}

Range hull(const Range& x, const Range& y) {
  return {std::min(x.low, y.low), std::max(x.high, y.high)};
}

Range squared(const Range& x) {
  const Range all = x * x;
  return {std::max<i128>(all.low, 0), all.high};
}

Range reciprocal(i128 x) {
  if (x == 0) throw NotProven("a function has no value");
  if (x < 0) return -reciprocal(-x);
  return {quotient(kOne, x), -quotient(-kOne, x)};
}

// Beyond 64 e^-x is between 0 and 2^-80.
Range exponential(i128 x) {
  if (x < -64 * kOne) return {0, 1};
  const Scaled e = power_of_e(std::min(x, 64 * kOne));
  const int by = static_cast<int>(kFine - kPlaces) - e.power;
  return {shifted(e.low, by), -shifted(-e.high, by)};
}

// With e = e^-|x|, s(|x|) = 1 / (1 + e), and s(-x) = 1 - s(x).
Range sigmoid(i128 x) {
  const Range e = exponential(x < 0 ? x : -x);
  const Range s = {quotient(kOne, kOne + e.high), -quotient(-kOne, kOne + e.low)};
  return x >= 0 ? s : Range{kOne - s.high, kOne - s.low};
}

}  // namespace bf_check
