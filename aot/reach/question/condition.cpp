#include "aot/reach/question/condition.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>

#include "frontend/diagnostic.h"
#include "frontend/graph/model.h"
#include "frontend/numbers/numbers.h"
#include "frontend/property/vnnlib/lexer.h"

namespace bf_aot::reach {
namespace {

using vnnlib::Token;
using vnnlib::TokenKind;
using Kind = ScalarStep::Kind;

constexpr int kDeepest = 200;
constexpr std::size_t kMostOperations = 20000;
constexpr std::size_t kMostBits = 1 << 15;  // of a number that arithmetic makes

constexpr std::pair<std::string_view, FunctionKind> kFunctions[] = {
    {"abs", FunctionKind::kAbs}, {"sqrt", FunctionKind::kSqrt}, {"sin", FunctionKind::kSin},
    {"cos", FunctionKind::kCos}, {"exp", FunctionKind::kExp},   {"tanh", FunctionKind::kTanh}};

constexpr std::string_view kOperators[] = {"+", "-", "*", "/", "min", "max"};

const FunctionKind* function_named(std::string_view name) {
  const auto* const found =
      std::ranges::find(kFunctions, name, [](const auto& f) { return f.first; });
  return found == std::end(kFunctions) ? nullptr : &found->second;
}

// Joins formulas. What always or never holds is left out, or is the whole.
Formula join(Formula::Kind kind, std::vector<Formula> parts) {
  Formula made;
  made.kind = kind;
  for (Formula& part : parts) {
    if (part.kind == Formula::Kind::kCompare) {
      made.parts.push_back(std::move(part));
    } else if (part.kind == kind) {
      for (Formula& inner : part.parts) made.parts.push_back(std::move(inner));
    } else if (part.parts.empty()) {
      return part;
    } else {
      made.parts.push_back(std::move(part));
    }
  }
  if (made.parts.size() != 1) return made;
  Formula only = std::move(made.parts.front());
  return only;
}

Formula truth(bool holds) {
  return join(holds ? Formula::Kind::kAll : Formula::Kind::kAny, {});
}

std::size_t output_of(ScalarProgram& program, std::size_t step) {
  const auto found = std::ranges::find(program.outputs, step);
  if (found == program.outputs.end()) {
    program.outputs.push_back(step);
    return program.outputs.size() - 1;
  }
  return static_cast<std::size_t>(found - program.outputs.begin());
}

// A term: a number, or the step that computes it.
struct Term {
  std::optional<mpq_class> number;
  std::size_t step = 0;
};

class ConditionReader {
 public:
  ConditionReader(const std::string& text, const ConditionNames& names, const std::string& where)
      : lexer_(text, where), names_(names) {
    made_.text = text;
    made_.values.inputs = 2 * names.states + names.controls;
    for (std::size_t i = 0; i < made_.values.inputs; ++i) made_.values.input(i);
  }

  Condition read() {
    made_.formula = read_formula(false, 0);
    const Token rest = lexer_.next();
    if (rest.kind != TokenKind::kEnd) fail_expected(rest, "the end of the condition");
    return std::move(made_);
  }

 private:
  // -------------------------------------------------------------------------------------------
  // Messages.

  [[noreturn]] void fail_at(const Token& place, std::string what, std::string hint) const {
    fail("BF3610", lexer_.place(place), std::move(what), std::move(hint));
  }

  [[noreturn]] void fail_expected(const Token& found, std::string_view what) const {
    fail_at(found,
            fmt::format("found {} where {} is expected",
                        found.kind == TokenKind::kEnd ? "the end" : describe(found), what),
            "conditions are written as (<= (+ x[0] (* 2 u[0])) 1.5)");
  }

  void check_depth(int depth, const Token& place) const {
    if (depth > kDeepest)
      fail_at(place, fmt::format("conditions nest deeper than {}", kDeepest),
              "write sums and products of many operands in one pair of parentheses");
  }

  void close(std::string_view what) {
    const Token found = lexer_.next();
    if (found.kind != TokenKind::kClose) fail_expected(found, what);
  }

  // -------------------------------------------------------------------------------------------
  // Formulas.

