#pragma once

#include "bf/loops/functions.h"

// Programs of operations on single numbers, and their Taylor series in time.
//
// Program: has `steps`, a list of steps { kind, a, b, constant, function } whose operands are the
// numbers of steps before, and `outputs`, a list of steps.

namespace bf::loops {

// Computes all steps, in order. made: [steps].
template <class Arithmetic, class Number, class Program>
static inline void run_program(const Program& program, const Number* inputs, Number* made) {
  using A = Arithmetic;
  for (size_t i = 0; i < program.steps.size(); ++i) {
    const auto& step = program.steps[i];
    using Kind = decltype(step.kind);
    switch (step.kind) {
      case Kind::kInput:
        made[i] = inputs[step.a];
        break;
      case Kind::kConstant:
        made[i] = A::constant(step.constant);
        break;
      case Kind::kAdd:
        made[i] = A::add(made[step.a], made[step.b]);
        break;
      case Kind::kSubtract:
        made[i] = A::subtract(made[step.a], made[step.b]);
        break;
      case Kind::kMultiply:
        made[i] =
            step.a == step.b ? A::square(made[step.a]) : A::multiply(made[step.a], made[step.b]);
        break;
      case Kind::kDivide:
        made[i] = A::divide(made[step.a], made[step.b]);
        break;
      case Kind::kRelu:
        made[i] = A::relu(made[step.a]);
        break;
      case Kind::kLarger:
        made[i] = A::larger(made[step.a], made[step.b]);
        break;
      case Kind::kFunction:
        made[i] = A::apply(step.function, made[step.a]);
        break;
    }
  }
}

// The number of series that the recurrence of a function keeps besides its own; -1 where it has
// none.
template <class Function>
static inline int series_beside(const Function& f) {
  using Kind = decltype(f.kind);
  switch (f.kind) {
    case Kind::kReciprocal:
      return 0;
    case Kind::kSin:
    case Kind::kCos:
    case Kind::kSinh:
    case Kind::kCosh:
    case Kind::kExp:
    case Kind::kTanh:
    case Kind::kSigmoid:
    case Kind::kTan:
    case Kind::kSqrt:
    case Kind::kLog:
      return 1;
    case Kind::kAtan:
      return 2;
    case Kind::kPower:
      return f.a >= 2 && f.a <= 16 && f.a == static_cast<int>(f.a) ? static_cast<int>(f.a) - 2 : -1;
    default:
      return -1;
  }
}

// The number of series that a step keeps, its own included; -1 where it has none.
template <class Step>
static inline int series_of_step(const Step& step) {
  using Kind = decltype(step.kind);
  if (step.kind == Kind::kRelu || step.kind == Kind::kLarger) return -1;
  if (step.kind == Kind::kDivide) return 2;
  if (step.kind != Kind::kFunction) return 1;
  const int beside = series_beside(step.function);
  return beside < 0 ? -1 : 1 + beside;
}

// The coefficients of Taylor's series in time of a solution of x' = f(x, held), where `held` does
// not change: x(t) = sum_k x[k] t^k. Coefficients of products are Cauchy products; those of
// functions follow from their differential equations (Griewank and Walther, Evaluating Derivatives,
// chapter 13). Over ranges or forms each coefficient encloses those of all solutions.
template <class Arithmetic, class Number, class Program>
class TaylorSeries {
 public:
  // The state and `held` are the program's inputs, in this order; its first outputs are x'.
  // places: of each step, and of the end, the number of series before its own. numbers: room for
  // (places of the end + states) series of `length` coefficients.
  template <class Places>
  TaylorSeries(const Program& program, const Places& places, size_t states, const Number* state,
               const Number* held, Number* numbers, size_t length)
      : program_(program), states_(states), held_(held), numbers_(numbers), length_(length) {
    places_ = &places[0];
    x_ = numbers_ + places_[program.steps.size()] * length_;
    for (size_t i = 0; i < states_; ++i) x_[i * length_] = state[i];
  }

  // x[k] of each element of the state, for k up to order() < length.
  const Number& at(size_t state, size_t k) const { return x_[state * length_ + k]; }
  size_t order() const { return order_; }

  // Makes the next coefficient of all elements.
  void extend() {
    for (size_t i = 0; i < program_.steps.size(); ++i) make(i);
    for (size_t i = 0; i < states_; ++i)
      x_[i * length_ + order_ + 1] =
          A::over(series(program_.outputs[i])[order_], static_cast<double>(order_ + 1));
    ++order_;
  }

 private:
  using A = Arithmetic;
  using Place = typename Program::Place;

  Number* series(size_t step) const { return numbers_ + places_[step] * length_; }
  const Number* of(size_t step) const { return series(step); }

