#include "frontend/functions/function_terms.h"

#include <cmath>
#include <limits>

namespace bf_aot {
namespace {

using Term = FunctionTerms::Term;
using enum FunctionKind;

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr Bounded kHalf = {0.5, 0};

// The real number that a decimal constant is the nearest double of.
Bounded nearest(double rounded) {
  return {rounded, std::abs(rounded) * 0x1p-53};
}

// e^(-factor x^2)
Term bell(FunctionTerms& t, double factor) {
  return t.unary(kExp, t.scale(t.square(t.x()), {-factor, 0}));
}

}  // namespace

Term FunctionTerms::not_positive(Term x) {
  return unary(kClip, x, -kInf, 0);
}

Term FunctionTerms::between(Term x, double low, double high) {
  const Term above = low > -kInf ? step_above(x, low) : Term::kNone;
  const Term below = high < kInf ? step_below(x, high) : Term::kNone;
  if (above != Term::kNone && below != Term::kNone) return times(above, below);
  return above != Term::kNone ? above : below != Term::kNone ? below : number(1);
}

namespace derivative {

Term hard_sigmoid(FunctionTerms& t, const Function& f) {
  const Term line = t.scale(t.x(), {f.a, 0}, {f.b, 0});
  return t.scale(t.between(line, 0, 1), {f.a, 0});
}

// (1 - tanh(x / 2)^2) / 4
Term sigmoid(FunctionTerms& t, const Function&) {
  const Term tanh = t.unary(kTanh, t.scale(t.x(), {0.5, 0}));
  return t.scale(t.one_less_square(tanh), {0.25, 0});
}

Term leaky_relu(FunctionTerms& t, const Function& f) {
  return t.scale(t.step(t.x()), add({1, 0}, {-f.a, 0}), {f.a, 0});
}

Term shrink(FunctionTerms& t, const Function& f) {
  if (!(f.a == f.b && f.a >= 0)) return Term::kNone;
  return t.plus(t.step_below(t.x(), -f.a), t.step_above(t.x(), f.a));
}

// a e^x below 0, 1 above.
Term elu(FunctionTerms& t, const Function& f) {
  const Term below = t.unary(kExp, t.not_positive(t.x()));
  if (f.a == 1) return below;
  return t.plus(t.scale(below, {f.a, 0}), t.scale(t.step(t.x()), add({1, 0}, {-f.a, 0})));
}

Term selu(FunctionTerms& t, const Function& f) {
  return t.scale(elu(t, f), {f.b, 0});
}

// e^(min(x, 0) / a)
Term celu(FunctionTerms& t, const Function& f) {
  if (!(f.a > 0)) return Term::kNone;
  return t.unary(kExp, t.scale(t.not_positive(t.x()), divide({1, 0}, {f.a, 0})));
}

// x / 3 + 1/2 between -3 and 3.
Term hard_swish(FunctionTerms& t, const Function&) {
  return t.plus(t.times(t.scale(t.unary(kClip, t.x(), -3, 3), nearest(1.0 / 3), kHalf),
                        t.between(t.x(), -3, 3)),
                t.step_above(t.x(), 3));
}

// (1 + erf(x / sqrt 2)) / 2 + x e^(-x^2 / 2) / sqrt(2 pi)
Term gelu(FunctionTerms& t, const Function&) {
  const Term erf = t.unary(kErf, t.scale(t.x(), nearest(0.70710678118654752440)));
  const Term tail = t.times(t.x(), t.scale(bell(t, 0.5), nearest(0.39894228040143267794)));
  return t.plus(t.scale(erf, kHalf, kHalf), tail);
}

// (1 + h) / 2 + x (1 - h^2) / 2 u', h = tanh u, u = c (x + 0.044715 x^3), c = sqrt(2 / pi).
Term gelu_tanh(FunctionTerms& t, const Function&) {
  const Bounded c = nearest(0.79788456080286535588);
  const Term cubic = t.scale(t.power(t.x(), 3), nearest(0.044715));
  const Term h = t.unary(kTanh, t.scale(t.plus(t.x(), cubic), c));
  const Term slope =
      t.scale(t.scale(t.square(t.x()), nearest(0.134145), {1, 0}), multiply(c, kHalf));
  const Term tail = t.times(t.times(t.x(), t.one_less_square(h)), slope);
  return t.plus(t.scale(h, kHalf, kHalf), tail);
}

// h + x sigma(x) (1 - h^2), h = tanh(ln(1 + e^x)).
Term mish(FunctionTerms& t, const Function&) {
  const Term h = t.unary(kTanh, t.unary(kSoftplus, t.x()));
  const Term tail = t.times(t.times(t.x(), t.unary(kSigmoid, t.x())), t.one_less_square(h));
  return t.plus(h, tail);
}

// a x^(a - 1)
Term power(FunctionTerms& t, const Function& f) {
  if (f.a == 0 || f.a == 1) return t.number(f.a);
  if (f.a == 2) return t.scale(t.x(), {2, 0});
  const DoublePair exponent = two_sum(f.a, -1);
  if (exponent.low != 0) return Term::kNone;
  return t.scale(t.power(t.x(), exponent.high), {f.a, 0});
}

// 2 / sqrt(pi) e^(-x^2)
Term erf(FunctionTerms& t, const Function&) {
  return t.scale(bell(t, 1), nearest(1.1283791670955125739));
}

// Not (x^2 - 1)^-1/2, which has values below -1.
Term acosh(FunctionTerms& t, const Function&) {
  return t.times(t.power(t.scale(t.x(), {1, 0}, {-1, 0}), -0.5), t.power(t.one_more(t.x()), -0.5));
}

Term arc(FunctionTerms& t) {
  return t.power(t.one_less_square(t.x()), -0.5);
}

}  // namespace derivative
}  // namespace bf_aot
