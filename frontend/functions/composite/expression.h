#pragma once

#include <optional>
#include <vector>

#include "frontend/functions/composite/composite.h"

namespace bf_aot {

// An expression of one variable under construction. Terms are numbers of steps; equal ones are
// made once. Simplifies what is written out:
//   ln(1 + e^u) = softplus(u), 1 / (1 + e^u) = sigmoid(-u), e^u sigmoid(-u) = sigmoid(u),
//   ln(e^u + e^v) = v + softplus(u - v), (e^u - e^v) / (e^u + e^v) = tanh((u - v) / 2),
//   u / (1 + |u|) = softsign(u), (p u + q) / (r u + s) = p / r + (q - p s / r) / (r u + s),
//   and products of x alone are powers
class Expression {
 public:
  Expression();

  int variable() const { return 0; }
  int line(int u, const Bounded& factor, const Bounded& offset);
  int sum(int a, int b);
  int product(int a, int b);
  int maximum(int a, int b);
  // Nothing for functions that composites do not have.
  std::optional<int> function(const Function& f, int u);

  // factor f(inner_factor x + inner_offset) + offset, f being `steps`.
  struct Parts {
    Bounded factor = {1, 0}, offset;
    std::vector<CompositeStep> steps;
    Bounded inner_factor = {1, 0}, inner_offset;
  };
  Parts parts(int term) const;

 private:
  const CompositeStep& at(int term) const { return steps_[static_cast<std::size_t>(term)]; }
  int add(const CompositeStep& step);
  // The term as a line of another: of itself where it is none.
  CompositeStep as_line(int term) const;
  bool is_number(int term) const;
  // v where the term is e^v.
  std::optional<int> exponent_of(int term) const;
  // v where the term is 1 + e^v.
  std::optional<int> exponent_beside_one(int term) const;
  std::optional<int> sigmoid_of_product(int a, int b);
  // u and v where the term is e^u + e^v, or e^u - e^v.
  struct Exponents {
    int u, v;
  };
  std::optional<Exponents> exponents_of_sum(int term) const;
  std::optional<Exponents> exponents_of_difference(int term) const;
  // u where the term is 1 / u.
  std::optional<int> inverse_of(int term) const;
  std::optional<int> quotient(int numerator, int inverse);
  std::optional<int> quotient_of_lines(int numerator, int inverse);
  std::optional<int> half_difference(const Exponents& e);
  int power_of(int term, int variable) const;

  std::vector<CompositeStep> steps_;
};

}  // namespace bf_aot
