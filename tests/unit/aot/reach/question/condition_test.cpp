#include "aot/reach/question/condition.h"

#include <fmt/format.h>
#include <gmpxx.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "frontend/diagnostic.h"
#include "frontend/functions/function.h"
#include "tests/seed.h"

namespace bf_aot::reach {
namespace {

const ConditionNames kNames = {2, 1, {"height", "speed"}};

// Exact arithmetic of programs without functions but |x|.
struct Rationals {
  static mpq_class constant(const Bounded& x) {
    EXPECT_EQ(x.error, 0);
    return mpq_class(x.value);
  }
  static mpq_class add(const mpq_class& a, const mpq_class& b) { return a + b; }
  static mpq_class subtract(const mpq_class& a, const mpq_class& b) { return a - b; }
  static mpq_class multiply(const mpq_class& a, const mpq_class& b) { return a * b; }
  static mpq_class square(const mpq_class& a) { return a * a; }
  static mpq_class divide(const mpq_class& a, const mpq_class& b) { return a / b; }
  static mpq_class relu(const mpq_class& a) { return a > 0 ? a : mpq_class(0); }
  static mpq_class larger(const mpq_class& a, const mpq_class& b) { return a > b ? a : b; }
  static mpq_class apply(const Function& f, const mpq_class& x) {
    EXPECT_EQ(f.kind, FunctionKind::kAbs);
    return abs(x);
  }
};

struct Doubles {
  static double constant(const Bounded& x) { return x.value; }
  static double add(double a, double b) { return a + b; }
  static double subtract(double a, double b) { return a - b; }
  static double multiply(double a, double b) { return a * b; }
  static double square(double a) { return a * a; }
  static double divide(double a, double b) { return a / b; }
  static double relu(double a) { return std::fmax(a, 0); }
  static double larger(double a, double b) { return std::fmax(a, b); }
  static double apply(const Function& f, double x) { return evaluate(f, x); }
};

template <class Number>
bool holds(const Formula& formula, const std::vector<Number>& values) {
  using Kind = Formula::Kind;
  if (formula.kind == Kind::kCompare)
    return formula.strict ? values[formula.value] < 0 : values[formula.value] <= 0;
  for (const Formula& part : formula.parts)
    if (holds(part, values) != (formula.kind == Kind::kAll)) return formula.kind == Kind::kAny;
  return formula.kind == Kind::kAll;
}

bool holds(const Condition& condition, const std::vector<mpq_class>& point) {
  return holds(condition.formula, outputs_of(condition.values, point, Rationals{}));
}

bool holds(const std::string& text, const std::vector<mpq_class>& point) {
  const Condition condition = parse_condition(text, kNames, "condition");
  const bool result = holds(condition, point);
  EXPECT_NE(result, holds(condition.negated(), point)) << text;
  EXPECT_EQ(result, holds(condition.negated().negated(), point)) << text;
  return result;
}

// The point is x, u, x0.
TEST(ReachCondition, Elements) {
  const std::vector<mpq_class> point = {3, 5, 7, 11, 13};
  for (const char* text :
       {"(= x[0] 3)", "(= X[0,1] 5)", "(= u[0] 7)", "(= U[0, 0] 7)", "(= x0[0] 11)",
        "(= X0[0,1] 13)", "(= height 3)", "(= speed 5)", "(= x0[speed] 13)"})
    EXPECT_TRUE(holds(text, point)) << text;
}

TEST(ReachCondition, Formulas) {
  const std::vector<mpq_class> point = {3, 5, 7, 11, 13};
  for (const char* text : {"true",
                           "(not false)",
                           "(and)",
                           "(not (or))",
                           "(<= 1 x[0] 3 3)",
                           "(< x[0] x[1] u[0])",
                           "(>= 4 x[0] 3)",
                           "(> x[1] x[0] 2)",
                           "(!= x[0] 4)",
                           "(not (!= x[0] 3))",
                           "(== x[0] 3 3)",
                           "(=> (< x[0] 3) false)",
                           "(=> true (<= x[0] 3))",
                           "(or (< x[0] 3) (and (<= x[0] 3) true))",
                           "(not (= x[0] 3 4))",
                           "(not (and (<= x[0] 3) (< x[1] 5)))",
                           "(<= 1 2)",
                           "(not (<= 2 1))",
                           "(= (+ 0.1 0.2) 0.3)",
                           "(= (+ x[0] 0.25 0.5) 3.75)",
                           "(= (- x[0] 1 2) 0)",
                           "(= (- x[0]) -3)",
                           "(= (* x[0] x[0]) 9)",
                           "(= (/ x[0] 4) 0.75)",
                           "(= (/ 15 x[1]) 3)",
                           "(= (min x[0] x[1] 4) 3)",
                           "(= (max 4 x[0]) 4)",
                           "(= (abs (- x[0] x[1])) 2)",
                           "(= (+ x[0]) (* x[0] 1)) ; and a comment"})
    EXPECT_TRUE(holds(text, point)) << text;
}

TEST(ReachCondition, WhatAlwaysHoldsIsNothing) {
  Formula truth;
  EXPECT_EQ(parse_condition("(or (< x[0] 0) (<= 0 0))", kNames, "").formula, truth);
  truth.kind = Formula::Kind::kAny;
  EXPECT_EQ(parse_condition("(and (< x[0] 0) (< 0 0))", kNames, "").formula, truth);
}

TEST(ReachCondition, EqualStepsAreOne) {
  const Condition made =
      parse_condition("(<= (* (- x[0] 1) (- x[0] 1)) (abs (- x[0] 1)))", kNames, "");
  // The five inputs, 1, the difference, its square, |.|, and what is compared.
  EXPECT_EQ(made.values.steps.size(), 10u);
  EXPECT_EQ(made.values.steps[7].a, made.values.steps[7].b);
}

TEST(ReachCondition, NumbersThatAreNoDoublesHaveErrors) {
  const Condition made = parse_condition("(<= (* x[0] 1.4) 1)", kNames, "");
  const Bounded factor = made.values.steps[5].constant;
  EXPECT_GT(factor.error, 0);
  EXPECT_LE(abs(mpq_class(factor.value) - mpq_class(7, 5)), mpq_class(factor.error));
}

// A random term or condition: its text, and its value at a point.
template <class Number>
struct Random {
  std::string text;
  std::function<Number(const std::vector<Number>&)> value;
};

class Writer {
 public:
  explicit Writer(std::uint64_t seed) : random_(seed) {}

