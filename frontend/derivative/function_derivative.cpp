#include "frontend/derivative/function_derivative.h"

#include <cmath>
#include <limits>

#include "frontend/diagnostic.h"

namespace bf_aot {
namespace {

using enum FunctionKind;

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr Bounded kOne = {1, 0};
constexpr Bounded kMinusOne = {-1, 0};

// The real number that a decimal constant is the nearest double of.
Bounded nearest(double rounded) {
  return {rounded, std::abs(rounded) * 0x1p-53};
}

Bounded exactly(double number) {
  return {number, 0};
}

// Each function once where that is possible: intervals of a function are exact, those of a product
// are not. 1 - sigma is no factor for this reason.
class FunctionDerivative {
 public:
  FunctionDerivative(NodeMaker& make, const Function& f, ValueId x, ValueId y)
      : make_(make), a_(f.a), b_(f.b), x_(x), y_(y) {}

  std::optional<ValueId> of(FunctionKind kind) {
    switch (kind) {
      case kLeakyRelu:
        return make_.scale(step(x_), one_less_a(), exactly(a_));
      case kAbs:
        return make_.unary(kSign, x_);
      case kClip:
        return a_ < b_ ? between(x_, a_, b_) : number(0);
      case kHardSigmoid:
        return make_.scale(between(make_.scale(x_, exactly(a_), exactly(b_)), 0, 1), exactly(a_));
      case kThresholdedRelu:
        if (a_ != 0) return std::nullopt;
        return step(x_);
      case kShrink:
        if (!(a_ == b_ && a_ >= 0)) return std::nullopt;
        return make_.plus(step(make_.scale(x_, kMinusOne, exactly(-a_))),
                          step(make_.scale(x_, kOne, exactly(-a_))));
      case kSign:
      case kStep:
      case kStepAt:
      case kFloor:
      case kCeil:
      case kRound:
      case kIsZero:
        return std::nullopt;
      case kSigmoid:  // (1 - tanh(x / 2)^2) / 4
        return make_.scale(one_less_square(make_.unary(kTanh, make_.scale(x_, exactly(0.5)))),
                           exactly(0.25));
      case kTanh:
        return one_less_square(y_);
      case kSoftplus:
        return make_.unary(kSigmoid, x_);
      case kSoftsign:  // (1 + |x|)^-2
        return power(one_more(make_.unary(kAbs, x_)), -2);
      case kElu:
        return elu(x_);
      case kCelu:  // e^(min(x, 0) / a)
        if (!(a_ > 0)) return std::nullopt;
        return make_.unary(kExp, make_.scale(not_positive(x_), divide(kOne, exactly(a_))));
      case kSelu:
        return make_.scale(elu(x_), exactly(b_));
      case kHardSwish:  // x / 3 + 1/2 between -3 and 3
        return make_.plus(
            make_.times(make_.scale(make_.unary(kClip, x_, -3, 3), nearest(1.0 / 3), exactly(0.5)),
                        between(x_, -3, 3)),
            step(make_.scale(x_, kOne, exactly(-3))));
      case kGelu:
        return gelu();
      case kGeluTanh:
        return gelu_tanh();
      case kMish:
        return mish();
      case kErf:  // 2 / sqrt(pi) e^(-x^2)
        return make_.scale(bell(1), nearest(1.1283791670955125739));
      case kExp:
        return y_;
      case kSin:
        return make_.unary(kCos, x_);
      case kCos:
        return make_.scale(make_.unary(kSin, x_), kMinusOne);
      case kAtan:
        return make_.unary(kReciprocal, one_more(square(x_)));
      case kSinh:
        return make_.unary(kCosh, x_);
      case kCosh:
        return make_.unary(kSinh, x_);
      case kAsinh:
        return power(one_more(square(x_)), -0.5);
      case kLog:  // 1 / x as powers that have no value where the logarithm has none
        return square(power(x_, -0.5));
      case kSqrt:
        return make_.scale(power(x_, -0.5), exactly(0.5));
      case kReciprocal:
        return make_.scale(power(x_, -2), kMinusOne);
      case kPower:
        return power_derivative();
      case kTan:
        return one_more(square(y_));
      case kAsin:
        return arc();
      case kAcos:
        return make_.scale(arc(), kMinusOne);
      case kAcosh:  // not (x^2 - 1)^-1/2, which has values below -1
        return make_.times(power(make_.scale(x_, kOne, kMinusOne), -0.5),
                           power(one_more(x_), -0.5));
      case kAtanh:  // 1 / (1 - x^2), as for the logarithm
        return square(arc());
      case kCount:
        break;
    }
    BF_CHECK(false);
    return std::nullopt;
  }

