// Terms that are not affine, `let` and `ite`: what derived values and cases they become.

#include <gtest/gtest.h>

#include <string>

#include "frontend/diagnostic.h"
#include "frontend/property/vnnlib/vnnlib.h"
#include "tests/support/property_text.h"

namespace bf_aot {
namespace {

using Kind = DerivedValue::Kind;

// Two inputs in [-1, 2] and two outputs.
Property read_terms(const std::string& formula, const PropertyLimits& limits = {}) {
  std::string text;
  for (const char* const name : {"X_0", "X_1", "Y_0", "Y_1"})
    text += std::string("(declare-const ") + name + " Real)";
  text += "(assert (<= -1 X_0 2))(assert (<= -1 X_1 2))";
  return parse_property(text + "(assert " + formula + ")", "p.vnnlib", limits);
}

std::string terms_error(const std::string& formula, const PropertyLimits& limits = {}) {
  try {
    read_terms(formula, limits);
  } catch (const CompileError& error) {
    return error.what();
  }
  return "";
}

bool says(const std::string& text, const std::string& what) {
  return text.find(what) != std::string::npos;
}

// Elements of x are 0 and 1, of y 2 and 3; derived values follow.
TEST(VnnlibTerms, ProductsAreOverCoprimeForms) {
  const Property p = read_terms("(<= (* 3 X_0 (- (* 0.5 Y_1) 1)) 6)");
  ASSERT_EQ(p.derived.size(), 1U);
  EXPECT_EQ(p.derived[0].kind, Kind::kProduct);
  // 3 x_0 (y_1 / 2 - 1) = 6 (x_0 / 2) (y_1 / 4 - 1 / 2) 2
  const std::vector<AffineForm> operands = p.derived[0].operands;
  ASSERT_EQ(operands.size(), 2U);
  EXPECT_EQ(operands[0].terms, (LinearForm{{0, mpq_class(1, 2)}}));
  EXPECT_EQ(operands[1].terms, (LinearForm{{3, mpq_class(1, 4)}}));
  EXPECT_EQ(operands[1].constant, mpq_class(-1, 2));
  EXPECT_EQ(p.rows, (std::vector<PropertyRow>{{{{2, 1}}, {}}}));
  EXPECT_EQ(p.cases[0].clauses[0], (Clause{{0, false, false, mpq_class(1, 2)}}));
}

TEST(VnnlibTerms, EqualProductsAreOne) {
  const Property p = read_terms("(<= (+ (* X_0 Y_0) (* (* 2 Y_0) (- X_0))) (* X_1 X_1 X_1))");
  EXPECT_EQ(p.derived.size(), 3U);
  EXPECT_TRUE(read_terms("(<= (- (* X_0 Y_0) (* Y_0 X_0)) Y_1)").derived.empty());
}

TEST(VnnlibTerms, InputsOfSuchConditionsAreDerived) {
  const Property p = read_terms("(<= (+ (* X_0 X_1) (* 4 X_0) (* -2 X_1) Y_0) 1)");
  ASSERT_EQ(p.derived.size(), 2U);
  EXPECT_EQ(p.derived[1].kind, Kind::kSum);
  EXPECT_EQ(p.derived[1].operands[0].terms,
            (LinearForm{{0, mpq_class(1, 2)}, {1, mpq_class(-1, 4)}}));
  EXPECT_TRUE(p.row_of(p.cases[0].clauses[0][0]).inputs.empty());
}

TEST(VnnlibTerms, MaximaOfConditionsAreSplit) {
  const Property both = read_terms("(<= (max Y_0 Y_1) 1)");
  EXPECT_TRUE(both.derived.empty());
  ASSERT_EQ(both.cases[0].clauses.size(), 1U);
  EXPECT_EQ(both.cases[0].clauses[0].size(), 2U);
  const Property either = read_terms("(>= (abs (- Y_0 Y_1)) 1)");
  EXPECT_TRUE(either.derived.empty());
  EXPECT_EQ(either.cases[0].clauses.size(), 2U);
  EXPECT_EQ(either.rows.size(), 1U);
  // Bounds of an input, too.
  EXPECT_EQ(read_terms("(and (<= (abs X_0) 0.5) (<= Y_0 0))").cases[0].box.lower[0], -0.5);
}

TEST(VnnlibTerms, MaximaOfManyAlternativesStay) {
  std::string sum = "(+";
  for (int i = 0; i < 7; ++i) sum += " (max Y_0 (* " + std::to_string(i + 2) + " Y_1))";
  const Property p = read_terms("(>= " + sum + ") 1)");
  EXPECT_EQ(p.derived.size(), 7U);
  EXPECT_EQ(p.cases[0].clauses.size(), 1U);
}

TEST(VnnlibTerms, MaximaOfNumbersAndEqualTermsGo) {
  EXPECT_EQ(read_terms("(<= Y_0 (max 1 2 (min 3 4)))"), read_terms("(<= Y_0 3)"));
  EXPECT_EQ(read_terms("(<= (abs -2) (max Y_0 Y_0))"), read_terms("(<= 2 Y_0)"));
}

TEST(VnnlibTerms, LetIsSubstitution) {
  EXPECT_EQ(read_terms("(let ((a (+ Y_0 1)) (c (<= Y_1 0))) (and c (<= (* a a) 2) (not c)))"),
            read_terms("(and (<= Y_1 0) (<= (* (+ Y_0 1) (+ Y_0 1)) 2) (> Y_1 0))"));
  // Bindings of one let do not see each other, inner names hide outer ones.
  EXPECT_EQ(read_terms("(let ((a Y_0)) (let ((a Y_1) (b a)) (<= a b)))"),
            read_terms("(<= Y_1 Y_0)"));
  EXPECT_EQ(read_terms("(let ((c (let ((c true)) c))) (not (let ((d (not c))) d)))"),
            read_terms("true"));
  EXPECT_EQ(read_terms("(<= (let ((b (ite true Y_0 1))) (+ b b)) 1)"),
            read_terms("(<= (* 2 Y_0) 1)"));
}

TEST(VnnlibTerms, IteIsACaseSplit) {
  EXPECT_EQ(read_terms("(ite (<= Y_0 0) (<= Y_1 1) (>= Y_1 2))"),
            read_terms("(or (and (<= Y_0 0) (<= Y_1 1)) (and (> Y_0 0) (>= Y_1 2)))"));
  EXPECT_EQ(read_terms("(<= (+ 1 (ite (<= Y_0 0) Y_1 (* 2 Y_1))) 3)"),
            read_terms("(or (and (<= Y_0 0) (<= Y_1 2)) (and (> Y_0 0) (<= Y_1 1)))"));
}

TEST(VnnlibTerms, Limits) {
  PropertyLimits limits;
  limits.degree = 3;
  EXPECT_TRUE(says(terms_error("(<= (* X_0 X_0 X_0 X_0) 1)", limits),
                   "a term of degree 4, the limit is 3"));
  limits.derived = 2;
  EXPECT_TRUE(says(terms_error("(<= (+ (* X_0 X_0) (* X_1 X_1) (* Y_0 Y_0)) 1)", limits),
                   "more than 2 products and maxima"));
  limits.choices = 3;
  EXPECT_TRUE(says(terms_error("(<= (+ (ite (<= Y_0 0) 1 2) (ite (<= Y_1 0) 1 2)) 1)", limits),
                   "a term with 4 values to choose from, the limit is 3"));
  limits.repeated = 5;
  EXPECT_TRUE(says(terms_error("(ite (<= Y_0 0) (<= Y_1 0) (<= Y_1 1))", limits),
                   "stand for more than 5 bytes of text"));
}

// Each of a chain of names stands for two of the one before.
TEST(VnnlibTerms, HostileChainsOfNamesEnd) {
  std::string terms, formulas;
  for (int i = 1; i <= 100; ++i) {
    const std::string n = std::to_string(i), b = std::to_string(i - 1);
    terms += "(let ((a" + n + " (* a" + b + " a" + b + "))) ";
    formulas += "(let ((a" + n + " (ite a" + b + " (not a" + b + ") a" + b + "))) ";
  }
  const std::string close(100, ')');
  EXPECT_TRUE(
      says(terms_error("(let ((a0 X_0)) " + terms + "(<= a100 1)" + close + ")"), "BF3404"));
  EXPECT_TRUE(says(terms_error("(let ((a0 (<= Y_0 0))) " + formulas + "(not a100)" + close + ")"),
                   "BF3404"));
}

TEST(VnnlibTerms, Complaints) {
  EXPECT_TRUE(says(terms_error("(<= (/ X_0 Y_0) 1)"), "BF3406"));
  EXPECT_TRUE(says(terms_error("(<= (exp X_0) 1)"), "BF3406"));
  EXPECT_TRUE(says(terms_error("(<= (abs X_0 X_1) 1)"), "abs takes one operand"));
  EXPECT_TRUE(says(terms_error("(<= (max) 1)"), "an operand"));
  EXPECT_TRUE(says(terms_error("(let ((a 1) (a 2)) (<= a Y_0))"), "'a' is named twice"));
  EXPECT_TRUE(says(terms_error("(let ((a (<= Y_0 1))) (<= a 1))"), "and no formula"));
  EXPECT_TRUE(says(terms_error("(let ((a Y_0)) a)"), "where a condition is expected"));
  EXPECT_TRUE(says(terms_error("(let (a Y_0) (<= a 1))"), "BF3403"));
  EXPECT_TRUE(says(terms_error("(let ((a (<= a 1))) a)"), "BF3405"));
  EXPECT_TRUE(says(terms_error("(ite (<= Y_0 1) (<= Y_0 1))"), "BF3403"));
  EXPECT_TRUE(says(terms_error("(<= (ite (<= Y_0 1) 1) 1)"), "BF3403"));
}

}  // namespace
}  // namespace bf_aot