  std::size_t below(std::size_t n) { return random_() % n; }
  // A dyadic number, which is a double.
  mpq_class number() { return mpq_class((static_cast<int>(random_() % 65) - 32) / 8.0); }

  template <class Number>
  Random<Number> term(int depth, bool functions) {
    if (depth == 0 || below(5) == 0) return leaf<Number>();
    const Random<Number> a = term<Number>(depth - 1, functions);
    const Random<Number> b = term<Number>(depth - 1, functions);
    const auto binary = [&](const char* name, auto operation) {
      return Random<Number>{fmt::format("({} {} {})", name, a.text, b.text),
                            [=](const std::vector<Number>& p) {
                              const Number left = a.value(p), right = b.value(p);
                              return Number(operation(left, right));
                            }};
    };
    switch (below(functions ? 8 : 6)) {
      case 0:
        return binary("+", [](const Number& x, const Number& y) { return Number(x + y); });
      case 1:
        return binary("-", [](const Number& x, const Number& y) { return Number(x - y); });
      case 2:
        return binary("*", [](const Number& x, const Number& y) { return Number(x * y); });
      case 3:
        return binary("min", [](const Number& x, const Number& y) { return x < y ? x : y; });
      case 4:
        return binary("max", [](const Number& x, const Number& y) { return x < y ? y : x; });
      case 5:
        return {"(abs " + a.text + ")", [=](const std::vector<Number>& p) {
                  using std::abs;
                  return Number(abs(a.value(p)));
                }};
      default:
        return function<Number>(a);
    }
  }

  template <class Number>
  Random<bool> comparison(const Random<Number>& a, const Random<Number>& b,
                          const std::vector<Number>& p) {
    const Number x = a.value(p), y = b.value(p);
    const std::pair<const char*, bool> all[] = {{"<=", x <= y}, {"<", x < y},  {">=", x >= y},
                                                {">", x > y},   {"=", x == y}, {"!=", x != y}};
    const auto& [name, result] = all[below(6)];
    return {fmt::format("({} {} {})", name, a.text, b.text),
            [result = result](const std::vector<bool>&) { return result; }};
  }

