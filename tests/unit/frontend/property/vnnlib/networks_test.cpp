// Queries of VNN-LIB 2.0 about several networks.

#include <gtest/gtest.h>

#include <string>

#include "frontend/diagnostic.h"
#include "frontend/property/vnnlib/vnnlib.h"

namespace bf_aot {
namespace {

const std::string kTwoNetworks =
    "(vnnlib-version <2.0>)"
    "(declare-network f (declare-input X Real [2])(declare-output Y Real [1]))"
    "(declare-network g (declare-input Z Real [2])(declare-output W Real [1]))";
const std::string kBoxOfF = "(assert (<= 0 X[0] 1))(assert (<= 0 X[1] 1))";

Property query_of(const std::string& text) {
  return parse_property(text, "q.vnnlib");
}

std::string query_error(const std::string& text) {
  try {
    query_of(text);
  } catch (const CompileError& error) {
    return error.what();
  }
  return "";
}

bool has(const std::string& text, const std::string& what) {
  return text.find(what) != std::string::npos;
}

TEST(VnnlibNetworks, TensorsFollowOneAnother) {
  const Property p = query_of(kTwoNetworks + kBoxOfF +
                              "(assert (<= 2 Z[0] 3))(assert (<= 4 Z[1] 5))"
                              "(assert (<= (- Y[0] W[0]) Z[1]))");
  ASSERT_EQ(p.networks.size(), 2U);
  EXPECT_EQ(p.networks[1].name, "g");
  EXPECT_EQ(p.networks[1].inputs, 1U);
  EXPECT_TRUE(p.input_source.empty());
  EXPECT_EQ(p.input_count, 4);
  EXPECT_EQ(p.output_count, 2);
  EXPECT_EQ(p.cases[0].box, (Box{{0, 0, 2, 4}, {1, 1, 3, 5}}));
  EXPECT_EQ(p.rows[0], (PropertyRow{{{0, 1}, {1, -1}}, {{3, -1}}}));
}

TEST(VnnlibNetworks, EqualInputsBecomeOne) {
  const Property p = query_of(kTwoNetworks + kBoxOfF +
                              "(assert (= X[0] Z[1]))(assert (and (<= X[1] Z[0]) (>= X[1] Z[0])))"
                              "(assert (<= Z[1] 0.5))(assert (or (<= (+ Z[0] Z[1] X[0]) Y[0])"
                              " (and (<= (+ X[1] Z[0]) 1) (>= W[0] 2))))");
  EXPECT_EQ(p.input_source, (std::vector<std::int64_t>{0, 1, 1, 0}));
  EXPECT_EQ(p.input_count, 2);
  ASSERT_EQ(p.cases.size(), 2U);
  EXPECT_EQ(p.cases[0].box, (Box{{0, 0}, {0.5, 1}}));
  const Condition& sum = p.cases[0].clauses[0][0];
  EXPECT_TRUE(sum.negated);
  EXPECT_EQ(p.row_of(sum), (PropertyRow{{{0, 1}}, {{0, -2}, {1, -1}}}));
  EXPECT_EQ(p.cases[1].box, (Box{{0, 0}, {0.5, 0.5}})) << "2 x_1 <= 1 is a bound";
  EXPECT_EQ(whole_inputs(p, std::vector<int>{7, 8}, std::vector<int>()),
            (std::vector<int>{7, 8, 8, 7}));
}

TEST(VnnlibNetworks, AnInputMayBeAnOutputOfANetworkBefore) {
  const Property p = query_of(kTwoNetworks + kBoxOfF +
                              "(assert (= Z[0] Y[0]))(assert (= Z[1] X[1]))(assert (<= Z[0] 5))"
                              "(assert (>= (+ (* 2 W[0]) Z[0] (* 3 X[0])) 1))");
  EXPECT_EQ(p.input_source, (std::vector<std::int64_t>{0, 1, 2, 1}));
  EXPECT_EQ(p.input_count, 2);
  EXPECT_EQ(p.cases[0].box, (Box{{0, 0}, {1, 1}}));
  ASSERT_EQ(p.cases[0].clauses[0].size(), 2U) << "the equation is gone";
  const Condition& bound = p.cases[0].clauses[0][0];
  EXPECT_EQ(p.row_of(bound), (PropertyRow{{{0, 1}}, {}}));
  EXPECT_EQ(bound.limit, 5);
  const Condition& mixed = p.cases[0].clauses[0][1];
  EXPECT_TRUE(mixed.negated);
  EXPECT_EQ(p.row_of(mixed), (PropertyRow{{{0, 1}, {1, 2}}, {{0, 3}}}));
  EXPECT_EQ(whole_inputs(p, std::vector<int>{7, 8}, std::vector<int>{3, 4}),
            (std::vector<int>{7, 8, 3, 8}));
  // Not of the same network, nor of one behind.
  for (const char* const equation : {"(= X[0] Y[0])", "(= X[0] W[0])"})
    EXPECT_TRUE(query_of(kTwoNetworks + kBoxOfF + "(assert (<= 0 Z[0] 1))(assert (<= 0 Z[1] 1))" +
                         "(assert " + equation + ")")
                    .input_source.empty());
}

TEST(VnnlibNetworks, OtherRelationsStay) {
  for (const char* const relation : {"(<= X[0] Z[0])", "(= X[0] (+ Z[0] 1))", "(= X[0] (* 2 Z[0]))",
                                     "(or (= X[0] Z[0]) (= X[1] Z[1]))"}) {
    SCOPED_TRACE(relation);
    const Property p =
        query_of(kTwoNetworks + kBoxOfF + "(assert (<= 0 Z[0] 1))(assert (<= 0 Z[1] 1))" +
                 "(assert " + relation + ")(assert (<= Y[0] W[0]))");
    EXPECT_TRUE(p.input_source.empty());
    EXPECT_FALSE(p.cases[0].clauses[0].empty());
  }
}

TEST(VnnlibNetworks, DerivedValuesReadWhatTakesTheirPlace) {
  const Property p =
      query_of(kTwoNetworks + kBoxOfF +
               "(assert (= X[0] Z[0]))(assert (= X[1] Z[1]))"
               "(assert (<= (+ (* X[0] Z[1]) (* (- X[0] Z[0]) Y[0])) (* Z[0] Z[0])))");
  ASSERT_EQ(p.derived.size(), 3U);
  for (const DerivedValue& value : p.derived)
    for (const AffineForm& operand : value.operands)
      for (const auto& [index, factor] : operand.terms) EXPECT_LT(index, 3);
}

TEST(VnnlibNetworks, TensorsOfOneName) {
  const std::string twice =
      "(declare-network f (declare-input X Real [1])(declare-output Y Real [1]))"
      "(declare-network g (equal-to f)(declare-input X Real [1])(declare-output Y Real [1]))"
      "(assert (<= 0 f.X[0] 1))(assert (= f.X[0] g.X[0]))";
  const Property p = query_of(twice + "(assert (< f.Y[0] g.Y[0]))");
  EXPECT_EQ(p.networks[1].equal_to, "f");
  EXPECT_EQ(p.input_count, 1);
  EXPECT_EQ(p.rows[0], (PropertyRow{{{0, 1}, {1, -1}}, {}}));
  EXPECT_TRUE(has(query_error(twice + "(assert (< Y[0] 1))"),
                  "several networks declare 'Y[0]'\n  hint: write f.Y"));
}

TEST(VnnlibNetworks, Complaints) {
  const std::string f = "(declare-network f (declare-input X Real [2])(declare-output Y Real [1]))";
  const auto second = [&](const std::string& more, const std::string& shape = "[2]") {
    return query_error(f + "(declare-network g " + more + "(declare-input Z Real " + shape +
                       ")(declare-output W Real [1]))");
  };
  EXPECT_TRUE(has(second("(equal-to h)"), "no network 'h' is declared before"));
  EXPECT_TRUE(has(second("(equal-to g)"), "no network 'g' is declared before"));
  EXPECT_TRUE(has(second("(equal-to f)(isomorphic-to f)"), "compared with others twice"));
  EXPECT_TRUE(has(second("(isomorphic-to f)", "[3]"), "the inputs of 'g' have not the shapes"));
  EXPECT_TRUE(has(query_error(f + f), "'f' is declared twice"));
  EXPECT_TRUE(has(query_error("(declare-network f (declare-input X Real [2]))"),
                  "no output of 'f' is declared"));
  EXPECT_TRUE(has(query_error(f + "(declare-network g (declare-output W Real [1])"
                                  "(declare-input Z Real [1]))"),
                  "an input behind an output"));
  EXPECT_TRUE(has(query_error(kTwoNetworks + kBoxOfF + "(assert (<= Y[0] W[0]))"),
                  "BF3407: q.vnnlib: g.Z[0] has no lower bound"));
  EXPECT_TRUE(has(query_error(kTwoNetworks + "(assert (= X[0] Z[1]))(assert (<= Y[0] W[0]))"),
                  "f.X[0] has no lower bound"));
}

}  // namespace
}  // namespace bf_aot
