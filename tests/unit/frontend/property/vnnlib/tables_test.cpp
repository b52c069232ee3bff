#include <gtest/gtest.h>

#include <cfloat>
#include <cmath>

#include "frontend/property/verdict_tables.h"
#include "frontend/property/vnnlib/vnnlib.h"

namespace bf_aot {
namespace {

TEST(VerdictTables, FloatsNextToARational) {
  const mpq_class tenth(1, 10);
  EXPECT_LT(mpq_class(float_at_most(tenth)), tenth);
  EXPECT_EQ(std::nextafterf(float_at_most(tenth), 1), float_at_least(tenth));
  for (const float x : {0.0f, 1.0f, -2.5f, FLT_MAX, -FLT_MAX, FLT_TRUE_MIN}) {
    EXPECT_EQ(float_at_most(mpq_class(x)), x);
    EXPECT_EQ(float_at_least(mpq_class(x)), x);
  }
  const mpq_class huge("1" + std::string(60, '0'));
  EXPECT_EQ(float_at_most(huge), FLT_MAX);
  EXPECT_EQ(float_at_least(huge), INFINITY);
  EXPECT_EQ(float_at_most(-huge), -INFINITY);
  EXPECT_EQ(float_at_least(-huge), -FLT_MAX);
  const mpq_class tiny = 1 / huge;
  EXPECT_EQ(float_at_most(tiny), 0.0f);
  EXPECT_EQ(float_at_least(tiny), FLT_TRUE_MIN);
  EXPECT_EQ(float_at_most(-tiny), -FLT_TRUE_MIN);
  EXPECT_FALSE(std::signbit(float_at_least(-tiny)));
}

VerdictCondition only_term(const std::string& condition) {
  const Property property = parse_property(
      "(declare-const X_0 Real)(declare-const Y_0 Real)(assert (<= -2 X_0 3))(assert " + condition +
          ")",
      "p");
  const VerdictTables tables = verdict_tables(property);
  EXPECT_EQ(tables.terms.size(), 1u);
  return tables.terms.at(0);
}

TEST(VerdictTables, Thresholds) {
  EXPECT_EQ(only_term("(<= Y_0 2)"), (VerdictCondition{0, false, 2}));
  EXPECT_EQ(only_term("(< Y_0 2)"), (VerdictCondition{0, false, std::nextafterf(2, 0)}));
  EXPECT_EQ(only_term("(>= Y_0 2)"), (VerdictCondition{0, true, 2}));
  EXPECT_EQ(only_term("(> Y_0 2)"), (VerdictCondition{0, true, std::nextafterf(2, 3)}));
  // 0.1 is no float: the same numbers are below it and at most it.
  EXPECT_EQ(only_term("(<= Y_0 0.1)"), only_term("(< Y_0 0.1)"));
  EXPECT_EQ(only_term("(<= (* 2 Y_0) 3)"), (VerdictCondition{0, false, 1.5}));
}

TEST(VerdictTables, LimitsAreTheNearestDoublesThatLeaveNoViolationOut) {
  const auto only_limit = [](const std::string& condition) {
    return verdict_tables(parse_property("(declare-const X_0 Real)(declare-const Y_0 Real)"
                                         "(assert (<= -2 X_0 3))(assert " +
                                             condition + ")",
                                         "p"))
        .limits.at(0);
  };
  EXPECT_EQ(only_limit("(<= Y_0 2)"), 2);
  EXPECT_EQ(only_limit("(< Y_0 2)"), 2);
  EXPECT_EQ(only_limit("(>= Y_0 2)"), 2);
  // The double 0.1 is above the number, the double 0.3 below it.
  EXPECT_EQ(only_limit("(<= Y_0 0.1)"), 0.1);
  EXPECT_EQ(only_limit("(>= Y_0 0.1)"), std::nextafter(0.1, 0));
  EXPECT_EQ(only_limit("(<= Y_0 0.3)"), std::nextafter(0.3, 1));
  EXPECT_EQ(only_limit("(>= Y_0 -0.1)"), -0.1);
  EXPECT_EQ(only_limit("(<= Y_0 -1e400)"), -DBL_MAX);
  EXPECT_EQ(only_limit("(>= Y_0 -1e400)"), -INFINITY);
}

TEST(VerdictTables, InputsArePartOfRows) {
  EXPECT_EQ(only_term("(<= Y_0 (+ 1 X_0))"), (VerdictCondition{0, false, 1}));
  EXPECT_EQ(only_term("(>= Y_0 (* 2 X_0))"), (VerdictCondition{0, true, 0}));
  const Property property = parse_property(
      "(declare-const X_0 Real)(declare-const X_1 Real)(declare-const Y_0 Real)"
      "(assert (<= 0 X_0 1))(assert (<= 0 X_1 1))(assert (<= (+ X_0 X_1) 1))(assert (<= Y_0 0))",
      "p");
  const VerdictTables tables = verdict_tables(property);
  EXPECT_EQ(tables.terms, (std::vector<VerdictCondition>{{0, false, 1}, {1, false, 0}}));
  EXPECT_EQ(property.rows[0], (PropertyRow{{}, {{0, 1}, {1, 1}}}));
}

}  // namespace
}  // namespace bf_aot