  // A condition, and whether it holds at the point.
  template <class Number>
  std::pair<std::string, bool> condition(int depth, const std::vector<Number>& p, bool functions) {
    if (depth == 0) {
      const auto made = comparison(term<Number>(3, functions), term<Number>(2, functions), p);
      return {made.text, made.value({})};
    }
    const auto [a, left] = condition(depth - 1, p, functions);
    const auto [b, right] = condition(depth - 1, p, functions);
    switch (below(4)) {
      case 0:
        return {fmt::format("(and {} {})", a, b), left && right};
      case 1:
        return {fmt::format("(or {} {})", a, b), left || right};
      case 2:
        return {fmt::format("(=> {} {})", a, b), !left || right};
      default:
        return {fmt::format("(not {})", a), !left};
    }
  }

 private:
  template <class Number>
  Random<Number> leaf() {
    if (below(3) == 0) {
      const mpq_class made = number();
      const double value = made.get_d();
      return {fmt::format("{}", value), [=](const std::vector<Number>&) { return Number(value); }};
    }
    static const char* const kElements[] = {"x[0]", "speed", "u[0]", "x0[0]", "X0[0,1]"};
    const std::size_t i = below(5);
    return {kElements[i], [=](const std::vector<Number>& p) { return p[i]; }};
  }

  template <class Number>
  Random<Number> function(const Random<Number>& a) {
    if constexpr (std::is_same_v<Number, double>) {
      using Routine = double (*)(double);
      static constexpr std::pair<const char*, Routine> kRoutines[] = {
          {"sin", std::sin}, {"cos", std::cos}, {"exp", std::exp}, {"tanh", std::tanh}};
      const auto [name, routine] = kRoutines[below(4)];
      return {fmt::format("({} {})", name, a.text),
              [a, routine = routine](const std::vector<double>& p) { return routine(a.value(p)); }};
    }
    return a;
  }