  Formula read_formula(bool negate, int depth) {
    const Token open = lexer_.next();
    check_depth(depth, open);
    if (open.kind == TokenKind::kWord && (open.text == "true" || open.text == "false"))
      return truth((open.text == "true") != negate);
    if (open.kind != TokenKind::kOpen) fail_expected(open, "a condition in parentheses");
    const Token op = lexer_.next();
    if (op.kind != TokenKind::kWord) fail_expected(op, "and, or, not, => or a comparison");
    if (op.text == "and" || op.text == "or")
      return read_connective(op.text == "and", negate, depth);
    if (op.text == "=>") return read_implication(negate, depth);
    if (op.text != "not") return read_comparison(op, negate, depth);
    Formula made = read_formula(!negate, depth + 1);
    close("')' after the part of not");
    return made;
  }

  // Negated, it is the other connective of negated parts.
  Formula read_connective(bool conjunction, bool negate, int depth) {
    std::vector<Formula> parts;
    while (lexer_.peek().kind != TokenKind::kClose)
      parts.push_back(read_formula(negate, depth + 1));
    lexer_.next();
    return join(conjunction != negate ? Formula::Kind::kAll : Formula::Kind::kAny,
                std::move(parts));
  }

  // (=> a b) is (or (not a) b).
  Formula read_implication(bool negate, int depth) {
    std::vector<Formula> parts;
    parts.push_back(read_formula(!negate, depth + 1));
    parts.push_back(read_formula(negate, depth + 1));
    close("')' after the two parts of =>");
    return join(negate ? Formula::Kind::kAll : Formula::Kind::kAny, std::move(parts));
  }

  // A chain (<= a b c) says a <= b and b <= c.
  Formula read_comparison(const Token& op, bool negate, int depth) {
    const bool equal = op.text == "=" || op.text == "==", differ = op.text == "!=";
    const bool strict = op.text == "<" || op.text == ">";
    const bool swapped = op.text == ">" || op.text == ">=";
    if (!equal && !differ && !strict && !swapped && op.text != "<=")
      fail_at(op, fmt::format("'{}' is no comparison", printable(op.text)),
              "conditions are made of and, or, not, => and <= >= < > = !=");
    std::vector<Term> terms;
    while (lexer_.peek().kind != TokenKind::kClose || terms.size() < 2)
      terms.push_back(read_term(depth + 1));
    if (differ && terms.size() > 2)
      fail_at(op, "!= takes two operands", "compare each two of them, joined by and");
    lexer_.next();
    std::vector<Formula> parts;
    for (std::size_t i = 0; i + 1 < terms.size(); ++i) {
      const Term &a = terms[swapped ? i + 1 : i], &b = terms[swapped ? i : i + 1];
      if (equal || differ)
        parts.push_back(join(equal != negate ? Formula::Kind::kAll : Formula::Kind::kAny,
                             {less(a, b, equal == negate), less(b, a, equal == negate)}));
      else
        parts.push_back(negate ? less(b, a, !strict) : less(a, b, strict));
    }
    return join(negate ? Formula::Kind::kAny : Formula::Kind::kAll, std::move(parts));
  }

  Formula less(const Term& a, const Term& b, bool strict) {
    if (a.number && b.number) return truth(strict ? *a.number < *b.number : *a.number <= *b.number);
    Formula made;
    made.kind = Formula::Kind::kCompare;
    made.strict = strict;
    made.value = output_of(made_.values, step_of(subtract(a, b)));
    return made;
  }

  // -------------------------------------------------------------------------------------------
  // Terms.

  Term read_term(int depth) {
    const Token token = lexer_.next();
    check_depth(depth, token);
    if (token.kind == TokenKind::kWord) return read_word(token);
    if (token.kind != TokenKind::kOpen) fail_expected(token, "a number, an element or a term");
    const Token op = lexer_.next();
    if (op.kind != TokenKind::kWord) fail_expected(op, "an operator");
    place_ = op;
    std::vector<Term> operands;
    while (lexer_.peek().kind != TokenKind::kClose) operands.push_back(read_term(depth + 1));
    place_ = op;
    const Token end = lexer_.next();
    if (operands.empty()) fail_expected(end, "an operand");
    return combine(op, operands, end);
  }

  Term combine(const Token& op, const std::vector<Term>& operands, const Token& end) {
    if (const FunctionKind* const function = function_named(op.text)) {
      if (operands.size() != 1)
        fail_at(op, fmt::format("{} takes one operand", op.text), "leave out the others");
      return {{}, record({Kind::kFunction, step_of(operands[0]), 0, {}, Function{*function}})};
    }
    if (std::ranges::find(kOperators, op.text) == std::end(kOperators))
      fail_at(op, fmt::format("'{}' is not known in a term", printable(op.text)),
              "terms are made of numbers, elements, + - * / min max abs sqrt sin cos exp tanh");
    if (op.text == "-" && operands.size() == 1) return subtract({mpq_class(0), 0}, operands[0]);
    if (op.text == "/" && operands.size() == 1) fail_expected(end, "a divisor");
    Term made = operands[0];
    for (std::size_t i = 1; i < operands.size(); ++i) made = combine(op, made, operands[i]);
    return made;
  }

