#include "frontend/functions/composite/far.h"

#include <cmath>

namespace bf_aot::far {
namespace {

// a (e^(v / scale) - 1), scale > 0
Far scaled_exponential(double a, double scale, const Interval& v) {
  Far made;
  made.value = Interval(a) * increasing(mpfr_expm1, v / Interval(scale));
  made.left = {true, -a, 0, std::fabs(a), product_below(1, 1 / scale)};
  return made;
}

// Functions near 0 at the left and v at the right.
Far near_relu(double rate) {
  Far made;
  made.lipschitz = 2;
  made.left = {true, 0, 0, 1, rate};
  made.right = {true, 0, 1, 1, rate};
  return made;
}

}  // namespace

Far none(const Function&, const Interval&, double) {
  return {};
}

Far sigmoid(const Function&, const Interval& v, double) {
  const Interval value = Interval(1) / (Interval(1) + increasing(mpfr_exp, -v));
  return {value, 1, {true, 0, 0, 1, 1}, {true, 1, 0, 1, 1}};
}

// 1 - tanh v < 2 e^(-2 v)
Far tanh(const Function&, const Interval& v, double) {
  return {increasing(mpfr_tanh, v), 1, {true, -1, 0, 2, 2}, {true, 1, 0, 2, 2}};
}

// 1 - erf v <= e^(-v^2)
Far erf(const Function&, const Interval& v, double from) {
  return {increasing(mpfr_erf, v), 2, {true, -1, 0, 1, from}, {true, 1, 0, 1, from}};
}

// ln(1 + e^v) < e^v
Far softplus(const Function&, const Interval& v, double) {
  const Interval value = increasing(mpfr_log1p, increasing(mpfr_exp, v));
  return {value, 1, {true, 0, 0, 1, 1}, {true, 0, 1, 1, 1}};
}

Far exponential(const Function&, const Interval& v, double) {
  Far made;
  made.value = increasing(mpfr_exp, v);
  made.lipschitz = double_above(made.value);
  made.left = {true, 0, 0, 1, 1};
  return made;
}

// The smooth branch is the one below 0, as that of Celu.
Far elu(const Function& f, const Interval& v, double) {
  return scaled_exponential(f.a, 1, v);
}

Far celu(const Function& f, const Interval& v, double from) {
  return f.a > 0 ? scaled_exponential(f.a, f.a, v) : none(f, v, from);
}

// v / 2 (1 - erf(v / sqrt 2)) <= v / 2 e^(-v^2 / 2) <= e^(-(from - 1) / 2 v), v e^(-v / 2) < 1
Far gelu(const Function&, const Interval&, double from) {
  return near_relu((from - 1) / 2);
}

// v (1 - sigma(2 u)) <= v e^(-3/2 v), u >= 3/4 v; v (1 - tanh(ln(1 + e^v))) <= 2 v e^(-2 v);
// v tanh(ln(1 + e^-v)) <= v e^-v
Far like_relu(const Function&, const Interval&, double) {
  return near_relu(0.5);
}

}  // namespace bf_aot::far
