#pragma once

#include <cstdint>

#include "frontend/functions/function.h"
#include "frontend/numbers/exact_arithmetic.h"

namespace bf_aot {

// Elementwise terms of x and y = f(x), of which a row of function_facts.cpp makes f'(x). A class
// that implements them says what a term is: a node of a graph in frontend/derivative/.
//
// Each function occurs once where that is possible: intervals of a function are exact, those of a
// product are not. 1 - sigma is no factor for this reason.
class FunctionTerms {
 public:
  enum class Term : std::uint32_t { kNone = UINT32_MAX };  // kNone: there is no such form

  FunctionTerms(Term x, Term y) : x_(x), y_(y) {}
  virtual ~FunctionTerms() = default;

  Term x() const { return x_; }
  Term y() const { return y_; }

  virtual Term number(double value) = 0;
  virtual Term function(const Function& f, Term x) = 0;
  virtual Term line(Term x, Bounded factor, Bounded offset) = 0;
  virtual Term plus(Term a, Term b) = 0;
  virtual Term times(Term a, Term b) = 0;

  Term unary(FunctionKind kind, Term x, double a = 0, double b = 0) {
    return function({kind, a, b}, x);
  }
  Term scale(Term x, Bounded factor, Bounded offset = {}) { return line(x, factor, offset); }
  Term power(Term x, double exponent) { return unary(FunctionKind::kPower, x, exponent); }
  Term square(Term x) { return power(x, 2); }
  Term minus(Term x) { return scale(x, {-1, 0}); }
  Term one_more(Term x) { return scale(x, {1, 0}, {1, 0}); }
  Term one_less_square(Term x) { return scale(square(x), {-1, 0}, {1, 0}); }
  Term step(Term x) { return unary(FunctionKind::kStep, x); }
  Term step_above(Term x, double at) { return step(scale(x, {1, 0}, {-at, 0})); }
  Term step_below(Term x, double at) { return step(scale(x, {-1, 0}, {at, 0})); }
  Term not_positive(Term x);                      // min(x, 0)
  Term between(Term x, double low, double high);  // 1 where low < x < high, else 0

 private:
  Term x_, y_;
};

// Derivatives that take more than a line in a row of function_facts.cpp, or that rows share.
namespace derivative {

using Term = FunctionTerms::Term;

Term hard_sigmoid(FunctionTerms& t, const Function& f);
Term sigmoid(FunctionTerms& t, const Function& f);
Term leaky_relu(FunctionTerms& t, const Function& f);
Term shrink(FunctionTerms& t, const Function& f);
Term elu(FunctionTerms& t, const Function& f);
Term selu(FunctionTerms& t, const Function& f);
Term celu(FunctionTerms& t, const Function& f);
Term hard_swish(FunctionTerms& t, const Function& f);
Term gelu(FunctionTerms& t, const Function& f);
Term gelu_tanh(FunctionTerms& t, const Function& f);
Term mish(FunctionTerms& t, const Function& f);
Term power(FunctionTerms& t, const Function& f);
Term erf(FunctionTerms& t, const Function& f);
Term acosh(FunctionTerms& t, const Function& f);
Term arc(FunctionTerms& t);  // (1 - x^2)^-1/2

}  // namespace derivative
}  // namespace bf_aot
