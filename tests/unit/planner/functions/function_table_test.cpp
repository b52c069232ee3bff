#include "planner/functions/function_table.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "frontend/functions/composite/expression.h"
#include "frontend/functions/function_facts.h"
#include "planner/functions/cells.h"
#include "planner/functions/enclosure.h"
#include "planner/functions/formulas.h"
#include "planner/functions/function_recipes.h"

namespace bf_aot {
namespace {

std::vector<Function> smooth_functions() {
  std::vector<Function> list;
  for (const FunctionFacts& facts : function_facts())
    if (!is_piecewise_linear(facts.kind))
      list.push_back({facts.kind, facts.sample.a, facts.sample.b, facts.sample.c});
  list.push_back({FunctionKind::kPower, 1.5});
  return list;
}

void check_runs(const FunctionTable& table) {
  ASSERT_FALSE(table.runs.empty());
  EXPECT_EQ(table.runs[0].start, -std::numeric_limits<double>::infinity());
  EXPECT_FALSE(table.runs[0].open);
  int cells = 0;
  for (std::size_t i = 0; i < table.runs.size(); ++i) {
    const TableRun& run = table.runs[i];
    if (i > 0) {
      EXPECT_GE(run.start, table.runs[i - 1].start);
    }
    EXPECT_LE(run.start_low, run.start_high);
    EXPECT_LE(run.end_low, run.end_high);
    if (run.cells == 0) continue;
    EXPECT_GE(run.cell, cells);
    EXPECT_EQ(table.starts[static_cast<std::size_t>(run.cell)], run.start);
    cells = run.cell + run.cells;
    ASSERT_LT(i + 1, table.runs.size());
    EXPECT_EQ(table.starts[static_cast<std::size_t>(cells)], table.runs[i + 1].start);
  }
}

TEST(FunctionTables, AreSmallAndTileTheLine) {
  for (const Function& function : smooth_functions()) {
    SCOPED_TRACE(to_string(function));
    const FunctionTable table = make_function_table(function);
    check_runs(table);
    EXPECT_LE(table.bytes(), 36 * 1024);
    const bool common =
        function.kind == FunctionKind::kSigmoid || function.kind == FunctionKind::kTanh;
    if (common) {
      EXPECT_LE(table.bytes(), 5 * 1024);
    }
    EXPECT_EQ(table.starts.size(), table.errors.empty() ? 0 : table.errors.size() + 1);
    EXPECT_EQ(table.coefficients.size(),
              table.errors.size() * (static_cast<std::size_t>(table.degree) + 1));
  }
}

TEST(FunctionTables, AreEqualWhenMadeTwice) {
  const Function function{FunctionKind::kGelu, 0, 0};
  EXPECT_EQ(make_function_table(function), make_function_table(function));
  EXPECT_FALSE(make_function_table(function) == make_function_table({FunctionKind::kErf, 0, 0}));
}

// One inflection point for each expected sign change, and kinks as borders.
TEST(FunctionTables, RunsFollowTheCurvature) {
  const auto kinds = [](const Function& function) {
    std::string text;
    for (const TableRun& run : make_function_table(function).runs)
      text += "-u^?."[run.kind == RunKind::kLine      ? 0
                      : run.kind == RunKind::kConvex  ? 1
                      : run.kind == RunKind::kConcave ? 2
                      : run.kind == RunKind::kUnknown ? 3
                                                      : 4];
    return text;
  };
  EXPECT_EQ(kinds({FunctionKind::kSigmoid, 0, 0}), "-u.^-");
  EXPECT_EQ(kinds({FunctionKind::kSoftplus, 0, 0}), "-u-");
  EXPECT_EQ(kinds({FunctionKind::kGelu, 0, 0}), "-^.u.^-");
  EXPECT_EQ(kinds({FunctionKind::kElu, 1, 0}), "-u-");
  EXPECT_EQ(kinds({FunctionKind::kElu, -1, 0}), "-^-");
  EXPECT_EQ(kinds({FunctionKind::kSoftsign, 0, 0}), "-u^-");
  EXPECT_EQ(kinds({FunctionKind::kHardSwish, 0, 0}), "-u-");
  EXPECT_EQ(kinds({FunctionKind::kAtanh, 0, 0}), "??^.u??");
  EXPECT_EQ(kinds({FunctionKind::kExp, 0, 0}), "u");
  EXPECT_EQ(kinds({FunctionKind::kLog, 0, 0}), "?^");
  EXPECT_EQ(kinds({FunctionKind::kReciprocal, 0, 0}), "^?u");
  EXPECT_EQ(kinds({FunctionKind::kPower, 3, 0}), "^u");
  EXPECT_EQ(kinds({FunctionKind::kPower, 2, 0}), "u");
  EXPECT_EQ(kinds({FunctionKind::kPower, 1, 0}), "-");
  EXPECT_EQ(kinds({FunctionKind::kSign, 0, 0}), "---");
  EXPECT_EQ(kinds({FunctionKind::kClip, -1, 1}), "---");
  EXPECT_EQ(kinds({FunctionKind::kHardSigmoid, 0.25, 0.5}), "---");
  // The kinks of 0.1 x + 0.5 are no doubles: pieces of an ulp lie around them.
  EXPECT_EQ(kinds({FunctionKind::kHardSigmoid, 0.1, 0.5}).size(), 5u);
}

// The proven error is an upper bound of the sampled one, and not far above it.
TEST(FunctionTables, ErrorsOfCellsAreProvenAndTight) {
  const Formula formula = formula_of({FunctionKind::kTanh, 0, 0});
  const std::vector<double> taylor = {0, 1, 0, -1.0 / 3};  // misses 2/15 x^5
  const CellError error = cell_error(formula, taylor, 0, -0.125, 0.125, 1e-20);
  const double proven = mpfr_get_d(error.value, MPFR_RNDU);
  const double sampled = std::fabs(std::tanh(0.125) - (0.125 - 0.125 * 0.125 * 0.125 / 3));
  EXPECT_GE(proven, sampled);
  EXPECT_LE(proven, 1.2 * sampled);
  const double slope = mpfr_get_d(error.slope, MPFR_RNDU);
  const double steepness = 1 / (std::cosh(0.125) * std::cosh(0.125));
  EXPECT_GE(slope, std::fabs(steepness - (1 - 0.125 * 0.125)));
  EXPECT_LE(slope, 1.2 * std::fabs(steepness - (1 - 0.125 * 0.125)));
}

TEST(FunctionTables, CurvatureEnclosesTheSecondDerivative) {
  const Interval sine = curvature(formula_of({FunctionKind::kSin, 0, 0}), 0.5, 1);
  EXPECT_LE(double_below(sine), -std::sin(1.0));
  EXPECT_GE(double_above(sine), -std::sin(0.5));
  EXPECT_LE(double_above(sine), -std::sin(0.5) + 0.03);
  EXPECT_GE(double_below(sine), -std::sin(1.0) - 0.03);
}

// e^x is beyond MPFR's numbers from 2^30 ln 2 on; the table reaches further.
TEST(FunctionTables, SoftplusHasAValueWhereItsPowerHasNone) {
  for (const double x : {0x1p20, 0x1p40, 0x1p70}) {
    const Interval value = softplus({Interval(x)})[0];
    EXPECT_GE(double_below(value), std::nextafter(x, 0));
    EXPECT_LE(double_above(value), std::nextafter(x, 2 * x));
    EXPECT_GE(double_below(softplus({Interval(-1, x)})[0]), 0.3132);
  }
  Expression e;
  const int product = e.product(0, *e.function({FunctionKind::kSoftplus}, 0));
  Function f{FunctionKind::kComposite};
  f.composite = Composite::of(e.parts(product).steps);
  ASSERT_NE(f.composite, nullptr);
  const FunctionTable table = make_function_table(f);
  check_runs(table);
  EXPECT_GT(table.starts.back(), 0x1p60);
}

TEST(FunctionTables, WhatCannotBeDoneClaimsNothing) {
  for (const Function& function :
       {Function{FunctionKind::kRound, 0, 0}, Function{FunctionKind::kRound, -1, 0},
        Function{FunctionKind::kPower, 500.5, 0}}) {
    const FunctionTable table = make_function_table(function);
    ASSERT_EQ(table.runs.size(), 1u);
    EXPECT_EQ(table.runs[0].kind, RunKind::kUnknown);
  }
}

}  // namespace
}  // namespace bf_aot
