#include "frontend/property/vnnlib/formula.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "frontend/diagnostic.h"
#include "frontend/property/vnnlib/read_again.h"
#include "frontend/property/vnnlib/tied_inputs.h"

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

bool is_true(const Disjunction& disjunction) {
  return disjunction.size() == 1 && disjunction[0].always_holds();
}

// A condition whose maxima can be chosen in more ways keeps them.
constexpr std::size_t kMostAlternatives = 64;

}  // namespace

// Moves what is shorter, so that a deep nest of disjunctions costs each disjunct little.
Disjunction unite(Disjunction a, Disjunction b) {
  if (a.size() < b.size()) std::swap(a, b);
  a.insert(a.end(), std::make_move_iterator(b.begin()), std::make_move_iterator(b.end()));
  return a;
}

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
  if (open.kind == TokenKind::kWord) {
    if (const Bound bound = find_bound(open.text); bound.binding != nullptr)
      return read_bound_formula(bound, negate, depth, open);
    if (open.text == "true" || open.text == "false")
      return (open.text == "true") != negate ? Disjunction(1) : Disjunction();
  }
  if (open.kind != TokenKind::kOpen) lexer_.fail_expected(open, "a condition");
  const Token op = lexer_.expect(TokenKind::kWord, "and, or, or a comparison");
  if (op.text == "and" || op.text == "or")
    return read_connective((op.text == "and") != negate, negate, depth);
  if (op.text == "=>") return read_implication(negate, depth);
  if (op.text == "ite") return read_formula_choice(negate, depth, op);
  if (op.text == "let") return read_let(depth, [&] { return read_formula(negate, depth + 1); });
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

// (ite c a b) is (or (and c a) (and (not c) b)).
Disjunction FormulaReader::read_formula_choice(bool negate, int depth, const Token& place) {
  const Lexer condition = lexer_;
  Disjunction holds = read_formula(false, depth + 1);
  Disjunction fails = read_again(condition, place, [&] { return read_formula(true, depth + 1); });
  Disjunction result =
      conjoin(std::move(holds), read_formula(negate, depth + 1), limits_, lexer_, place);
  result = unite(std::move(result), conjoin(std::move(fails), read_formula(negate, depth + 1),
                                            limits_, lexer_, place));
  lexer_.expect(TokenKind::kClose, "')' after the two parts of ite");
  return result;
}

// (distinct a b c) says that no two are equal, each with each.
Disjunction FormulaReader::read_distinct(const Token& op, bool negate, int depth) {
  Disjunction result = negate ? Disjunction() : Disjunction(1);
  std::vector<Operand> earlier;
  while (lexer_.peek().kind != TokenKind::kClose || earlier.size() < 2) {
    if (lexer_.peek().kind == TokenKind::kClose)
      lexer_.fail_expected(lexer_.next(), "a second operand");
    const Operand right = read_operand(depth + 1);
    for (const Operand& left : earlier) {
      Disjunction pair = relate(left, right, negate ? Relation::kEqual : Relation::kNotEqual, op);
      result = negate ? unite(std::move(result), std::move(pair))
                      : conjoin(std::move(result), std::move(pair), limits_, lexer_, op);
    }
    earlier.push_back(right);
  }
  lexer_.next();
  return result;
}

