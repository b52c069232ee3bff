#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "frontend/diagnostic.h"
#include "frontend/evaluate/scalar_program.h"

namespace bf_aot::reach {

// Returns the first function of the program whose Taylor coefficients are not known: one with a
// kink or a jump, or one without a recurrence here. None where all are.
std::optional<std::string> not_differentiable(const ScalarProgram& program);

// The coefficients of Taylor's series in time of a solution of x' = f(x, held), where `held` does
// not change: x(t) = sum_k x[k] t^k. Arithmetic: of run() in scalar_program.h, with times(Number,
// double) and over(Number, double). Coefficients of products are Cauchy products; those of
// functions follow from their differential equations (Griewank and Walther, Evaluating Derivatives,
// chapter 13). Over ranges or forms each coefficient encloses those of all solutions.
template <class Arithmetic, class Number>
class TaylorSeries {
 public:
  // `state` and `held` are the program's inputs, in this order; its first outputs are x'.
  TaylorSeries(const ScalarProgram& program, std::vector<Number> state, std::vector<Number> held)
      : program_(program),
        held_(std::move(held)),
        made_(program.steps.size()),
        beside_(program.steps.size()),
        aside_(program.steps.size()) {
    for (Number& x : state) x_.push_back({std::move(x)});
  }

  // x[k] of each element of the state, for k up to order().
  const Number& at(std::size_t state, std::size_t k) const { return x_[state][k]; }
  std::size_t order() const { return x_.front().size() - 1; }

  // Makes the next coefficient of all elements.
  void extend() {
    const std::size_t k = order();
    for (std::size_t i = 0; i < program_.steps.size(); ++i) step(i, k);
    for (std::size_t i = 0; i < x_.size(); ++i)
      x_[i].push_back(A::over(made_[program_.outputs[i]][k], static_cast<double>(k + 1)));
  }

 private:
  using A = Arithmetic;
  using Series = std::vector<Number>;

  static Number number(double x) { return A::constant({x, 0}); }

  void step(std::size_t i, std::size_t k) {
    const ScalarStep& step = program_.steps[i];
    using Kind = ScalarStep::Kind;
    Series& y = made_[i];
    switch (step.kind) {
      case Kind::kInput:
        y.push_back(input(step.a, k));
        break;
      case Kind::kConstant:
        y.push_back(k == 0 ? A::constant(step.constant) : number(0));
        break;
      case Kind::kAdd:
        y.push_back(A::add(made_[step.a][k], made_[step.b][k]));
        break;
      case Kind::kSubtract:
        y.push_back(A::subtract(made_[step.a][k], made_[step.b][k]));
        break;
      case Kind::kMultiply:
        y.push_back(step.a == step.b ? square(made_[step.a], k)
                                     : product(made_[step.a], made_[step.b], k));
        break;
      case Kind::kDivide:
        y.push_back(quotient(made_[step.a], made_[step.b], y, beside_[i], k));
        break;
      case Kind::kFunction:
        function(i, step.function, made_[step.a], k);
        break;
      case Kind::kRelu:
      case Kind::kLarger:
        BF_CHECK(false);
    }
  }

  Number input(std::size_t i, std::size_t k) const {
    if (i < x_.size()) return x_[i][k];
    return k == 0 ? held_[i - x_.size()] : number(0);
  }

  static Number product(const Series& a, const Series& b, std::size_t k) {
    Number sum = A::multiply(a[0], b[k]);
    for (std::size_t j = 1; j <= k; ++j) sum = A::add(sum, A::multiply(a[j], b[k - j]));
    return sum;
  }

  static Number square(const Series& a, std::size_t k) {
    if (k == 0) return A::square(a[0]);
    Number sum = A::multiply(a[0], a[k]);
    for (std::size_t j = 1; 2 * j < k; ++j) sum = A::add(sum, A::multiply(a[j], a[k - j]));
    sum = A::times(sum, 2);
    return k % 2 == 0 ? A::add(sum, A::square(a[k / 2])) : sum;
  }

  // y b = a: y_k = (a_k - sum_{j >= 1} b_j y_{k - j}) / b_0. inverse: has 1 / b_0.
  static Number quotient(const Series& a, const Series& b, const Series& y, Series& inverse,
                         std::size_t k) {
    if (k == 0) {
      inverse.push_back(A::apply({FunctionKind::kReciprocal}, b[0]));
      return A::divide(a[0], b[0]);
    }
    Number sum = a[k];
    for (std::size_t j = 1; j <= k; ++j) sum = A::subtract(sum, A::multiply(b[j], y[k - j]));
    return A::multiply(sum, inverse[0]);
  }

  // y' = g x': y_k = (1 / k) sum_{j = 1 .. k} j x_j g_{k - j}.
  static Number chain(const Series& x, const Series& g, std::size_t k) {
    Number sum = A::multiply(x[1], g[k - 1]);
    for (std::size_t j = 2; j <= k; ++j)
      sum = A::add(sum, A::multiply(A::times(x[j], static_cast<double>(j)), g[k - j]));
    return A::over(sum, static_cast<double>(k));
  }

  // sin and cos, sinh and cosh: y' = z x', z' = sign y x'.
  void pair(FunctionKind other, double of_y, double of_z, std::size_t i, const Function& f,
            const Series& x, std::size_t k) {
    Series &y = made_[i], &z = beside_[i];
    if (k == 0) {
      y.push_back(A::apply(f, x[0]));
      z.push_back(A::apply({other}, x[0]));
      return;
    }
    Number next_y = A::times(chain(x, z, k), of_y), next_z = A::times(chain(x, y, k), of_z);
    y.push_back(std::move(next_y));
    z.push_back(std::move(next_z));
  }

