#include "frontend/derivative/function_derivative.h"

#include "frontend/functions/function_facts.h"
#include "frontend/functions/function_terms.h"

namespace bf_aot {
namespace {

// Terms that are nodes, named by the values that they make.
class NodeTerms final : public FunctionTerms {
 public:
  NodeTerms(NodeMaker& make, ValueId x, ValueId y)
      : FunctionTerms(static_cast<Term>(x), static_cast<Term>(y)), make_(make) {}

  Term number(double number) override {
    return term(make_.literal(make_.shape(value(x())), number));
  }
  Term function(const Function& f, Term x) override {
    return term(make_.unary(f.kind, value(x), f.a, f.b));
  }
  Term line(Term x, Bounded factor, Bounded offset) override {
    return term(make_.scale(value(x), factor, offset));
  }
  Term plus(Term a, Term b) override { return term(make_.plus(value(a), value(b))); }
  Term times(Term a, Term b) override { return term(make_.times(value(a), value(b))); }

  static ValueId value(Term x) { return static_cast<ValueId>(x); }

 private:
  static Term term(ValueId x) { return static_cast<Term>(x); }

  NodeMaker& make_;
};

}  // namespace

ValueId add_step(NodeMaker& make, ValueId x) {
  return make.unary(FunctionKind::kStep, x);
}

std::optional<ValueId> add_function_derivative(NodeMaker& make, const Function& f, ValueId x,
                                               ValueId y) {
  const auto derivative = facts_of(f.kind).derivative;
  if (derivative == nullptr) return std::nullopt;
  NodeTerms terms(make, x, y);
  const FunctionTerms::Term made = derivative(terms, f);
  if (made == FunctionTerms::Term::kNone) return std::nullopt;
  return NodeTerms::value(made);
}

}  // namespace bf_aot
