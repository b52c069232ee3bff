#include "frontend/property/vnnlib/formula.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "frontend/diagnostic.h"

namespace bf_aot::vnnlib {
namespace {

void append(Disjunct& to, const Disjunct& from) {
  to.bounds.insert(to.bounds.end(), from.bounds.begin(), from.bounds.end());
  to.conditions.insert(to.conditions.end(), from.conditions.begin(), from.conditions.end());
}

std::size_t count_literals(const Disjunction& disjunction) {
  std::size_t count = 0;
  for (const Disjunct& disjunct : disjunction) count += disjunct.literals();
  return count;
}

// Moves what is shorter, so that a deep nest of disjunctions costs each disjunct little.
Disjunction unite(Disjunction a, Disjunction b) {
  if (a.size() < b.size()) std::swap(a, b);
  a.insert(a.end(), std::make_move_iterator(b.begin()), std::make_move_iterator(b.end()));
  return a;
}

bool is_true(const Disjunction& disjunction) {
  return disjunction.size() == 1 && disjunction[0].always_holds();
}

}  // namespace

Disjunction conjoin(Disjunction a, Disjunction b, const PropertyLimits& limits, const Lexer& lexer,
                    const Token& place) {
  if (is_true(a) || b.empty()) return b;
  if (is_true(b) || a.empty()) return a;
  if (a.size() < b.size()) std::swap(a, b);
  if (a.size() > limits.disjuncts / b.size())
    fail("BF3404", lexer.place(place),
         fmt::format("multiplying out makes {} x {} cases, the limit is {}", a.size(), b.size(),
                     limits.disjuncts),
         "split the property: the verdicts of its parts decide it");
  // One literal to one conjunction, over and over, must not count that conjunction each time.
  if (a.size() > 1) {
    const std::size_t literals = count_literals(a) * b.size() + count_literals(b) * a.size();
    if (literals > limits.literals)
      fail("BF3404", lexer.place(place),
           fmt::format("multiplying out makes {} conditions, the limit is {}", literals,
                       limits.literals),
           "split the property: the verdicts of its parts decide it");
  }
  if (b.size() == 1) {
    for (Disjunct& disjunct : a) append(disjunct, b[0]);
    return a;
  }
  Disjunction product;
  product.reserve(a.size() * b.size());
  for (const Disjunct& left : a)
    for (const Disjunct& right : b) {
      product.push_back(left);
      append(product.back(), right);
    }
  return product;
}

RowTable::Match RowTable::find(const PropertyRow& form) {
  BF_CHECK(!form.outputs.empty() || !form.inputs.empty());
  mpz_class denominators = 1, numerators = 0;
  for (const LinearForm* part : {&form.outputs, &form.inputs})
    for (const auto& [index, factor] : *part) denominators = lcm(denominators, factor.get_den());
  for (const LinearForm* part : {&form.outputs, &form.inputs})
    for (const auto& [index, factor] : *part)
      numerators = gcd(numerators, mpz_class(factor.get_num() * (denominators / factor.get_den())));
  mpq_class scale(numerators, denominators);
  scale.canonicalize();
  if ((form.outputs.empty() ? form.inputs : form.outputs)[0].second < 0) scale = -scale;
  PropertyRow row;
  std::string key;
  const auto append = [&](const LinearForm& from, LinearForm& to, char kind) {
    for (const auto& [index, factor] : from) {
      to.emplace_back(index, factor / scale);
      key += fmt::format("{}{}:{} ", kind, index, to.back().second.get_str(36));
    }
  };
  append(form.outputs, row.outputs, 'y');
  append(form.inputs, row.inputs, 'x');
  const auto [found, added] = numbers_.try_emplace(std::move(key), static_cast<int>(rows_.size()));
  if (added) rows_.push_back(std::move(row));
  return {found->second, std::move(scale)};
}

void FormulaReader::check_depth(int depth, const Token& place) const {
  if (depth > limits_.depth)
    fail("BF3404", lexer_.place(place), fmt::format("formulas nest deeper than {}", limits_.depth));
}

Disjunction FormulaReader::read_formula(bool negate, int depth) {
  const Token open = lexer_.next();
  check_depth(depth, open);
  if (open.kind == TokenKind::kWord && (open.text == "true" || open.text == "false"))
    return (open.text == "true") != negate ? Disjunction(1) : Disjunction();
  if (open.kind != TokenKind::kOpen) lexer_.fail_expected(open, "a condition");
  const Token op = lexer_.expect(TokenKind::kWord, "and, or, or a comparison");
  if (op.text == "and" || op.text == "or")
    return read_connective((op.text == "and") != negate, negate, depth);
  if (op.text == "=>") return read_implication(negate, depth);
  if (op.text == "not") {
    Disjunction result = read_formula(!negate, depth + 1);
    lexer_.expect(TokenKind::kClose, "')'");
    return result;
  }
  return read_comparison(op, negate, depth);
}

// Reads on from "(and" or "(or". A negated connective is the other one of negated parts (De
// Morgan): `conjunction` says which it is after that.
Disjunction FormulaReader::read_connective(bool conjunction, bool negate, int depth) {
  Disjunction result = conjunction ? Disjunction(1) : Disjunction();
  while (lexer_.peek().kind != TokenKind::kClose) {
    const Token place = lexer_.peek();
    Disjunction part = read_formula(negate, depth + 1);
    if (conjunction)
      result = conjoin(std::move(result), std::move(part), limits_, lexer_, place);
    else
      result = unite(std::move(result), std::move(part));
    if (result.size() > limits_.disjuncts)
      fail("BF3404", lexer_.place(place), fmt::format("more than {} cases", limits_.disjuncts),
           "split the property: the verdicts of its parts decide it");
  }
  lexer_.next();
  return result;
}

// (=> a b) is (or (not a) b); negated, (and a (not b)).
Disjunction FormulaReader::read_implication(bool negate, int depth) {
  const Token place = lexer_.peek();
  Disjunction result = negate ? Disjunction(1) : Disjunction();
  for (const bool first : {true, false}) {
    Disjunction part = read_formula(first != negate, depth + 1);
    result = negate ? conjoin(std::move(result), std::move(part), limits_, lexer_, place)
                    : unite(std::move(result), std::move(part));
  }
  lexer_.expect(TokenKind::kClose, "')' after the two parts of an implication");
  return result;
}

Disjunction FormulaReader::read_comparison(const Token& op, bool negate, int depth) {
  const bool reversed = op.text == ">=" || op.text == ">";
  Relation relation = Relation::kLessEqual;
  if (op.text == "<" || op.text == ">")
    relation = Relation::kLess;
  else if (op.text == "=" || op.text == "==")
    relation = Relation::kEqual;
  else if (op.text == "!=" || op.text == "distinct")
    relation = Relation::kNotEqual;
  else if (op.text != "<=" && op.text != ">=")
    lexer_.fail_expected(op, "and, or, not, or one of <= >= < > = !=");

  // A chain (<= a b c) says a <= b and b <= c.
  Disjunction result = negate ? Disjunction() : Disjunction(1);
  Operand left = read_operand(depth + 1);
  int pairs = 0;
  while (lexer_.peek().kind != TokenKind::kClose) {
    Operand right = read_operand(depth + 1);
    const Operand& a = reversed ? right : left;
    const Operand& b = reversed ? left : right;
    // not (a <= b) is b < a.
    static constexpr Relation kOpposite[] = {Relation::kLess, Relation::kLessEqual,
                                             Relation::kNotEqual, Relation::kEqual};
    Disjunction pair = negate ? relate(b, a, kOpposite[static_cast<int>(relation)], op)
                              : relate(a, b, relation, op);
    if (negate)
      result = unite(std::move(result), std::move(pair));
    else
      result = conjoin(std::move(result), std::move(pair), limits_, lexer_, op);
    left = std::move(right);
    ++pairs;
  }
  const Token close = lexer_.next();
  if (pairs == 0) lexer_.fail_expected(close, "a second operand");
  if (pairs > 1 && relation == Relation::kNotEqual)
    fail("BF3403", lexer_.place(op), fmt::format("{} takes two operands", describe(op)));
  return result;
}

Disjunction FormulaReader::relate(const Operand& a, const Operand& b, Relation relation,
                                  const Token& place) {
  switch (relation) {
    case Relation::kLessEqual:
      return less(a, b, false, place);
    case Relation::kLess:
      return less(a, b, true, place);
    case Relation::kEqual:
      return conjoin(less(a, b, false, place), less(b, a, false, place), limits_, lexer_, place);
    case Relation::kNotEqual:
      return unite(less(a, b, true, place), less(b, a, true, place));
  }
  BF_CHECK(false);
  return {};
}

// a <= b, or a < b.
Disjunction FormulaReader::less(const Operand& a, const Operand& b, bool strict,
                                const Token& place) {
  using Kind = Operand::Kind;
  Disjunction result(1);
  if (a.kind == Kind::kVariable && !is_output(a.variable) && b.kind == Kind::kNumber) {
    result[0].bounds.push_back({a.variable, true, strict, b.number});
    return result;
  }
  if (b.kind == Kind::kVariable && !is_output(b.variable) && a.kind == Kind::kNumber) {
    result[0].bounds.push_back({b.variable, false, strict, a.number});
    return result;
  }
  Affine difference;
  const auto add = [&](const Operand& operand, int sign) {
    if (operand.kind == Kind::kNumber) difference.constant += sign * exact(operand.number);
    if (operand.kind == Kind::kVariable) difference.terms.emplace_back(operand.variable, sign);
    if (operand.kind != Kind::kAffine) return;
    difference.constant += sign * operand.affine.constant;
    for (const auto& [variable, factor] : operand.affine.terms)
      difference.terms.emplace_back(variable, sign * factor);
  };
  add(a, 1);
  add(b, -1);
  return below_zero(std::move(difference), strict, place);
}

// affine <= 0, or < 0: a constant truth, a bound of one input, or a condition.
Disjunction FormulaReader::below_zero(Affine affine, bool strict, const Token& place) {
  combine_terms(affine, place);
  check_size(affine.constant, place);
  const mpq_class limit = -affine.constant;
  if (affine.terms.empty())
    return (strict ? 0 < limit : 0 <= limit) ? Disjunction(1) : Disjunction();
  Disjunction result(1);
  const auto& [first, factor] = affine.terms[0];
  if (affine.terms.size() == 1 && !is_output(first)) {
    result[0].bounds.push_back({first, factor > 0, strict, keep(limit / factor)});
    return result;
  }
  Condition condition;
  condition.strict = strict;
  condition.limit = limit;
  PropertyRow row;
  for (auto& [variable, coefficient] : affine.terms) {
    if (is_output(variable))
      row.outputs.emplace_back(variable - kFirstOutput, std::move(coefficient));
    else
      row.inputs.emplace_back(variable, std::move(coefficient));
  }
  const RowTable::Match match = rows_.find(row);
  condition.row = match.index;
  condition.negated = match.scale < 0;
  condition.limit /= abs(match.scale);
  result[0].conditions.push_back(std::move(condition));
  return result;
}

}  // namespace bf_aot::vnnlib