  // y' = g(y) x' where g = c + l y + q y^2: tanh, sigmoid, tan, exp.
  void riccati(double c, double l, double q, std::size_t i, const Function& f, const Series& x,
               std::size_t k) {
    Series &y = made_[i], &g = beside_[i];
    y.push_back(k == 0 ? A::apply(f, x[0]) : chain(x, g, k));
    Number slope = number(k == 0 ? c : 0);
    if (l != 0) slope = A::add(slope, A::times(y[k], l));
    if (q != 0) slope = A::add(slope, A::times(square(y, k), q));
    g.push_back(std::move(slope));
  }

  // y' = x' / g: of log g is x, of atan it is 1 + x^2.
  void by_quotient(const Series& g, std::size_t i, const Function& f, const Series& x,
                   std::size_t k) {
    Series& y = made_[i];
    if (k == 0) {
      aside_[i].push_back(A::apply({FunctionKind::kReciprocal}, g[0]));
      y.push_back(A::apply(f, x[0]));
      return;
    }
    // g_0 k y_k = k x_k - sum_{j = 1 .. k - 1} j y_j g_{k - j}.
    Number sum = A::times(x[k], static_cast<double>(k));
    for (std::size_t j = 1; j < k; ++j)
      sum = A::subtract(sum, A::multiply(A::times(y[j], static_cast<double>(j)), g[k - j]));
    y.push_back(A::over(A::multiply(sum, aside_[i][0]), static_cast<double>(k)));
  }

  // y^2 = x: 2 y_0 y_k = x_k - sum_{j = 1 .. k - 1} y_j y_{k - j}.
  void root(std::size_t i, const Function& f, const Series& x, std::size_t k) {
    Series& y = made_[i];
    if (k == 0) {
      y.push_back(A::apply(f, x[0]));
      aside_[i].push_back(A::apply({FunctionKind::kReciprocal}, A::times(y[0], 2)));
      return;
    }
    Number sum = x[k];
    for (std::size_t j = 1; j < k; ++j) sum = A::subtract(sum, A::multiply(y[j], y[k - j]));
    y.push_back(A::multiply(sum, aside_[i][0]));
  }

  // x^n by its lower half, whose series is kept beside it.
  Number power(std::size_t i, double n, const Series& x, std::size_t k) {
    if (n == 2) return square(x, k);
    Series& last = beside_[i];  // x^(n - 1)
    last.push_back(lower_power(n - 1, x, k));
    return product(last, x, k);
  }
  static Number lower_power(double n, const Series& x, std::size_t k) {
    Series made = {x.begin(), x.begin() + static_cast<std::ptrdiff_t>(k) + 1};
    for (double m = 1; m < n; ++m) {
      Series next;
      for (std::size_t j = 0; j <= k; ++j)
        next.push_back(m == 1 ? square(x, j) : product(made, x, j));
      made = std::move(next);
    }
    return made[k];
  }

  void function(std::size_t i, const Function& f, const Series& x, std::size_t k) {
    using Kind = FunctionKind;
    switch (f.kind) {
      case Kind::kSin:
        return pair(Kind::kCos, 1, -1, i, f, x, k);
      case Kind::kCos:
        return pair(Kind::kSin, -1, 1, i, f, x, k);
      case Kind::kSinh:
        return pair(Kind::kCosh, 1, 1, i, f, x, k);
      case Kind::kCosh:
        return pair(Kind::kSinh, 1, 1, i, f, x, k);
      case Kind::kExp:
        return riccati(0, 1, 0, i, f, x, k);
      case Kind::kTanh:
        return riccati(1, 0, -1, i, f, x, k);
      case Kind::kSigmoid:
        return riccati(0, 1, -1, i, f, x, k);
      case Kind::kTan:
        return riccati(1, 0, 1, i, f, x, k);
      case Kind::kSqrt:
        return root(i, f, x, k);
      case Kind::kLog:
        return by_quotient(x, i, f, x, k);
      case Kind::kAtan:
        beside_[i].push_back(k == 0 ? A::add(number(1), A::square(x[0])) : square(x, k));
        return by_quotient(beside_[i], i, f, x, k);
      case Kind::kReciprocal:
        made_[i].push_back(reciprocal(x, made_[i], k));
        return;
      case Kind::kPower:
        made_[i].push_back(power(i, f.a, x, k));
        return;
      default:
        BF_CHECK(false);
    }
  }

  static Number reciprocal(const Series& b, const Series& y, std::size_t k) {
    if (k == 0) return A::apply({FunctionKind::kReciprocal}, b[0]);
    Number sum = A::multiply(b[1], y[k - 1]);
    for (std::size_t j = 2; j <= k; ++j) sum = A::add(sum, A::multiply(b[j], y[k - j]));
    return A::times(A::multiply(sum, y[0]), -1);
  }

  const ScalarProgram& program_;
  std::vector<Number> held_;
  std::vector<Series> x_;
  std::vector<Series> made_;    // of each step
  std::vector<Series> beside_;  // of functions: what their recurrence needs besides
  std::vector<Series> aside_;
};

}  // namespace bf_aot::reach
