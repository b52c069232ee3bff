// Operands of comparisons: numbers, variables, and what + - * / make of them.

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "frontend/diagnostic.h"
#include "frontend/property/vnnlib/formula.h"
#include "frontend/property/vnnlib/read_again.h"

namespace bf_aot::vnnlib {
namespace {

// Results may need more digits than what they are made of; hostile ones without end.
constexpr std::size_t kMaxBits = 1 << 15;

// A sum of so many terms, and of each double, is combined while it is read: it may name few
// variables millions of times.
constexpr std::size_t kManyTerms = 1 << 12;

bool starts_number(std::string_view text) {
  const char c = text[0];
  return (c >= '0' && c <= '9') || c == '-' || c == '+' || c == '.';
}

Affine negated(Affine affine) {
  affine.constant = -affine.constant;
  for (auto& [variable, factor] : affine.terms) factor = -factor;
  return affine;
}

}  // namespace

void FormulaReader::check_size(const mpq_class& number, const Token& place) const {
  if (mpz_sizeinbase(number.get_num_mpz_t(), 2) + mpz_sizeinbase(number.get_den_mpz_t(), 2) >
      kMaxBits)
    fail("BF3404", lexer_.place(place), "the arithmetic makes a number of too many digits",
         "round the constants of the property");
}

Number FormulaReader::keep(const mpq_class& value) {
  computed_.push_back(value.get_num().get_str() + "/" + value.get_den().get_str());
  return enclose(value, computed_.back());
}

// Sorts the terms, adds those of equal variables, and drops zeros.
void FormulaReader::combine_terms(Affine& affine, const Token& place) const {
  auto& terms = affine.terms;
  std::stable_sort(terms.begin(), terms.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::size_t kept = 0;
  for (std::size_t i = 0; i < terms.size();) {
    const Variable variable = terms[i].first;
    mpq_class sum = std::move(terms[i].second);
    for (++i; i < terms.size() && terms[i].first == variable; ++i) {
      sum += terms[i].second;
      check_size(sum, place);
    }
    if (sum != 0) terms[kept++] = {variable, std::move(sum)};
  }
  terms.resize(kept);
}

FormulaReader::Operand FormulaReader::read_operand(int depth) {
  Operand operand;
  const Token token = lexer_.next();
  if (token.kind == TokenKind::kOpen) {
    check_depth(depth, token);
    return read_term(lexer_.expect(TokenKind::kWord, "an operator like + - * /"), depth);
  }
  if (token.kind != TokenKind::kWord) lexer_.fail_expected(token, "a number or a variable");
  if (const Bound bound = find_bound(token.text); bound.binding != nullptr) {
    if (bound.binding->is_formula)
      lexer_.fail_expected(token, "a number or a variable, and no formula,");
    return bound.binding->term;
  }
  if (!starts_number(token.text)) {
    operand.kind = Operand::Kind::kVariable;
    operand.variable = declarations_.resolve(token);
    return operand;
  }
  switch (parse_number(token.text, operand.number)) {
    case NumberError::kNone:
      break;
    case NumberError::kSyntax:
      lexer_.fail_expected(token, "a number or a variable");
    case NumberError::kTooLong:
      fail("BF3404", lexer_.place(token),
           fmt::format("{} has more than {} digits or an exponent beyond {}", describe(token),
                       kMaxDigits, kMaxExponent),
           "round the number");
  }
  return operand;
}

FormulaReader::Operand FormulaReader::read_term(const Token& op, int depth) {
  if (op.text == "+" || op.text == "-" || op.text == "*" || op.text == "/")
    return read_arithmetic(op, depth);
  if (op.text == "abs" || op.text == "min" || op.text == "max") return read_extremum(op, depth);
  if (op.text == "ite") return read_term_choice(op, depth);
  if (op.text == "let") return read_let(depth, [&] { return read_operand(depth + 1); });
  fail("BF3406", lexer_.place(op), fmt::format("{} is not supported in a term", describe(op)),
       "terms are made of numbers, variables, + - * /, abs, min, max, ite and let");
}

// Reads the operands of `op` up to the closing parenthesis.
FormulaReader::Operand FormulaReader::read_arithmetic(const Token& op, int depth) {
  std::vector<Choice> results(1);
  int count = 0;
  for (; lexer_.peek().kind != TokenKind::kClose; ++count) {
    std::vector<Choice> terms = choices_of(read_operand(depth + 1));
    if (count == 0) {
      results = std::move(terms);
    } else if (results.size() == 1 && terms.size() == 1) {
      apply(op, results[0].value, std::move(terms[0].value));
    } else {
      check_choices(results.size() * terms.size(), op);
      std::vector<Choice> made;
      for (const Choice& result : results)
        for (const Choice& term : terms) {
          made.push_back({both(result.guard, term.guard, op), result.value});
          apply(op, made.back().value, term.value);
        }
      results = std::move(made);
    }
  }
  const Token close = lexer_.next();
  if (count == 0 || (count == 1 && op.text == "/")) lexer_.fail_expected(close, "an operand");
  if (count == 1 && op.text == "-")
    for (Choice& result : results) result.value = negated(std::move(result.value));
  return operand_of(std::move(results));
}

void FormulaReader::apply(const Token& op, Affine& result, Affine term) {
  if (op.text == "*") {
    result = multiply(std::move(result), std::move(term), op);
  } else if (op.text == "/") {
    result = divide(std::move(result), term, op);
  } else {
    const int sign = op.text == "-" ? -1 : 1;
    result.constant += sign * term.constant;
    check_size(result.constant, op);
    for (auto& [variable, factor] : term.terms) {
      result.terms.emplace_back(variable, sign * factor);
      const std::size_t count = result.terms.size();
      if (count >= kManyTerms && std::has_single_bit(count)) combine_terms(result, op);
    }
  }
}

Affine FormulaReader::multiply(Affine a, Affine b, const Token& place) {
  combine_terms(a, place);
  combine_terms(b, place);
  if (!a.is_constant() && !b.is_constant()) {
    Multiple product = derived_.product(std::move(a), std::move(b), place);
    check_size(product.factor, place);
    return {{{product.variable, std::move(product.factor)}}, 0};
  }
  if (!a.is_constant()) std::swap(a, b);
  for (auto& [variable, factor] : b.terms) {
    factor *= a.constant;
    check_size(factor, place);
  }
  b.constant *= a.constant;
  check_size(b.constant, place);
  return b;
}

Affine FormulaReader::divide(Affine a, const Affine& b, const Token& place) {
  Affine divisor = b;
  combine_terms(divisor, place);
  if (!divisor.is_constant())
    fail(
        "BF3406", lexer_.place(place), "a quotient by a variable is not supported",
        "only numbers may divide: multiply the condition by the divisor, whose sign must be known");
  if (divisor.constant == 0) fail("BF3406", lexer_.place(place), "division by zero");
  const mpq_class inverse = 1 / divisor.constant;
  return multiply(std::move(a), {{}, inverse}, place);
}

// Reads the operands of abs, min or max up to the closing parenthesis.
FormulaReader::Operand FormulaReader::read_extremum(const Token& op, int depth) {
  struct Operands {
    std::optional<Disjunction> guard;
    std::vector<Affine> values;
  };
  std::vector<Operands> all(1);
  int count = 0;
  for (; lexer_.peek().kind != TokenKind::kClose; ++count) {
    const std::vector<Choice> choices = choices_of(read_operand(depth + 1));
    check_choices(all.size() * choices.size(), op);
    std::vector<Operands> made;
    for (Operands& before : all)
      for (const Choice& choice : choices) {
        Operands& with = made.emplace_back();
        with.guard = both(before.guard, choice.guard, op);
        with.values = choices.size() == 1 ? std::move(before.values) : before.values;
        with.values.push_back(choice.value);
      }
    all = std::move(made);
  }
  const Token close = lexer_.next();
  if (count == 0) lexer_.fail_expected(close, "an operand");
  if (count > 1 && op.text == "abs") fail("BF3403", lexer_.place(op), "abs takes one operand");
  std::vector<Choice> results;
  for (Operands& each : all)
    results.push_back({std::move(each.guard), extremum(op.text, std::move(each.values), op)});
  return operand_of(std::move(results));
}

// |a| = max(a, -a), min(a, b) = -max(-a, -b).
Affine FormulaReader::extremum(std::string_view op, std::vector<Affine> operands,
                               const Token& place) {
  if (op == "max") return largest(std::move(operands), place);
  if (op == "abs") {
    Affine other = negated(operands[0]);
    return largest({std::move(operands[0]), std::move(other)}, place);
  }
  for (Affine& operand : operands) operand = negated(std::move(operand));
  return negated(largest(std::move(operands), place));
}

Affine FormulaReader::largest(std::vector<Affine> operands, const Token& place) {
  std::vector<Affine> distinct;
  std::optional<mpq_class> constant;
  for (Affine& operand : operands) {
    combine_terms(operand, place);
    if (operand.is_constant()) {
      constant = constant ? std::max(*constant, operand.constant) : operand.constant;
      continue;
    }
    if (std::ranges::find(distinct, operand) == distinct.end())
      distinct.push_back(std::move(operand));
  }
  if (constant) distinct.push_back({{}, *constant});
  if (distinct.size() == 1) return distinct[0];
  Multiple made = derived_.largest(std::move(distinct), place);
  check_size(made.factor, place);
  return {{{made.variable, std::move(made.factor)}}, 0};
}

}  // namespace bf_aot::vnnlib