  void make(size_t i) {
    const auto& step = program_.steps[i];
    using Kind = decltype(step.kind);
    const size_t k = order_;
    Number* const y = series(i);
    switch (step.kind) {
      case Kind::kInput:
        y[k] = input(step.a);
        break;
      case Kind::kConstant:
        y[k] = k == 0 ? A::constant(step.constant) : A::number(0);
        break;
      case Kind::kAdd:
        y[k] = is_zero(step.a)   ? of(step.b)[k]
               : is_zero(step.b) ? of(step.a)[k]
                                 : A::add(of(step.a)[k], of(step.b)[k]);
        break;
      case Kind::kSubtract:
        y[k] = is_zero(step.b) ? of(step.a)[k] : A::subtract(of(step.a)[k], of(step.b)[k]);
        break;
      case Kind::kMultiply:
        y[k] = is_constant(step.a)   ? A::scaled(of(step.b)[k], program_.steps[step.a].constant)
               : is_constant(step.b) ? A::scaled(of(step.a)[k], program_.steps[step.b].constant)
               : step.a == step.b    ? square(of(step.a))
                                     : product(of(step.a), of(step.b));
        break;
      case Kind::kDivide:
        quotient(of(step.a), of(step.b), y);
        break;
      case Kind::kFunction:
        function(step.function, of(step.a), y);
        break;
      case Kind::kRelu:
      case Kind::kLarger:
        break;  // have no series: series_of_step()
    }
  }

  bool is_constant(size_t i) const {
    const auto& step = program_.steps[i];
    return step.kind == decltype(step.kind)::kConstant;
  }
  // Whether the coefficient is 0 because the step does not change in time.
  bool is_zero(size_t i) const {
    const auto& step = program_.steps[i];
    return order_ > 0 &&
           (is_constant(i) || (step.kind == decltype(step.kind)::kInput && step.a >= states_));
  }

  Number input(size_t i) const {
    if (i < states_) return at(i, order_);
    return order_ == 0 ? held_[i - states_] : A::number(0);
  }

  Number product(const Number* a, const Number* b) const { return product(a, b, order_); }
  static Number product(const Number* a, const Number* b, size_t k) {
    Number sum = A::multiply(a[0], b[k]);
    for (size_t j = 1; j <= k; ++j) sum = A::add(sum, A::multiply(a[j], b[k - j]));
    return sum;
  }

  Number square(const Number* a) const {
    const size_t k = order_;
    if (k == 0) return A::square(a[0]);
    Number sum = A::multiply(a[0], a[k]);
    for (size_t j = 1; 2 * j < k; ++j) sum = A::add(sum, A::multiply(a[j], a[k - j]));
    sum = A::times(sum, 2);
    return k % 2 == 0 ? A::add(sum, A::square(a[k / 2])) : sum;
  }

  template <class Function>
  static Number reciprocal_of(const Number& x) {
    return A::apply(function_of<Function>(decltype(Function::kind)::kReciprocal), x);
  }

  // y b = a: y_k = (a_k - sum_{j >= 1} b_j y_{k - j}) / b_0. Beside it: 1 / b_0.
  void quotient(const Number* a, const Number* b, Number* y) const {
    const size_t k = order_;
    Number* const inverse = y + length_;
    if (k == 0) {
      inverse[0] = reciprocal_of<typename Program::Function>(b[0]);
      y[0] = A::divide(a[0], b[0]);
      return;
    }
    Number sum = a[k];
    for (size_t j = 1; j <= k; ++j) sum = A::subtract(sum, A::multiply(b[j], y[k - j]));
    y[k] = A::multiply(sum, inverse[0]);
  }

  // y' = g x': y_k = (1 / k) sum_{j = 1 .. k} j x_j g_{k - j}.
  Number chain(const Number* x, const Number* g) const {
    const size_t k = order_;
    Number sum = A::multiply(x[1], g[k - 1]);
    for (size_t j = 2; j <= k; ++j)
      sum = A::add(sum, A::multiply(A::times(x[j], static_cast<double>(j)), g[k - j]));
    return A::over(sum, static_cast<double>(k));
  }

  // sin and cos, sinh and cosh: y' = of_y z x', z' = of_z y x'.
  template <class Function>
  void pair(decltype(Function::kind) other, double of_y, double of_z, const Function& f,
            const Number* x, Number* y) const {
    const size_t k = order_;
    Number* const z = y + length_;
    if (k == 0) {
      y[0] = A::apply(f, x[0]);
      z[0] = A::apply(function_of<Function>(other), x[0]);
      return;
    }
    y[k] = A::times(chain(x, z), of_y);
    z[k] = A::times(chain(x, y), of_z);
  }