 private:
  ValueId step(ValueId x) { return add_step(make_, x); }
  ValueId number(double value) { return make_.literal(make_.shape(x_), value); }
  ValueId power(ValueId x, double exponent) { return make_.unary(kPower, x, exponent); }
  ValueId square(ValueId x) { return power(x, 2); }
  ValueId one_more(ValueId x) { return make_.scale(x, kOne, kOne); }
  ValueId one_less_square(ValueId x) { return make_.scale(square(x), kMinusOne, kOne); }
  ValueId not_positive(ValueId x) { return make_.unary(kClip, x, -kInf, 0); }
  Bounded one_less_a() const { return add(kOne, exactly(-a_)); }

  // (1 - x^2)^-1/2
  ValueId arc() { return power(one_less_square(x_), -0.5); }

  // e^(-factor x^2)
  ValueId bell(double factor) {
    return make_.unary(kExp, make_.scale(square(x_), exactly(-factor)));
  }

  // 1 where low < x < high, else 0.
  ValueId between(ValueId x, double low, double high) {
    std::optional<ValueId> above, below;
    if (low > -kInf) above = step(make_.scale(x, kOne, exactly(-low)));
    if (high < kInf) below = step(make_.scale(x, kMinusOne, exactly(high)));
    if (above && below) return make_.times(*above, *below);
    return above ? *above : below ? *below : number(1);
  }

  // a e^x below 0, 1 above.
  ValueId elu(ValueId x) {
    const ValueId below = make_.unary(kExp, not_positive(x));
    if (a_ == 1) return below;
    return make_.plus(make_.scale(below, exactly(a_)), make_.scale(step(x), one_less_a()));
  }

  // (1 + erf(x / sqrt 2)) / 2 + x e^(-x^2 / 2) / sqrt(2 pi)
  ValueId gelu() {
    const ValueId erf = make_.unary(kErf, make_.scale(x_, nearest(0.70710678118654752440)));
    const ValueId tail = make_.times(x_, make_.scale(bell(0.5), nearest(0.39894228040143267794)));
    return make_.plus(make_.scale(erf, exactly(0.5), exactly(0.5)), tail);
  }

  // (1 + t) / 2 + x (1 - t^2) / 2 u', t = tanh u, u = c (x + 0.044715 x^3), c = sqrt(2 / pi).
  ValueId gelu_tanh() {
    const Bounded c = nearest(0.79788456080286535588);
    const ValueId cubic = make_.scale(power(x_, 3), nearest(0.044715));
    const ValueId t = make_.unary(kTanh, make_.scale(make_.plus(x_, cubic), c));
    const ValueId slope =
        make_.scale(make_.scale(square(x_), nearest(0.134145), kOne), multiply(c, exactly(0.5)));
    const ValueId tail = make_.times(make_.times(x_, one_less_square(t)), slope);
    return make_.plus(make_.scale(t, exactly(0.5), exactly(0.5)), tail);
  }

  // t + x sigma(x) (1 - t^2), t = tanh(ln(1 + e^x)).
  ValueId mish() {
    const ValueId t = make_.unary(kTanh, make_.unary(kSoftplus, x_));
    const ValueId tail =
        make_.times(make_.times(x_, make_.unary(kSigmoid, x_)), one_less_square(t));
    return make_.plus(t, tail);
  }

  // a x^(a - 1)
  std::optional<ValueId> power_derivative() {
    if (a_ == 0 || a_ == 1) return number(a_);
    if (a_ == 2) return make_.scale(x_, exactly(2));
    const DoublePair exponent = two_sum(a_, -1);
    if (exponent.low != 0) return std::nullopt;
    return make_.scale(power(x_, exponent.high), exactly(a_));
  }

  NodeMaker& make_;
  double a_, b_;
  ValueId x_, y_;
};

}  // namespace

ValueId add_step(NodeMaker& make, ValueId x) {
  return make.unary(kStep, x);
}

std::optional<ValueId> add_function_derivative(NodeMaker& make, const Function& f, ValueId x,
                                               ValueId y) {
  return FunctionDerivative(make, f, x, y).of(f.kind);
}

}  // namespace bf_aot