  std::mt19937_64 random_;
};

TEST(ReachCondition, RandomConditionsHoldWhereTheyDo) {
  const std::uint64_t seed = testing::seed_from_environment(31);
  int true_ones = 0;
  for (std::uint64_t trial = 0; trial < 3000; ++trial) {
    Writer writer(seed + trial);
    std::vector<mpq_class> point;
    for (int i = 0; i < 5; ++i) point.push_back(writer.number());
    const auto [text, expected] = writer.condition(static_cast<int>(trial % 4), point, false);
    EXPECT_EQ(holds(text, point), expected) << text;
    true_ones += expected;
  }
  EXPECT_GT(true_ones, 1000);
  EXPECT_LT(true_ones, 2000);
}

TEST(ReachCondition, RandomTermsHaveTheirValues) {
  const std::uint64_t seed = testing::seed_from_environment(37);
  for (std::uint64_t trial = 0; trial < 3000; ++trial) {
    Writer writer(seed + trial);
    std::vector<double> point;
    for (int i = 0; i < 5; ++i) point.push_back(writer.number().get_d());
    const auto term = writer.term<double>(4, true);
    const double expected = term.value(point);
    const Condition made = parse_condition(fmt::format("(<= {} 1000)", term.text), kNames, "");
    if (!std::isfinite(expected) || std::fabs(expected) > 1e9) continue;
    if (made.formula.kind != Formula::Kind::kCompare) continue;  // a number
    const double value = outputs_of(made.values, point, Doubles{})[made.formula.value];
    EXPECT_NEAR(value, expected - 1000, 1e-6 * (1000 + std::fabs(expected))) << term.text;
  }
}

std::string error_of(const std::string& text) {
  try {
    parse_condition(text, kNames, "loop.json: always");
  } catch (const CompileError& error) {
    return to_string(error.diagnostics().front());
  }
  return "";
}

TEST(ReachCondition, Refusals) {
  const std::pair<std::string, const char*> cases[] = {
      {"", "BF3610: loop.json: always:1:1: found the end where a condition in parentheses"},
      {"x[0]", "BF3610: loop.json: always:1:1: found 'x[0]' where a condition in parentheses"},
      {"(<= x[0])", "BF3610: loop.json: always:1:9: found ')' where a number, an element"},
      {"(<= x[0] 1", "BF3610: loop.json: always:1:11: found the end where a number"},
      {"(<= x[0] 1) (", "BF3610: loop.json: always:1:13: found '(' where the end"},
      {"(near x[0] 1)", "BF3610: loop.json: always:1:2: 'near' is no comparison"},
      {"(<= (pow x[0] 2) 1)", "BF3610: loop.json: always:1:6: 'pow' is not known in a term"},
      {"(<= (/ x[0]) 1)", "BF3610: loop.json: always:1:12: found ')' where a divisor"},
      {"(<= (/ x[0] (- 2 2)) 1)", "BF3610: loop.json: always:1:6: division by zero"},
      {"(<= (sin x[0] 1) 1)", "BF3610: loop.json: always:1:6: sin takes one operand"},
      {"(!= 1 x[0] 2)", "BF3610: loop.json: always:1:2: != takes two operands"},
      {"(=> true)", "BF3610: loop.json: always:1:9: found ')' where a condition"},
      {"(<= x[0] 1e999)", "BF3610: loop.json: always:1:10: a number is beyond the range"},
      {"(<= x[0] 1e9999)", "BF3610: loop.json: always:1:10: the number has too many digits"},
      {"(<= x[0 1)", "BF3610: loop.json: always:1:6: '[' without its ']'"},
      {"(<= x[2] 1)", "BF3611: loop.json: always:1:5: 'x[2]' is no number and no element"},
      {"(<= u[1] 1)", "BF3611: loop.json: always:1:5: 'u[1]' is no number and no element"},
      {"(<= x[1,0] 1)", "BF3611: loop.json: always:1:5: 'x[1,0]' is no number"},
      {"(<= y[0] 1)", "BF3611: loop.json: always:1:5: 'y[0]' is no number"},
      {"(<= heigth 1)", "BF3611: loop.json: always:1:5: 'heigth' is no number"},
      {"(<= nan 1)", "BF3611: loop.json: always:1:5: 'nan' is no number"},
  };
  for (const auto& [text, message] : cases)
    EXPECT_NE(error_of(text).find(message), std::string::npos) << text << "\n" << error_of(text);
}

TEST(ReachCondition, DeepNestsAreRefused) {
  std::string deep(100000, '(');
  EXPECT_NE(error_of(deep).find("BF3610"), std::string::npos);
  std::string open, end;
  for (int i = 0; i < 300; ++i) {
    open += "(not ";
    end += ")";
  }
  EXPECT_NE(error_of(open + "true" + end).find("nest deeper than 200"), std::string::npos);
  open.clear();
  for (int i = 0; i < 300; ++i) open += "(- ";
  EXPECT_NE(error_of("(<= " + open + "x[0]" + end + " 1)").find("nest deeper"), std::string::npos);
  std::string big = "(<= (+";
  for (int i = 0; i < 30000; ++i) big += fmt::format(" (* {} x[0])", i + 2);
  EXPECT_NE(error_of(big + ") 1)").find("more than 20000 operations"), std::string::npos);
  std::string digits = "(<= (*";
  for (int i = 0; i < 30; ++i) digits += " 1e-1999";
  EXPECT_NE(error_of(digits + " x[0]) 1)").find("too many digits"), std::string::npos);
}

// Pieces of conditions in any order: each text has a meaning or a diagnostic, and what has a
// meaning says the opposite where it is negated.
TEST(ReachCondition, DamagedTextsAreRefused) {
  std::mt19937_64 random(testing::seed_from_environment(41));
  static const char* const kPieces[] = {
      "(",    ")",   " ",      "and", "or",    "not", "=>",    "<=",    "!=",   "=",
      "+",    "-",   "*",      "/",   "min",   "max", "abs",   "sqrt",  "x",    "x0",
      "u",    "[0]", "[0,1",   "]",   "1",     "0.1", "-1e-3", "1e999", "true", "nan",
      "\"",   ";",   "height", "\n",  "(<= x", "[",   "(+ 1 ", "0)",    "\xff", "(and (< x[0] 1) ",
      "(not "};
  int read = 0;
  for (int trial = 0; trial < 30000; ++trial) {
    std::string text = trial % 2 == 0 ? "" : "(and (<= x[0] (* 2 u[0])) (or (< speed 1) true))";
    for (std::size_t n = random() % 6; n > 0; --n)
      text.insert(random() % (text.size() + 1), kPieces[random() % std::size(kPieces)]);
    try {
      const Condition made = parse_condition(text, kNames, "condition");
      ++read;
      const std::vector<double> point = {0.5, -0.25, 1, 0.5, 3};
      const Condition opposite = made.negated();
      const std::vector<double> values = outputs_of(opposite.values, point, Doubles{});
      if (std::ranges::any_of(values, [](double x) { return std::isnan(x); })) continue;
      EXPECT_NE(holds(made.formula, values), holds(opposite.formula, values)) << text;
    } catch (const CompileError& error) {
      EXPECT_TRUE(error.diagnostics()[0].code.starts_with("BF361")) << error.what();
    }
  }
  EXPECT_GT(read, 1000);
}

}  // namespace
}  // namespace bf_aot::reach
