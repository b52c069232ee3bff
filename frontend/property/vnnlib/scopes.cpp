// `let`, which names terms and formulas, and `ite`, which chooses one of two terms.

#include <fmt/format.h>

#include "frontend/diagnostic.h"
#include "frontend/property/vnnlib/formula.h"
#include "frontend/property/vnnlib/read_again.h"

namespace bf_aot::vnnlib {
namespace {

constexpr std::string_view kFormulaOperators[] = {
    "and", "or", "not", "=>", "<=", ">=", "<", ">", "=", "==", "!=", "distinct"};

void skip_expression(Lexer& lexer) {
  int depth = 0;
  do {
    const Token token = lexer.next();
    if (token.kind == TokenKind::kEnd) return;  // who reads on complains
    if (token.kind == TokenKind::kOpen) ++depth;
    if (token.kind == TokenKind::kClose) --depth;
  } while (depth > 0);
}

}  // namespace

FormulaReader::Bound FormulaReader::find_bound(std::string_view name) const {
  for (const Scope* scope = scope_; scope != nullptr; scope = scope->outer)
    if (const auto found = scope->names.find(name); found != scope->names.end())
      return {&found->second, scope->outer};
  return {};
}

// Returns whether a formula follows, and not a term.
bool FormulaReader::formula_follows(Lexer ahead) const {
  std::unordered_map<std::string_view, Lexer> names;  // of the `let`s that are passed
  for (;;) {
    const Token token = ahead.next();
    if (token.kind == TokenKind::kWord) {
      if (const auto found = names.find(token.text); found != names.end()) {
        ahead = found->second;
        names.erase(found);
        continue;
      }
      const Bound bound = find_bound(token.text);
      if (bound.binding != nullptr) return bound.binding->is_formula;
      return token.text == "true" || token.text == "false";
    }
    if (token.kind != TokenKind::kOpen) return false;
    const Token op = ahead.next();
    if (op.text == "ite") {
      skip_expression(ahead);
      continue;
    }
    if (op.text != "let")
      return std::ranges::find(kFormulaOperators, op.text) != std::end(kFormulaOperators);
    for (ahead.next(); ahead.peek().kind == TokenKind::kOpen;) {
      ahead.next();
      const std::string_view name = ahead.next().text;
      names.insert_or_assign(name, ahead);
      skip_expression(ahead);
      ahead.next();
    }
    ahead.next();
  }
}

void FormulaReader::read_binding(Scope& scope, int depth) {
  lexer_.expect(TokenKind::kOpen, "'(' before a name");
  const Token name = lexer_.expect(TokenKind::kWord, "a name");
  Binding binding{formula_follows(lexer_), {}, {}, lexer_};
  if (binding.is_formula)
    binding.formula = read_formula(false, depth);
  else
    binding.term = read_operand(depth);
  lexer_.expect(TokenKind::kClose, "')' after what a name stands for");
  if (!scope.names.try_emplace(name.text, std::move(binding)).second)
    fail("BF3405", lexer_.place(name), fmt::format("{} is named twice", describe(name)),
         "bind each name of a let once");
}

Disjunction FormulaReader::read_bound_formula(const Bound& bound, bool negate, int depth,
                                              const Token& place) {
  if (!bound.binding->is_formula) lexer_.fail_expected(place, "a condition");
  if (!negate) return bound.binding->formula;
  const Scope* const inner = scope_;
  scope_ = bound.outer;
  Disjunction made =
      read_again(bound.binding->text, place, [&] { return read_formula(true, depth + 1); });
  scope_ = inner;
  return made;
}

std::vector<FormulaReader::Choice> FormulaReader::choices_of(Operand operand) {
  if (operand.kind == Operand::Kind::kChoices) return std::move(operand.choices);
  std::vector<Choice> one(1);
  Affine& value = one[0].value;
  value = std::move(operand.affine);
  if (operand.kind == Operand::Kind::kNumber) value.constant = exact(operand.number);
  if (operand.kind == Operand::Kind::kVariable) value.terms.emplace_back(operand.variable, 1);
  return one;
}

FormulaReader::Operand FormulaReader::operand_of(std::vector<Choice> choices) {
  Operand operand;
  if (choices.size() == 1 && !choices[0].guard) {
    operand.kind = Operand::Kind::kAffine;
    operand.affine = std::move(choices[0].value);
  } else {
    operand.kind = Operand::Kind::kChoices;
    operand.choices = std::move(choices);
  }
  return operand;
}

std::optional<Disjunction> FormulaReader::both(const std::optional<Disjunction>& a,
                                               const std::optional<Disjunction>& b,
                                               const Token& place) const {
  if (!a) return b;
  if (!b) return a;
  return conjoin(*a, *b, limits_, lexer_, place);
}

void FormulaReader::check_choices(std::size_t count, const Token& place) const {
  if (count > limits_.choices)
    fail("BF3404", lexer_.place(place),
         fmt::format("a term with {} values to choose from, the limit is {}", count,
                     limits_.choices),
         "split the property: the verdicts of its parts decide it");
}

// Reads on from "(ite": a term that is the first one where the condition holds, else the second.
FormulaReader::Operand FormulaReader::read_term_choice(const Token& op, int depth) {
  const Lexer condition = lexer_;
  const Disjunction holds = read_formula(false, depth + 1);
  const Disjunction fails =
      read_again(condition, op, [&] { return read_formula(true, depth + 1); });
  std::vector<Choice> results;
  for (const Disjunction* const guard : {&holds, &fails})
    for (Choice& choice : choices_of(read_operand(depth + 1))) {
      choice.guard = both(choice.guard, *guard, op);
      if (!choice.guard->empty()) results.push_back(std::move(choice));
    }
  lexer_.expect(TokenKind::kClose, "')' after the two terms of ite");
  check_choices(results.size(), op);
  return operand_of(std::move(results));
}

}  // namespace bf_aot::vnnlib
