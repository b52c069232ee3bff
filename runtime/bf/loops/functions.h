#pragma once

#include "bf/loops/elementary.h"
#include "bf/loops/forms.h"

// Functions of forms. Function: has `kind`, of an enumeration that names at least the functions
// below, and their parameters a and b. Values: value(Function, Range), all values on a range, or
// everything.

namespace bf::loops {

template <class Function>
static inline Function function_of(decltype(Function::kind) kind) {
  Function made{};
  made.kind = kind;
  return made;
}

// Returns whether first_derivative() and second_derivative() have the function: elsewhere it has a
// kink or a jump, or no derivative is written here.
template <class Function>
static inline bool has_derivatives(const Function& f) {
  using Kind = decltype(f.kind);
  switch (f.kind) {
    case Kind::kSin:
    case Kind::kCos:
    case Kind::kExp:
    case Kind::kTanh:
    case Kind::kSigmoid:
    case Kind::kSoftplus:
    case Kind::kAtan:
    case Kind::kTan:
    case Kind::kSinh:
    case Kind::kCosh:
    case Kind::kSqrt:
    case Kind::kLog:
    case Kind::kReciprocal:
      return true;
    case Kind::kPower:
      return f.a >= 2 && f.a <= 64 && f.a == static_cast<int>(f.a);
    default:
      return false;
  }
}

// Ranges of derivatives.
template <class Values, class Function>
struct DerivativesOf {
  using Kind = decltype(Function::kind);
  static constexpr Range kOne = {1, 1}, kTwo = {2, 2};

  static Range of(Kind kind, const Range& x) {
    return Values::value(function_of<Function>(kind), x);
  }
  static Range power(const Range& x, double exponent) {
    if (exponent == 0) return kOne;
    Function f = function_of<Function>(Kind::kPower);
    f.a = exponent;
    return Values::value(f, x);
  }

  static Range first(const Function& f, const Range& x) {
    switch (f.kind) {
      case Kind::kSin:
        return of(Kind::kCos, x);
      case Kind::kCos:
        return -of(Kind::kSin, x);
      case Kind::kTanh:  // 1 - t^2, t = tanh x
        return kOne - square(of(f.kind, x));
      case Kind::kSigmoid:  // s (1 - s) = 1/4 - (s - 1/2)^2
        return Range{0.25, 0.25} - square(of(f.kind, x) - Range{0.5, 0.5});
      case Kind::kSoftplus:
        return of(Kind::kSigmoid, x);
      case Kind::kAtan:  // 1 / (1 + x^2)
        return kOne / (kOne + square(x));
      case Kind::kTan:  // 1 + t^2, t = tan x
        return kOne + square(of(f.kind, x));
      case Kind::kSinh:
        return of(Kind::kCosh, x);
      case Kind::kCosh:
        return of(Kind::kSinh, x);
      case Kind::kSqrt:
        return kOne / (kTwo * of(f.kind, x));
      case Kind::kLog:
        return kOne / x;
      case Kind::kReciprocal:
        return -(kOne / square(x));
      case Kind::kPower:
        return Range{f.a, f.a} * power(x, f.a - 1);
      default:  // of e^x
        return of(f.kind, x);
    }
  }