Disjunction FormulaReader::read_comparison(const Token& op, bool negate, int depth) {
  if (op.text == "distinct") return read_distinct(op, negate, depth);
  const bool reversed = op.text == ">=" || op.text == ">";
  Relation relation = Relation::kLessEqual;
  if (op.text == "<" || op.text == ">")
    relation = Relation::kLess;
  else if (op.text == "=" || op.text == "==")
    relation = Relation::kEqual;
  else if (op.text == "!=")
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
  if (a.kind == Operand::Kind::kChoices || b.kind == Operand::Kind::kChoices)
    return relate_choices(a, b, relation, place);
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

// The relation holds if and only if it does between the values whose guards hold.
Disjunction FormulaReader::relate_choices(const Operand& a, const Operand& b, Relation relation,
                                          const Token& place) {
  const std::vector<Choice> left = choices_of(a), right = choices_of(b);
  check_choices(left.size() * right.size(), place);
  const auto plain = [](const Affine& value) {
    Operand operand;
    operand.kind = Operand::Kind::kAffine;
    operand.affine = value;
    return operand;
  };
  Disjunction result;
  for (const Choice& x : left)
    for (const Choice& y : right) {
      Disjunction pair = relate(plain(x.value), plain(y.value), relation, place);
      if (auto guard = both(x.guard, y.guard, place))
        pair = conjoin(std::move(*guard), std::move(pair), limits_, lexer_, place);
      result = unite(std::move(result), std::move(pair));
    }
  return result;
}

// a <= b, or a < b.
Disjunction FormulaReader::less(const Operand& a, const Operand& b, bool strict,
                                const Token& place) {
  using Kind = Operand::Kind;
  Disjunction result(1);
  if (a.kind == Kind::kVariable && is_input(a.variable) && b.kind == Kind::kNumber) {
    result[0].bounds.push_back({a.variable, true, strict, b.number});
    return result;
  }
  if (b.kind == Kind::kVariable && is_input(b.variable) && a.kind == Kind::kNumber) {
    result[0].bounds.push_back({b.variable, false, strict, a.number});
    return result;
  }
  Affine difference;
  const auto add = [&](const Operand& operand, int sign) {
    if (operand.kind == Kind::kNumber) difference.constant += sign * exact(operand.number);
    if (operand.kind == Kind::kVariable) difference.terms.emplace_back(operand.variable, sign);
    if (operand.kind != Kind::kAffine) return;  // choices do not come here
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
  if (affine.terms.size() == 1 && is_input(first)) {
    result[0].bounds.push_back({first, factor > 0, strict, keep(limit / factor)});
    return result;
  }
  if (const auto term = maximum_to_split(affine))
    return split_maximum(std::move(affine), *term, strict, place);
  result[0].conditions.push_back(condition_of(std::move(affine), strict, place));
  return result;
}

// The inputs of a condition that is not linear become a derived value, so that its bounds know what
// its parts have in common.
Condition FormulaReader::condition_of(Affine affine, bool strict, const Token& place) {
  Condition condition;
  condition.strict = strict;
  condition.limit = -affine.constant;
  PropertyRow row;
  Affine inputs;
  for (auto& [variable, coefficient] : affine.terms) {
    if (is_input(variable))
      inputs.terms.emplace_back(variable, std::move(coefficient));
    else
      row.outputs.emplace_back(variable - kFirstOutput, std::move(coefficient));
  }
  if (affine.terms.back().first >= kFirstDerived && !inputs.terms.empty()) {
    Multiple sum = derived_.sum(std::move(inputs), place);
    row.outputs.emplace_back(sum.variable - kFirstOutput, std::move(sum.factor));
    std::ranges::sort(row.outputs, {}, [](const auto& term) { return term.first; });
    inputs.terms.clear();
  }
  row.inputs = std::move(inputs.terms);
  const RowTable::Match match = rows_.find(row);
  condition.row = match.index;
  condition.negated = match.scale < 0;
  condition.limit /= abs(match.scale);
  return condition;
}

// The ways of choosing an operand of each maximum, of those that operands hold too; or more than
// kMostAlternatives.
std::size_t FormulaReader::alternatives(const Affine& affine) const {
  std::size_t count = 1;
  for (const auto& [variable, factor] : affine.terms) {
    if (variable < kFirstDerived || derived_.at(variable).kind != DerivedValue::Kind::kMax)
      continue;
    std::size_t of_operands = 0;
    for (const Affine& operand : derived_.at(variable).operands) {
      of_operands += alternatives(operand);
      if (of_operands * count > kMostAlternatives) return kMostAlternatives + 1;
    }
    count *= of_operands;
  }
  return count;
}

std::optional<std::size_t> FormulaReader::maximum_to_split(const Affine& affine) const {
  const auto found = std::ranges::find_if(affine.terms, [&](const auto& term) {
    return term.first >= kFirstDerived && derived_.at(term.first).kind == DerivedValue::Kind::kMax;
  });
  if (found == affine.terms.end() || alternatives(affine) > kMostAlternatives) return std::nullopt;
  return static_cast<std::size_t>(found - affine.terms.begin());
}

// rest + k max(a, b) <= 0 is (and (rest + k a <= 0) (rest + k b <= 0)) for k > 0, and
// (or (rest + k a <= 0) (rest + k b <= 0)) for k < 0.
Disjunction FormulaReader::split_maximum(Affine affine, std::size_t term, bool strict,
                                         const Token& place) {
  const auto [variable, factor] = affine.terms[term];
  affine.terms.erase(affine.terms.begin() + static_cast<std::ptrdiff_t>(term));
  const std::vector<Affine> operands = derived_.at(variable).operands;
  Disjunction result = factor > 0 ? Disjunction(1) : Disjunction();
  for (const Affine& operand : operands) {
    Affine with = affine;
    with.constant += factor * operand.constant;
    for (const auto& [each, coefficient] : operand.terms)
      with.terms.emplace_back(each, factor * coefficient);
    Disjunction part = below_zero(std::move(with), strict, place);
    result = factor > 0 ? conjoin(std::move(result), std::move(part), limits_, lexer_, place)
                        : unite(std::move(result), std::move(part));
  }
  return result;
}

void FormulaReader::rename_inputs(Disjunct& disjunct, const TiedInputs& tied, const Token& place) {
  const auto renamed = [&](std::int64_t input) {
    const std::int64_t source = tied.source[static_cast<std::size_t>(input)];
    return source < tied.count ? source : kFirstOutput + source - tied.count;
  };
  Disjunct made;
  const auto add = [&](Affine affine, bool strict) {
    const Disjunction parts = below_zero(std::move(affine), strict, place);
    if (!parts.empty()) return append(made, parts[0]);
    for (const bool upper : {false, true})  // 0 < x_0 < 0: it never holds
      made.bounds.push_back({0, upper, true, keep(mpq_class(0))});
  };
  for (const InputBound& bound : disjunct.bounds) {
    const Variable variable = renamed(bound.input);
    if (is_input(variable)) {
      made.bounds.push_back({variable, bound.upper, bound.strict, bound.value});
    } else {
      const mpq_class value = exact(bound.value);
      add({{{variable, bound.upper ? 1 : -1}}, bound.upper ? mpq_class(-value) : value},
          bound.strict);
    }
  }
  for (Condition& condition : disjunct.conditions) {
    const PropertyRow row = rows()[static_cast<std::size_t>(condition.row)];
    if (row.inputs.empty()) {
      made.conditions.push_back(std::move(condition));
      continue;
    }
    Affine affine;
    affine.constant = -condition.limit;
    const int sign = condition.negated ? -1 : 1;
    for (const auto& [input, factor] : row.inputs)
      affine.terms.emplace_back(renamed(input), sign * factor);
    for (const auto& [output, factor] : row.outputs)
      affine.terms.emplace_back(kFirstOutput + output, sign * factor);
    add(std::move(affine), condition.strict);
  }
  disjunct = std::move(made);
}

void FormulaReader::take(Property& property) {
  property.rows = rows_.take();
  drop_unused_rows(property);
  property.derived = derived_.take(property);
}

}  // namespace bf_aot::vnnlib
