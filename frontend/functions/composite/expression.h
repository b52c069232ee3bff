#pragma once

#include <optional>
#include <vector>

#include "frontend/functions/composite/composite.h"

namespace bf_aot {

// An expression of one variable under construction. Terms are numbers of steps; equal ones are
// made once. Simplifies what is written out:
//   ln(1 + e^u) = softplus(u), 1 / (1 + e^u) = sigmoid(-u), e^u sigmoid(-u) = sigmoid(u)
class Expression {
 public:
  Expression();

  int variable() const { return 0; }
  int line(int u, const Bounded& factor, const Bounded& offset);
  int sum(int a, int b);
  int product(int a, int b);
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

  std::vector<CompositeStep> steps_;
};

}  // namespace bf_aot