  static Range second(const Function& f, const Range& x) {
    switch (f.kind) {
      case Kind::kSin:
      case Kind::kCos:
        return -of(f.kind, x);
      case Kind::kTanh:  // -2 t (1 - t^2)
        return -(kTwo * of(f.kind, x) * first(f, x));
      case Kind::kSigmoid:  // s (1 - s) (1 - 2 s)
        return first(f, x) * (kOne - kTwo * of(f.kind, x));
      case Kind::kSoftplus:
        return first(function_of<Function>(Kind::kSigmoid), x);
      case Kind::kAtan:  // -2 x / (1 + x^2)^2
        return -(kTwo * x * square(first(f, x)));
      case Kind::kTan:  // 2 t (1 + t^2)
        return kTwo * of(f.kind, x) * first(f, x);
      case Kind::kSqrt:
        return -(kOne / (Range{4, 4} * x * of(f.kind, x)));
      case Kind::kLog:
        return -(kOne / square(x));
      case Kind::kReciprocal:
        return kTwo / (x * square(x));
      case Kind::kPower:
        return Range{f.a * (f.a - 1), f.a * (f.a - 1)} * power(x, f.a - 2);
      default:  // of e^x, sinh and cosh
        return of(f.kind, x);
    }
  }
};

// x = centre + what varies, |what varies| <= reach: f(centre) + f'(centre) (x - centre) + half of
// f'' somewhere between, times (x - centre)^2.
template <class Values, class Function, class Slopes>
static inline FormOf<Slopes> tangent(const Function& f, const FormOf<Slopes>& x,
                                     const Range& range) {
  using Form = FormOf<Slopes>;
  using Derivatives = DerivativesOf<Values, Function>;
  const Range at = {x.centre, x.centre};
  const Range value = Values::value(f, at), first = Derivatives::first(f, at);
  const Range second = Derivatives::second(f, range);
  if (!value.is_finite() || !first.is_finite() || !second.is_finite())
    return form_of<Form>(0, __builtin_inf());
  const double reach = inflated(reach_of(x) + x.radius, 1);
  const Range rest = Range{0.5, 0.5} * second * square(Range{-reach, reach});
  Form made = x;
  made.centre = 0;
  made = times(made, first.middle(), 0);
  widen(made, next_up(magnitude(first - Range{first.middle(), first.middle()}) * reach));
  return made + form_of<Form>(value) + form_of<Form>(hull({0, 0}, rest));
}

template <class Slopes>
static inline FormOf<Slopes> shifted(const FormOf<Slopes>& x, double by) {
  return x + form_of<FormOf<Slopes>>(by, 0);
}

// Functions of linear pieces as sums of ReLUs. Returns false for others.
template <class Function, class Slopes>
static inline bool by_pieces(const Function& f, const FormOf<Slopes>& x, FormOf<Slopes>& made) {
  using Kind = decltype(f.kind);
  switch (f.kind) {
    case Kind::kAbs:
      made = times(relu(x), 2, 0) - x;
      return true;
    case Kind::kLeakyRelu:
      made = times(x, f.a, 0) + (relu(x) - times(relu(x), f.a, 0));
      return true;
    case Kind::kClip:
      made = x;
      if (is_finite(f.a)) made = shifted(relu(shifted(made, -f.a)), f.a);
      if (is_finite(f.b)) made = made - relu(shifted(made, -f.b));
      return true;
    default:
      return false;
  }
}

// f of the number: by its tangent at the centre and what f'' says of the rest where f is smooth, by
// chords where it is linear in pieces, by its values alone elsewhere.
template <class Values, class Function, class Slopes>
static inline FormOf<Slopes> apply(const Function& f, const FormOf<Slopes>& x) {
  using Form = FormOf<Slopes>;
  using Kind = decltype(f.kind);
  const Range range = range_of(x);
  if (!range.is_finite()) return form_of<Form>(0, __builtin_inf());
  if (f.kind == Kind::kPower && f.a == 2) return square(x);
  if (Form made; by_pieces(f, x, made)) return made;
  const Form whole = form_of<Form>(Values::value(f, range));
  if (!has_derivatives(f)) return whole;
  const Form made = tangent<Values>(f, x, range);
  return made.radius + reach_of(made) < whole.radius || made.radius < whole.radius / 2 ? made
                                                                                       : whole;
}

// Arithmetic of ranges for programs.
template <class Values>
struct RangesOf {
  template <class Constant>
  static Range constant(const Constant& x) {
    return range_about(x.value, x.error);
  }
  static Range number(double x) { return {x, x}; }
  static Range add(const Range& a, const Range& b) { return a + b; }
  static Range subtract(const Range& a, const Range& b) { return a - b; }
  static Range multiply(const Range& a, const Range& b) { return a * b; }
  static Range square(const Range& a) { return loops::square(a); }
  static Range divide(const Range& a, const Range& b) { return a / b; }
  static Range relu(const Range& a) { return loops::larger(a, Range{0, 0}); }
  static Range larger(const Range& a, const Range& b) { return loops::larger(a, b); }
  template <class Function>
  static Range apply(const Function& f, const Range& x) {
    return Values::value(f, x);
  }
  template <class Constant>
  static Range scaled(const Range& a, const Constant& factor) {
    return a * constant(factor);
  }
  static Range times(const Range& a, double exact) { return a * Range{exact, exact}; }
  static Range over(const Range& a, double exact) { return a / Range{exact, exact}; }
};

// Arithmetic of forms.
template <class Values, class Form>
struct FormsOf {
  template <class Constant>
  static Form constant(const Constant& x) {
    return form_of<Form>(x.value, x.error);
  }
  static Form number(double x) { return form_of<Form>(x, 0); }
  static Form add(const Form& a, const Form& b) { return a + b; }
  static Form subtract(const Form& a, const Form& b) { return a - b; }
  static Form multiply(const Form& a, const Form& b) { return a * b; }
  static Form square(const Form& a) { return loops::square(a); }
  static Form divide(const Form& a, const Form& b) {
    if (b.radius == 0 && reach_of(b) == 0 && b.centre != 0) return loops::over(a, b.centre);
    using Function = typename Values::Function;
    return a * apply(function_of<Function>(decltype(Function::kind)::kReciprocal), b);
  }
  static Form relu(const Form& a) { return loops::relu(a); }
  static Form larger(const Form& a, const Form& b) { return a + loops::relu(b - a); }
  template <class Function>
  static Form apply(const Function& f, const Form& x) {
    return loops::apply<Values>(f, x);
  }
  template <class Constant>
  static Form scaled(const Form& a, const Constant& factor) {
    return loops::times(a, factor.value, factor.error);
  }
  static Form times(const Form& a, double exact) { return loops::times(a, exact, 0); }
  static Form over(const Form& a, double exact) { return loops::over(a, exact); }
};

}  // namespace bf::loops