  Term combine(const Token& op, const Term& a, const Term& b) {
    if (op.text == "+") return add(a, b);
    if (op.text == "-") return subtract(a, b);
    if (op.text == "*") return multiply(a, b);
    if (op.text == "/") return divide(a, b);
    if (op.text == "max") return larger(a, b);
    const Term zero = {mpq_class(0), 0};  // min(a, b) = -max(-a, -b)
    return subtract(zero, larger(subtract(zero, a), subtract(zero, b)));
  }

  static bool is(const Term& term, int number) { return term.number && *term.number == number; }

  Term add(const Term& a, const Term& b) {
    if (a.number && b.number) return number(*a.number + *b.number);
    if (is(a, 0)) return b;
    return is(b, 0) ? a : operation(Kind::kAdd, a, b);
  }
  Term subtract(const Term& a, const Term& b) {
    if (a.number && b.number) return number(*a.number - *b.number);
    return is(b, 0) ? a : operation(Kind::kSubtract, a, b);
  }
  Term multiply(const Term& a, const Term& b) {
    if (a.number && b.number) return number(*a.number * *b.number);
    if (is(a, 1)) return b;
    return is(b, 1) ? a : operation(Kind::kMultiply, a, b);
  }
  Term divide(const Term& a, const Term& b) {
    if (!b.number) return operation(Kind::kDivide, a, b);
    if (is(b, 0)) fail_at(place_, "division by zero", "write another divisor");
    return multiply(a, number(1 / *b.number));
  }
  Term larger(const Term& a, const Term& b) {
    if (a.number && b.number) return *a.number < *b.number ? b : a;
    return operation(Kind::kLarger, a, b);
  }

  Term operation(Kind kind, const Term& a, const Term& b) {
    const std::size_t left = step_of(a), right = step_of(b);
    return {{}, record({kind, left, right, {}, {}})};
  }

  Term number(const mpq_class& value) const {
    if (mpz_sizeinbase(value.get_num_mpz_t(), 2) + mpz_sizeinbase(value.get_den_mpz_t(), 2) >
        kMostBits)
      fail_at(place_, "the arithmetic makes a number of too many digits", "round its numbers");
    return {value, 0};
  }

  std::size_t step_of(const Term& term) {
    if (!term.number) return term.step;
    const vnnlib::Rounded rounded = vnnlib::round_to_double(*term.number);
    if (!std::isfinite(rounded.error))
      fail_at(place_, "a number is beyond the range of doubles", "scale the condition");
    return record({Kind::kConstant, 0, 0, {rounded.value, rounded.error}, {}});
  }

  // The step that computes this; each is there once, so that (* a a) is a square.
  std::size_t record(const ScalarStep& step) {
    const auto key = std::tuple(step.kind, step.a, step.b, step.constant.value, step.constant.error,
                                step.function.kind);
    const auto [found, added] = known_.try_emplace(key, made_.values.steps.size());
    if (added) made_.values.add(step);
    if (made_.values.steps.size() > kMostOperations)
      fail_at(place_, fmt::format("the condition has more than {} operations", kMostOperations),
              "split it: each requirement has a condition of its own");
    return found->second;
  }

  // -------------------------------------------------------------------------------------------
  // Numbers and elements.

  Term read_word(const Token& token) {
    place_ = token;
    if (const auto element = element_named(token)) return {{}, *element};
    vnnlib::Number value;
    switch (vnnlib::parse_number(token.text, value)) {
      case vnnlib::NumberError::kNone:
        return {exact(value), 0};
      case vnnlib::NumberError::kTooLong:
        fail_at(token, "the number has too many digits, or too large an exponent",
                fmt::format("decimals may have {} digits and exponents up to {}",
                            vnnlib::kMaxDigits, vnnlib::kMaxExponent));
      case vnnlib::NumberError::kSyntax:
        fail_element(token);
    }
    fail_element(token);
  }

