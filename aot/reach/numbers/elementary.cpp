#include "aot/reach/numbers/elementary.h"

#include <cmath>

namespace bf_aot::reach {
namespace {

struct Reduced {
  double r;
  long quarter;
};

Reduced reduced(double x) {
  const double k = std::nearbyint(x * 0x1.45f306dc9c883p-1);
  const double r =
      ((x - k * 0x1.921fb54400000p+0) - k * 0x1.0b4611a600000p-34) - k * 0x1.3198a2e037073p-69;
  return {r, static_cast<long>(k) & 3};
}

// (-1)^i / (2 i + 1)! and (-1)^i / (2 i)! for i = 1 .. 8, to nearest.
constexpr double kOdd[] = {-0x1.5555555555555p-3,  0x1.1111111111111p-7,   -0x1.a01a01a01a01ap-13,
                           0x1.71de3a556c734p-19,  -0x1.ae64567f544e4p-26, 0x1.6124613a86d09p-33,
                           -0x1.ae7f3e733b81fp-41, 0x1.952c77030ad4ap-49};
constexpr double kEven[] = {-0x1.0000000000000p-1,  0x1.5555555555555p-5,   -0x1.6c16c16c16c17p-10,
                            0x1.a01a01a01a01ap-16,  -0x1.27e4fb7789f5cp-22, 0x1.1eed8eff8d898p-29,
                            -0x1.93974a8c07c9dp-37, 0x1.ae7f3e733b81fp-45};

// 1 / i! for i = 1 .. 14, to nearest.
constexpr double kInverses[] = {0x1.0000000000000p+0,  0x1.0000000000000p-1,  0x1.5555555555555p-3,
                                0x1.5555555555555p-5,  0x1.1111111111111p-7,  0x1.6c16c16c16c17p-10,
                                0x1.a01a01a01a01ap-13, 0x1.a01a01a01a01ap-16, 0x1.71de3a556c734p-19,
                                0x1.27e4fb7789f5cp-22, 0x1.ae64567f544e4p-26, 0x1.1eed8eff8d898p-29,
                                0x1.6124613a86d09p-33, 0x1.93974a8c07c9dp-37};

// sum of factors_(i - 1) s^i.
double polynomial(const double (&factors)[8], double s) {
  double sum = 0;
  for (int i = 7; i >= 0; --i) sum = sum * s + factors[i];
  return sum * s;
}

double sine_of(double r) {
  return r + r * polynomial(kOdd, r * r);
}

double cosine_of(double r) {
  return 1 + polynomial(kEven, r * r);
}

double wave(const Reduced& x, long shift) {
  const long quarter = (x.quarter + shift) & 3;
  const double value = quarter % 2 == 0 ? sine_of(x.r) : cosine_of(x.r);
  return quarter < 2 ? value : -value;
}

}  // namespace

double sine(double x) {
  return wave(reduced(x), 0);
}

double cosine(double x) {
  return wave(reduced(x), 1);
}

double power_of_e(double x) {
  const double k = std::nearbyint(x * 0x1.71547652b82fep+0);
  const double r = (x - k * 0x1.62e42fee00000p-1) - k * 0x1.a39ef35793c76p-33;
  double sum = kInverses[13];
  for (int i = 12; i >= 0; --i) sum = sum * r + kInverses[i];
  return std::ldexp(1 + sum * r, static_cast<int>(k));
}

}  // namespace bf_aot::reach
