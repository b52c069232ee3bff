#pragma once

// sin, cos and e^x of doubles with proven errors, for where values of a correctly rounded library
// would take most of the time. All sums and products are rounded to nearest, one after the other.

namespace bf_aot::reach {

// For |x| <= kMostWave: |computed - exact| <= kWaveError.
//
// Let k be the integer next to 2 x / pi, and P1 + P2 + P3 = pi / 2 - 1.1e-37 with P1 and P2 of 33
// bits. k < 2^16, so that k P1 and k P2 are exact, as is x - k P1 (both are within a factor 2, or k
// is 0). The two subtractions that follow round numbers below 0.8, and k P3 < 2^-52: so |r - (x - k
// pi / 2)| < 2^-52, and |r| < 0.7855. Taylor's polynomials of degree 17 and 16 are off by less than
// 2^-58. What their evaluation rounds is less than 4 times 2^-53: the last sum has a result of at
// most 1, and what it adds to r, or to 1, is below 0.31 and off by less than 4 times 2^-53 of that.
constexpr double kMostWave = 1e5;
constexpr double kWaveError = 0x1p-50;
double sine(double x);
double cosine(double x);

// For |x| <= kMostPower: |computed - e^x| <= kPowerError e^x.
//
// k is the integer next to x / ln 2, L1 + L2 = ln 2 - 1.2e-26 with L1 of 32 bits: r = x - k L1 - k
// L2 is off by less than 2^-53, and |r| < 0.3467. The polynomial of degree 14 is off by less than
// 2^-62 and rounds less than 4 times 2^-53 of its value; the scaling by 2^k is exact.
constexpr double kMostPower = 700;
constexpr double kPowerError = 0x1p-49;
double power_of_e(double x);

}  // namespace bf_aot::reach
