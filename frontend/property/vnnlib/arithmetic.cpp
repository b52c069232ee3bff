// Operands of comparisons: numbers, variables, and what + - * / make of them.

#include <fmt/format.h>

#include <algorithm>

#include "frontend/diagnostic.h"
#include "frontend/property/vnnlib/formula.h"

namespace bf_aot::vnnlib {
namespace {

// Results may need more digits than what they are made of; hostile ones without end.
constexpr std::size_t kMaxBits = 1 << 15;

bool starts_number(std::string_view text) {
  const char c = text[0];
  return (c >= '0' && c <= '9') || c == '-' || c == '+' || c == '.';
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
    const Token op = lexer_.expect(TokenKind::kWord, "one of + - * /");
    operand.kind = Operand::Kind::kAffine;
    operand.affine = read_arithmetic(op, depth);
    return operand;
  }
  if (token.kind != TokenKind::kWord) lexer_.fail_expected(token, "a number or a variable");
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

// Reads the operands of `op` up to the closing parenthesis.
Affine FormulaReader::read_arithmetic(const Token& op, int depth) {
  if (op.text != "+" && op.text != "-" && op.text != "*" && op.text != "/")
    fail("BF3406", lexer_.place(op), fmt::format("{} is not supported in a term", describe(op)),
         "terms are made of numbers, variables, + and -, and products with numbers");
  Affine result;
  int count = 0;
  for (; lexer_.peek().kind != TokenKind::kClose; ++count) {
    Operand operand = read_operand(depth + 1);
    Affine term = std::move(operand.affine);
    if (operand.kind == Operand::Kind::kNumber) term.constant = exact(operand.number);
    if (operand.kind == Operand::Kind::kVariable) term.terms.emplace_back(operand.variable, 1);
    if (count == 0) {
      result = std::move(term);
    } else if (op.text == "*") {
      result = multiply(std::move(result), std::move(term), op);
    } else if (op.text == "/") {
      result = divide(std::move(result), term, op);
    } else {
      const int sign = op.text == "-" ? -1 : 1;
      result.constant += sign * term.constant;
      check_size(result.constant, op);
      for (auto& [variable, factor] : term.terms)
        result.terms.emplace_back(variable, sign * factor);
    }
  }
  const Token close = lexer_.next();
  if (count == 0 || (count == 1 && op.text == "/")) lexer_.fail_expected(close, "an operand");
  if (count == 1 && op.text == "-") {
    result.constant = -result.constant;
    for (auto& [variable, factor] : result.terms) factor = -factor;
  }
  return result;
}

Affine FormulaReader::multiply(Affine a, Affine b, const Token& place) const {
  combine_terms(a, place);
  combine_terms(b, place);
  if (!a.terms.empty()) std::swap(a, b);
  if (!a.terms.empty())
    fail("BF3406", lexer_.place(place), "a product of variables is not affine",
         "only numbers may multiply variables");
  for (auto& [variable, factor] : b.terms) {
    factor *= a.constant;
    check_size(factor, place);
  }
  b.constant *= a.constant;
  check_size(b.constant, place);
  return b;
}

Affine FormulaReader::divide(Affine a, const Affine& b, const Token& place) const {
  Affine divisor = b;
  combine_terms(divisor, place);
  if (!divisor.terms.empty())
    fail("BF3406", lexer_.place(place), "a quotient by a variable is not affine",
         "only numbers may divide");
  if (divisor.constant == 0) fail("BF3406", lexer_.place(place), "division by zero");
  const mpq_class inverse = 1 / divisor.constant;
  return multiply(std::move(a), {{}, inverse}, place);
}

}  // namespace bf_aot::vnnlib
