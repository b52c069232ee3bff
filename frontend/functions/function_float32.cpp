#include "frontend/functions/function_float32.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "frontend/functions/function_facts.h"
#include "frontend/numbers/exact_arithmetic.h"

namespace bf_aot {

std::optional<Float32Function> evaluated_in_float32(const Function& function, double libm_ulps) {
  // A unit of the last place is at most 2^-23 of what it belongs to.
  return facts_of(function.kind).float32.evaluated(function, 2 * libm_ulps);
}

double largest_in_float32(const Function& function, double most) {
  return facts_of(function.kind).float32.most(function, most);
}

namespace float32 {

Covered by_library(const Function&, double units) {
  return rounded(units);
}

// x / a is rounded, then made an integer, which is exact.
Covered round(const Function& f, double) {
  return Float32Function{0, 0, f.a == 1 ? 0 : 3 * 0x1p-24};
}

// a x + b matters where it is between 0 and 1: |a x| <= 1 + |b| there. The product, the sum, and a
// where it is 1/6, are rounded.
Covered hard_sigmoid(const Function& f, double) {
  return rounded(0, 4 * (1 + std::abs(f.b)));
}

// x hard_sigmoid(x), a = 1/6, b = 1/2: its error times |x| <= 3 and a little, and a product.
Covered hard_swish(const Function&, double) {
  return rounded(3, 20);
}

// 1 / (1 + e^-x): where e^-x overflows, the result is 0.
Covered sigmoid(const Function&, double units) {
  return Float32Function{(units + 6) * 0x1p-24, 0x1p-125, 0};
}

// ln(1 + e^x), or max(x, 0) + ln(1 + e^-|x|): e^ and the sum err by (units + 1) u of what is at
// most the argument of ln, which makes an absolute error of it; ln and the last sum are relative to
// the result.
Covered softplus(const Function&, double units) {
  return rounded(units + 2, units + 3);
}

// a (e^x - 1) for x < 0, where e^x <= 1: the library's error, and a difference. Or by expm1.
Covered elu(const Function& f, double units) {
  return rounded(units + 2, std::abs(f.a) * (units + 2));
}

// a (e^t - 1), t = x / a, for x < 0: as elu, but t is rounded, which costs |t| e^t u <= u.
Covered celu(const Function& f, double units) {
  return rounded(units + 2, std::abs(f.a) * (units + 3));
}

// b (a e^x - a), in any order of its products.
Covered selu(const Function& f, double units) {
  return rounded(units + 4, std::abs(f.a) * std::abs(f.b) * (units + 5));
}

// x (1 + erf(x / sqrt 2)) / 2, in any order of its products. erf's argument t is off by 3u of it,
// which moves erf by 3u t erf'(t) <= 1.5u; with erf's own error that is multiplied by |x| / 2.
// Below -5.66, where t < -4, erf is -1, as libraries have it, and the result 0.
Covered gelu(const Function&, double units) {
  return rounded(units + 5, 3 * (units + 4));
}

// x (1 + tanh(c (x + d x^3))) / 2: the argument is off by (units + 6) u of it, which moves tanh by
// 0.45 times that. Below -5.6, where the argument is below -10, tanh is -1.
Covered gelu_tanh(const Function&, double units) {
  return rounded(2 * units + 8, 5 * units + 14);
}

// x tanh(ln(1 + e^x)): the logarithm misses by (units + 3) u where it is small, and is 0 for x
// below -17.4, where the result is less than 18 u. For larger x: the product, tanh and the
// logarithm's relative error, which tanh makes no larger.
Covered mish(const Function&, double units) {
  return rounded(2 * units + 6, 18 * (units + 5));
}

// The library computes these functions by sqrt or 1 / x, or by pow.
Covered as_power(const Function&, double units) {
  return rounded(std::max(units, 2.0));
}

// The library computes powers by pow, or by the inverse of pow. Whole powers may take up to seven
// products, and x^-1/2 may be 1 / sqrt(x).
Covered power(const Function& f, double units) {
  if (f.a == 2) return rounded(units + 1);
  constexpr double kMostFactors = 8;
  const bool whole = std::floor(f.a) == f.a && std::abs(f.a) <= kMostFactors;
  return rounded(std::max(units + 3, whole ? std::abs(f.a) : 0));
}

namespace most {
namespace {

constexpr double kUnbounded = std::numeric_limits<double>::infinity();

}  // namespace

double same(const Function&, double x) {
  return x;
}

double plus_one(const Function&, double x) {
  return add_up(x, 1);
}

double twice(const Function&, double x) {
  return mul_up(2, x);
}

double four(const Function&, double) {
  return 4;
}

// Up to 87, e^x and what is added to it are finite with room to spare.
double exponential(const Function&, double x) {
  return x > 87 ? kUnbounded : mul_up(std::exp(x), 2);
}

double capped_exponential(const Function& f, double x) {
  return exponential(f, std::min(x, f.a));
}

double unbounded(const Function&, double) {
  return kUnbounded;
}

double leaky_relu(const Function& f, double x) {
  return mul_up(std::max(1.0, std::abs(f.a)), x);
}

// A limit counts where it may move a number away from 0; exporters write the greatest float for
// none.
double clip(const Function& f, double x) {
  const double between =
      std::max(f.a == -INFINITY ? x : std::abs(f.a), f.b == INFINITY ? x : std::abs(f.b));
  const double moved = std::max(f.a > 0 ? f.a : 0, f.b < 0 ? -f.b : 0);
  return std::min(between, std::max(x, moved));
}

double hard_sigmoid(const Function& f, double x) {
  return add_up(mul_up(std::abs(f.a), x), add_up(std::abs(f.b), 1));
}

double shrink(const Function& f, double x) {
  return add_up(x, std::abs(f.b));
}

double round(const Function& f, double x) {
  const double a = std::abs(f.a);
  return add_up(add_up(x, a), 2 * x / a);
}

// e^x is 1 at most where it counts.
double elu(const Function& f, double x) {
  return add_up(x, mul_up(2, std::abs(f.a)));
}

// As elu, and x / a besides.
double celu(const Function& f, double x) {
  return add_up(elu(f, x), 2 * x / std::abs(f.a));
}

double selu(const Function& f, double x) {
  return mul_up(std::max(1.0, std::abs(f.b)), add_up(x, mul_up(2, std::max(1.0, std::abs(f.a)))));
}

// The least magnitude of the argument limits results near a pole, which this does not know.
double power(const Function& f, double x) {
  if (f.a < 0) return kUnbounded;
  if (f.a == 2) return mul_up(x, x);
  return mul_up(std::pow(std::max(x, 1.0), f.a), 1 + 0x1p-40);
}

}  // namespace most
}  // namespace float32
}  // namespace bf_aot