  std::optional<std::size_t> element_named(const Token& token) const {
    if (const auto state = state_named(token.text)) return state;
    const std::size_t bracket = token.text.find('[');
    if (bracket == std::string_view::npos) return std::nullopt;
    const std::string_view tensor = token.text.substr(0, bracket);
    std::string_view index = token.text.substr(bracket + 1, token.text.size() - bracket - 2);
    if (const std::size_t comma = index.find(','); comma != std::string_view::npos) {
      if (trimmed(index.substr(0, comma)) != "0") fail_element(token);
      index = index.substr(comma + 1);
    }
    index = trimmed(index);
    if (tensor == "u" || tensor == "U")
      return checked(token, index, names_.controls, names_.states);
    const std::size_t first =
        tensor == "x0" || tensor == "X0" ? names_.states + names_.controls : 0;
    if (first == 0 && tensor != "x" && tensor != "X") fail_element(token);
    if (const auto state = state_named(index)) return first + *state;
    return checked(token, index, names_.states, first);
  }

  std::size_t checked(const Token& token, std::string_view index, std::size_t count,
                      std::size_t first) const {
    std::size_t i = 0;
    const auto read = std::from_chars(index.data(), index.data() + index.size(), i);
    if (read.ec != std::errc() || read.ptr != index.data() + index.size() || i >= count)
      fail_element(token);
    return first + i;
  }

  std::optional<std::size_t> state_named(std::string_view name) const {
    const auto found = std::ranges::find(names_.state_names, name);
    if (found == names_.state_names.end()) return std::nullopt;
    return static_cast<std::size_t>(found - names_.state_names.begin());
  }

  static std::string_view trimmed(std::string_view text) {
    const std::size_t first = text.find_first_not_of(" \t");
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(" \t") + 1 - first);
  }

  [[noreturn]] void fail_element(const Token& token) const {
    std::string hint = fmt::format("the state now is x[0] to x[{}], at the start x0[0] to x0[{}]",
                                   names_.states - 1, names_.states - 1);
    if (names_.controls > 0)
      hint += fmt::format(", the control u[0] to u[{}]", names_.controls - 1);
    for (std::size_t i = 0; i < names_.state_names.size(); ++i)
      hint += (i == 0 ? "; names are " : ", ") + printable(names_.state_names[i]);
    fail("BF3611", lexer_.place(token),
         fmt::format("'{}' is no number and no element of the loop", printable(token.text)), hint);
  }

  vnnlib::Lexer lexer_;
  const ConditionNames& names_;
  Token place_;  // of what is being made, for messages
  Condition made_;
  std::map<std::tuple<Kind, std::size_t, std::size_t, double, double, FunctionKind>, std::size_t>
      known_;
};

bool is_zero(const ScalarStep& step) {
  return step.kind == Kind::kConstant && step.constant == Bounded{0, 0};
}

// The output whose value is that of `value` with the other sign.
std::size_t opposite_value(ScalarProgram& program, std::size_t value) {
  const std::size_t step = program.outputs[value];
  const ScalarStep made = program.steps[step];
  if (made.kind != Kind::kSubtract) {
    const std::size_t zero = program.constant({0, 0});
    return output_of(program, program.add({Kind::kSubtract, zero, step, {}, {}}));
  }
  if (is_zero(program.steps[made.a])) return output_of(program, made.b);
  for (std::size_t i = 0; i < program.outputs.size(); ++i) {
    const ScalarStep& other = program.steps[program.outputs[i]];
    if (other.kind == Kind::kSubtract && other.a == made.b && other.b == made.a) return i;
  }
  return output_of(program, program.add({Kind::kSubtract, made.b, made.a, {}, {}}));
}

Formula opposite(const Formula& formula, ScalarProgram& program) {
  Formula made;
  if (formula.kind == Formula::Kind::kCompare) {
    made.kind = formula.kind;
    made.value = opposite_value(program, formula.value);
    made.strict = !formula.strict;
    return made;
  }
  made.kind = formula.kind == Formula::Kind::kAll ? Formula::Kind::kAny : Formula::Kind::kAll;
  for (const Formula& part : formula.parts) made.parts.push_back(opposite(part, program));
  return made;
}

}  // namespace

Condition Condition::negated() const {
  Condition made;
  made.values = values;
  made.formula = opposite(formula, made.values);
  made.text = "(not " + text + ")";
  return made;
}

Condition parse_condition(const std::string& text, const ConditionNames& names,
                          const std::string& where) {
  try {
    return ConditionReader(text, names, where).read();
  } catch (const CompileError& error) {
    Diagnostic diagnostic = error.diagnostics().front();
    if (diagnostic.code != "BF3403") throw;
    diagnostic.code = "BF3610";  // a token that is none
    throw CompileError({diagnostic});
  }
}

}  // namespace bf_aot::reach
