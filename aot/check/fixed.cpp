#include "aot/check/fixed.h"

#include <algorithm>
#include <array>

namespace bf_check {
namespace {

__extension__ typedef unsigned __int128 u128;
static_assert(GMP_LIMB_BITS == 64);

constexpr unsigned kMostTerms = 32;
using Series = std::array<i128, kMostTerms>;

constexpr i128 fine(u64 high, u64 low) {
  return static_cast<i128>(static_cast<u128>(high) << 64 | low);
}
// floor(2^112 x) for x = log 2, pi / 2 and 2 / sqrt(pi).
constexpr i128 kLog2 = fine(0xb17217f7d1cf, 0x79abc9e3b39803f2);
constexpr i128 kHalfPi = fine(0x1921fb54442d1, 0x8469898cc51701b8);
constexpr i128 kTwoOverRootPi = fine(0x120dd750429b6, 0xd11ae3a914fed7fd);
constexpr i128 kFiner = static_cast<i128>(1) << (kFine - kPlaces);
constexpr i128 kFineOne = static_cast<i128>(1) << kFine;

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

// floor(2^112 / (2 k + 1)), and floor(2^112 / (step k + first)!) for first <= 1.
Series inverse_odds() {
  Series c;
  for (unsigned k = 0; k < kMostTerms; ++k) c[k] = kFineOne / (2 * k + 1);
  return c;
}
Series inverse_factorials(unsigned step, unsigned first) {
  Series c;
  i128 number = kFineOne;
  for (unsigned k = 0, n = 0; k < kMostTerms; ++k) {
    for (; n < step * k + first; ++n) number /= n + 1;
    c[k] = number;
  }
  return c;
}

// floor(sqrt(x 2^shift)).
i128 root(i128 x, unsigned shift, bool* rest = nullptr) {
  const u128 low = size_of(x) << shift, high = size_of(x) >> (128 - shift);
  const mp_limb_t square[4] = {static_cast<u64>(low), static_cast<u64>(low >> 64),
                               static_cast<u64>(high), static_cast<u64>(high >> 64)};
  mp_limb_t result[2] = {0, 0}, left[4];
  mp_size_t size = 4;
  while (size > 0 && square[size - 1] == 0) --size;
  const bool rough = size > 0 && mpn_sqrtrem(result, left, square, size) != 0;
  if (rest != nullptr) *rest = rough;
  return static_cast<i128>(static_cast<u128>(result[1]) << 64 | result[0]);
}

// An integer near x / (pi / 2), for |x| <= 2^14.
i64 quarters_in(i128 x) {
  constexpr i64 kStep = static_cast<i64>(kHalfPi >> 66), kAll = 1 << 14;  // in 2^-46
  return (static_cast<i64>(x >> 34) + kStep / 2 + kAll * kStep) / kStep - kAll;
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

Range narrowed(const Range& fine) {
  constexpr int kBy = kFine - kPlaces;
  return {shifted(fine.low, kBy), -shifted(-fine.high, kBy)};
}

// Errors below are in 2^-112. A coefficient and a product lose less than 1 each, so a series in t
// loses less than 2 / (1 - |t|), besides what is cut off.
//
// With x = n log 2 + r, |n| <= 94 and |r| < 0.36, r is off by 94 at most, and so e^r by 135. The
// series loses 4, and what is behind r^24 is less than 1.
Power power_of_e(i128 x) {
  static const Series c = inverse_factorials(1, 0);
  constexpr i64 kStep = static_cast<i64>(kLog2 >> 62);  // in 2^-50
  const i64 n = (static_cast<i64>(x >> 30) + kStep / 2 + 100 * kStep) / kStep - 100;
  const i128 sum = sum_of(c, 25, x * kFiner - n * kLog2);
  return {sum - 160, sum + 160, static_cast<int>(n)};
}

// With x = n pi / 2 + r, |n| < 2^14 and |r| < 0.79, r is off by 2^14 at most, and so its sine and
// cosine. The series in r^2 loses 8, and what is behind 15 terms is less than 1.
Range sine(i128 x, i64 quarters) {
  static const Series of_sine = inverse_factorials(2, 1), of_cosine = inverse_factorials(2, 0);
  const i64 n = quarters_in(x), place = n + quarters;
  const i128 r = x * kFiner - n * kHalfPi;
  const bool odd = (place & 1) != 0;
  i128 value = sum_of(odd ? of_cosine : of_sine, 15, -product(r, r, kFine));
  if (!odd) value = product(value, r, kFine);
  if ((place & 2) != 0) value = -value;
  constexpr i128 kError = (1 << 14) + 16;
  return {std::max(value - kError, -kFineOne), std::min(value + kError, kFineOne)};
}

// Beyond 64 e^-x is between 0 and 2^-80.
Range exponential(i128 x) {
  if (x < -64 * kOne) return {0, 1};
  const Power e = power_of_e(std::min(x, 64 * kOne));
  const int by = static_cast<int>(kFine - kPlaces) - e.power;
  return {shifted(e.low, by), -shifted(-e.high, by)};
}

// With x = c 2^n (1 + s) / (1 - s), |s| < 0.172, log x = n log 2 + 2 (s + s^3 / 3 + ..), |n| <= 81.
// The digits of x that are cut are 1, s is off by 1 and so its double by 3; the series loses 3,
// what is behind 23 terms is less than 1, and n log 2 is off by 81.
Range logarithm(i128 x) {
  static const Series c = inverse_odds();
  if (x <= 0) throw NotProven("a function has no value");
  int length = 0;
  while (x >> length != 0) ++length;
  const i128 m = shifted(x, length - static_cast<int>(kFine) - 1);
  const bool upper = m > kFineOne / 128 * 181;
  const i128 one = upper ? 2 * kFineOne : kFineOne;
  const i128 s = quotient(m - one, m + one, kFine);
  const i128 sum = 2 * product(s, sum_of(c, 23, product(s, s, kFine)), kFine);
  const int n = length - 1 - static_cast<int>(kPlaces) + (upper ? 1 : 0);
  return {sum + n * kLog2 - 96, sum + n * kLog2 + 96};
}

Range square_root(i128 x) {
  if (x < 0) throw NotProven("a function has no value");
  bool rest = false;
  const i128 low = root(x, kPlaces, &rest);
  return {low, low + (rest ? 1 : 0)};
}

// atan(1 / x) = pi / 2 - atan x, and atan t = 2 atan(t / (1 + sqrt(1 + t^2))), twice: |t| < 0.2.
// Each step halves the error of t and adds 1.4, so that it is 1, then 1.9 and 2.4. The series loses
// 2, what is behind 25 terms is less than 1; four times all that, and 1 of pi / 2, is below 24.
Range arctangent(i128 x) {
  static const Series c = inverse_odds();
  if (x < 0) return -arctangent(-x);
  i128 t = x > kOne ? quotient(kOne, x, kFine) : x * kFiner;
  for (int i = 0; i < 2; ++i)
    t = quotient(t, kFineOne + root(kFineOne + product(t, t, kFine), kFine), kFine);
  const i128 value = 4 * product(t, sum_of(c, 25, -product(t, t, kFine)), kFine);
  const i128 whole = x > kOne ? kHalfPi - value : value;
  return {whole - 24, whole + 24};
}

// erf x = 2 / sqrt(pi) e^(-x^2) x S, S = 1 + u / 3 + u^2 / (3 5) + .., u = 2 x^2; for 0 <= x <= 6,
// and beyond it is between erf 6 and 1. Of K < 256 terms each loses less than 2 in 2^-72 besides
// what the one before lost times u / (2 k + 1); so all lose less than 2 K S. The first that is 0
// here is less than that, and those behind it halve at least. So S is off by less than 2^-60 of
// itself, with what is cut of u.
Range error_function(i128 x) {
  constexpr unsigned kSum = 72;  // places of the sum, which is below 2^50
  if (x < 0) return -error_function(-x);
  if (x > 6 * kOne) return {error_function(6 * kOne).low, kOne};
  const i128 u = product(x, x, kPlaces - 1);
  i128 term = static_cast<i128>(1) << kSum, sum = 0;
  for (unsigned k = 1; term > 0; ++k) {
    sum += term;
    term = product(term, u) / (2 * k + 1);
  }
  const Power e = power_of_e(-(u >> 1));
  const auto times = [&](i128 by, i128 exponential, i128 scale) {
    return product(product(product(by, exponential, kFine), x), scale, kFine);
  };
  const int by = -static_cast<int>(kPlaces - kSum) - e.power;
  const i128 low = times(sum, e.low - (e.low >> kPlaces) - 1, kTwoOverRootPi);
  const i128 high = times(sum + (sum >> 60) + 1, e.high, kTwoOverRootPi + 1) + 16;
  return {shifted(low, by), std::min(-shifted(-high, by), kOne)};
}

// With e = e^-|x|, s(|x|) = 1 / (1 + e), and s(-x) = 1 - s(x).
Range sigmoid(i128 x) {
  const Range e = exponential(x < 0 ? x : -x);
  const Range s = {quotient(kOne, kOne + e.high), -quotient(-kOne, kOne + e.low)};
  return x >= 0 ? s : Range{kOne - s.high, kOne - s.low};
}

// The extremes are at the multiples of pi / 2 that may lie in x.
Range sine(const Range& x, i64 quarters) {
  constexpr i128 kFar = kOne << 14;
  if (x.low < -kFar || x.high > kFar || x.high - x.low > 7 * kOne) return {-kOne, kOne};
  Range all = narrowed(hull(sine(x.low, quarters), sine(x.high, quarters)));
  for (i64 n = quarters_in(x.low) - 1; n <= quarters_in(x.high) + 1; ++n) {
    const i128 place = n * kHalfPi, error = n < 0 ? -n : n;
    if (place + error < x.low * kFiner || place - error > x.high * kFiner) continue;
    if (((n + quarters) & 3) == 1) all.high = kOne;
    if (((n + quarters) & 3) == 3) all.low = -kOne;
  }
  return all;
}

Range bell(const Range& x) {
  const Range square = squared(x), scale = narrowed({kTwoOverRootPi, kTwoOverRootPi + 1});
  return scale * Range{exponential(-square.high).low, exponential(-square.low).high};
}

Range reciprocal(const Range& x) {
  if (x.low <= 0 && x.high >= 0) throw NotProven("a function has no value on all of a part");
  return {reciprocal(x.high).low, reciprocal(x.low).high};
}

}  // namespace bf_check