  // y' = g(y) x' where g = c + l y + q y^2: tanh, sigmoid, tan, exp.
  template <class Function>
  void riccati(double c, double l, double q, const Function& f, const Number* x, Number* y) const {
    const size_t k = order_;
    Number* const g = y + length_;
    y[k] = k == 0 ? A::apply(f, x[0]) : chain(x, g);
    Number slope = A::number(k == 0 ? c : 0);
    if (l != 0) slope = A::add(slope, A::times(y[k], l));
    if (q != 0) slope = A::add(slope, A::times(square(y), q));
    g[k] = slope;
  }

  // y' = x' / g: of log g is x, of atan it is 1 + x^2. inverse: has 1 / g_0.
  template <class Function>
  void by_quotient(const Number* g, const Function& f, const Number* x, Number* y,
                   Number* inverse) const {
    const size_t k = order_;
    if (k == 0) {
      inverse[0] = reciprocal_of<Function>(g[0]);
      y[0] = A::apply(f, x[0]);
      return;
    }
    // g_0 k y_k = k x_k - sum_{j = 1 .. k - 1} j y_j g_{k - j}.
    Number sum = A::times(x[k], static_cast<double>(k));
    for (size_t j = 1; j < k; ++j)
      sum = A::subtract(sum, A::multiply(A::times(y[j], static_cast<double>(j)), g[k - j]));
    y[k] = A::over(A::multiply(sum, inverse[0]), static_cast<double>(k));
  }

  // y^2 = x: 2 y_0 y_k = x_k - sum_{j = 1 .. k - 1} y_j y_{k - j}.
  template <class Function>
  void root(const Function& f, const Number* x, Number* y) const {
    const size_t k = order_;
    Number* const inverse = y + length_;
    if (k == 0) {
      y[0] = A::apply(f, x[0]);
      inverse[0] = reciprocal_of<Function>(A::times(y[0], 2));
      return;
    }
    Number sum = x[k];
    for (size_t j = 1; j < k; ++j) sum = A::subtract(sum, A::multiply(y[j], y[k - j]));
    y[k] = A::multiply(sum, inverse[0]);
  }

  // x^n by the powers below it, whose series are kept beside it: x^2, x^3 and so on.
  void power(int n, const Number* x, Number* y) const {
    const Number* lower = x;
    for (int m = 2; m <= n; ++m) {
      Number* const to = m == n ? y : y + static_cast<size_t>(m - 1) * length_;
      to[order_] = m == 2 ? square(x) : product(lower, x);
      lower = to;
    }
  }

  // 1 / b.
  template <class Function>
  void reciprocal(const Function& f, const Number* b, Number* y) const {
    const size_t k = order_;
    if (k == 0) {
      y[0] = A::apply(f, b[0]);
      return;
    }
    Number sum = A::multiply(b[1], y[k - 1]);
    for (size_t j = 2; j <= k; ++j) sum = A::add(sum, A::multiply(b[j], y[k - j]));
    y[k] = A::times(A::multiply(sum, y[0]), -1);
  }

  template <class Function>
  void function(const Function& f, const Number* x, Number* y) const {
    using Kind = decltype(f.kind);
    Number* const beside = y + length_;
    switch (f.kind) {
      case Kind::kSin:
        return pair(Kind::kCos, 1, -1, f, x, y);
      case Kind::kCos:
        return pair(Kind::kSin, -1, 1, f, x, y);
      case Kind::kSinh:
        return pair(Kind::kCosh, 1, 1, f, x, y);
      case Kind::kCosh:
        return pair(Kind::kSinh, 1, 1, f, x, y);
      case Kind::kExp:
        return riccati(0, 1, 0, f, x, y);
      case Kind::kTanh:
        return riccati(1, 0, -1, f, x, y);
      case Kind::kSigmoid:
        return riccati(0, 1, -1, f, x, y);
      case Kind::kTan:
        return riccati(1, 0, 1, f, x, y);
      case Kind::kSqrt:
        return root(f, x, y);
      case Kind::kLog:
        return by_quotient(x, f, x, y, beside);
      case Kind::kAtan:
        beside[order_] = order_ == 0 ? A::add(A::number(1), A::square(x[0])) : square(x);
        return by_quotient(beside, f, x, y, beside + length_);
      case Kind::kPower:
        return power(static_cast<int>(f.a), x, y);
      default:
        return reciprocal(f, x, y);
    }
  }

  const Program& program_;
  const Place* places_;
  size_t states_;
  const Number* held_;
  Number* numbers_;
  Number* x_;
  size_t length_;
  size_t order_ = 0;
};

}  // namespace bf::loops
