// The two tables of functions, frontend/functions/function_facts.cpp and planner/functions/
// function_recipes.cpp: what a row says of a function is compared with its exact values, and so
// with what the other table says.

#include "planner/functions/function_recipes.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <optional>
#include <set>

#include "frontend/functions/function_bounded.h"
#include "frontend/functions/function_exact.h"
#include "frontend/functions/function_facts.h"
#include "frontend/import/file/importer.h"

namespace bf_aot {
namespace {

// Of every kind; of kinds with parameters several.
std::vector<Function> functions() {
  const double inf = std::numeric_limits<double>::infinity();
  std::vector<Function> list;
  for (const FunctionFacts& facts : function_facts())
    list.push_back({facts.kind, facts.sample.a, facts.sample.b, facts.sample.c});
  for (const double a : {0.25, -0.5}) {
    for (const FunctionKind kind : {FunctionKind::kLeakyRelu, FunctionKind::kThresholdedRelu,
                                    FunctionKind::kRound, FunctionKind::kElu, FunctionKind::kCelu})
      list.push_back({kind, a});
    for (const FunctionKind kind :
         {FunctionKind::kHardSigmoid, FunctionKind::kShrink, FunctionKind::kSelu})
      list.push_back({kind, a, 0.75});
  }
  for (const double a : {-2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0, 2.5, 3.0})
    list.push_back({FunctionKind::kPower, a});
  list.push_back({FunctionKind::kClip, -1, 2});
  list.push_back({FunctionKind::kClip, -inf, 0.5});
  list.push_back({FunctionKind::kClip, 0.5, inf});
  return list;
}

// In order; ends of pieces among them.
std::vector<double> points_of(const Function& f) {
  std::set<double> points = {-100, -60, -3,   -1, -0.75, -0.5, -0.25, 0,
                             0.25, 0.5, 0.75, 1,  2,     3,    60};
  for (double x = -5; x <= 5; x += 0.1875) points.insert(x);
  std::erase_if(points, [&](double x) { return !lies_in(facts_of(f.kind).domain(f), x, x); });
  return {points.begin(), points.end()};
}

// How far evaluate_exact() may be from f.
mpq_class miss_of(const Function& f, const mpq_class& y) {
  return is_piecewise_linear(f.kind) ? mpq_class() : mpq_class(0x1p-190) * (1 + abs(y));
}

mpq_class rational(const Real& x) {
  mpq_class made;
  mpfr_get_q(made.get_mpq_t(), x);
  return made;
}

const Piece& piece_at(const Pieces& made, double x) {
  std::size_t i = 0;
  while (i + 1 < made.pieces.size() &&
         (made.pieces[i + 1].open ? x > made.pieces[i + 1].start : x >= made.pieces[i + 1].start))
    ++i;
  return made.pieces[i];
}

// f(x) lies where the recipe says; false where that says nothing.
bool expect_inside(const Function& f, const Pieces& made, double x) {
  const Piece& piece = piece_at(made, x);
  const mpq_class y = evaluate_exact(f, x);
  const mpq_class miss = miss_of(f, y);
  if (piece.kind == Piece::Kind::kUnknown) return false;
  if (piece.kind == Piece::Kind::kLine) {
    const mpq_class line = mpq_class(piece.intercept) + mpq_class(piece.slope) * mpq_class(x);
    EXPECT_LE(abs(y - line), mpq_class(piece.error) + miss) << x;
    return true;
  }
  const Interval value = made.formula(Interval(x), 0).at(0);
  EXPECT_LE(rational(value.low), y + miss) << x;
  EXPECT_GE(rational(value.high), y - miss) << x;
  EXPECT_LE(double_above(value) - double_below(value), 1e-15 * (1 + std::abs(y.get_d()))) << x;
  return true;
}

TEST(FunctionRecipes, AgreeWithTheFacts) {
  for (const FunctionFacts& facts : function_facts())
    EXPECT_EQ(recipe_of(facts.kind).series == nullptr, is_piecewise_linear(facts.kind))
        << facts.name;
  for (const Function& f : functions()) {
    if (recipe_of(f.kind).pieces == nullptr) continue;
    SCOPED_TRACE(to_string(f));
    const Pieces made = pieces_of(f);
    int known = 0;
    for (const double x : points_of(f)) known += expect_inside(f, made, x) ? 1 : 0;
    EXPECT_GT(known, 8);
  }
}

// Where tables are not made of pieces, the series hold on x > 0; exponentials' everywhere, below a
// cap.
TEST(FunctionRecipes, SeriesHoldTheValues) {
  for (const Function& f : functions()) {
    const FunctionRecipe& recipe = recipe_of(f.kind);
    if (recipe.pieces != nullptr || recipe.series == nullptr) continue;
    SCOPED_TRACE(to_string(f));
    Pieces whole;
    whole.pieces = {pieces::smooth(-std::numeric_limits<double>::infinity())};
    whole.formula = formula_of(f);
    for (const double x : points_of(f))
      if (f.kind == FunctionKind::kCappedExp ? x <= f.a : x > 0 || f.kind == FunctionKind::kExp) {
        EXPECT_TRUE(expect_inside(f, whole, x));
      }
  }
}

TEST(FunctionFacts, SamplesLieInTheDomain) {
  for (const FunctionFacts& facts : function_facts()) {
    const FunctionSample& sample = facts.sample;
    EXPECT_TRUE(
        lies_in(facts.domain({facts.kind, sample.a, sample.b, sample.c}), sample.low, sample.high))
        << facts.name;
  }
}

TEST(FunctionFacts, ValuesAreNoLargerThanInFloat32) {
  for (const FunctionFacts& facts : function_facts()) {
    const FunctionSample& sample = facts.sample;
    const Function f{facts.kind, sample.a, sample.b, sample.c};
    for (const double x : {sample.low, sample.low / 2 + sample.high / 2, sample.high})
      EXPECT_LE(std::abs(evaluate(f, x)), largest_in_float32(f, std::abs(x))) << facts.name;
    const auto made = evaluated_in_float32(f, 1);
    const auto worse = evaluated_in_float32(f, 4);
    ASSERT_EQ(made.has_value(), worse.has_value()) << facts.name;
    if (!made) continue;
    EXPECT_LE(made->relative, worse->relative) << facts.name;
    EXPECT_LE(made->absolute, worse->absolute) << facts.name;
    EXPECT_TRUE(made->is_exact() || made->relative < 0x1p-18) << facts.name;
  }
}

TEST(FunctionFacts, DoublesAreNearTheExactValues) {
  for (const Function& f : functions()) {
    SCOPED_TRACE(to_string(f));
    EXPECT_FALSE(points_of(f).empty());
    for (const double x : points_of(f)) {
      const double exact = evaluate_exact(f, x).get_d();
      EXPECT_NEAR(evaluate(f, x), exact, 1e-12 * std::abs(exact) + 1e-300) << x;
    }
  }
}

// As far as float32 goes, and where e^x leaves the exponents of MPFR on either side. A value that
// is no number for MPFR has a size that no double has, either.
TEST(FunctionFacts, ExactValuesFarOut) {
  const double most = std::numeric_limits<float>::max();
  for (const Function& f : functions()) {
    SCOPED_TRACE(to_string(f));
    for (const double x : {-most, -3e9, -7.48e8, -7.4e8, -1e4, 1e4, 7.4e8, 7.48e8, 3e9, most}) {
      if (!lies_in(facts_of(f.kind).domain(f), x, x)) continue;
      const double near = evaluate(f, x);
      const std::optional<mpq_class> exact = find_exact(f, x);
      const std::optional<Bounded> bounded = bounded_function(f, {x, 0});
      if (!std::isfinite(near)) {
        EXPECT_FALSE(bounded) << x;
        continue;
      }
      ASSERT_TRUE(exact) << x;
      ASSERT_TRUE(bounded) << x;
      EXPECT_NEAR(exact->get_d(), near, 1e-6 * std::abs(near) + 1e-300) << x;
      EXPECT_LE(abs(*exact - mpq_class(bounded->value)), mpq_class(bounded->error)) << x;
    }
  }
}

TEST(FunctionFacts, SoftplusIsTheLargerOfItsArgumentAndZeroAndABit) {
  const Function softplus{FunctionKind::kSoftplus};
  EXPECT_EQ(evaluate_exact(softplus, 748000000), 748000000);
  EXPECT_GT(evaluate_exact(softplus, 600), 600);
  EXPECT_EQ(evaluate_exact(softplus, -748000000), 0);
  EXPECT_FALSE(find_exact({FunctionKind::kExp}, 748000000));
}

TEST(FunctionFacts, OutsideOfTheDomainThereAreNoValues) {
  for (const Function& f : functions()) {
    SCOPED_TRACE(to_string(f));
    const FunctionDomain domain = facts_of(f.kind).domain(f);
    for (const double x : {-2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0}) {
      const bool at_zero = x == 0 && f.kind == FunctionKind::kPower && f.a > 0;  // 0^0.5
      if (!at_zero) {
        EXPECT_EQ(std::isnan(evaluate(f, x)), !lies_in(domain, x, x)) << x;
      }
    }
  }
}

TEST(FunctionFacts, MonotonyHolds) {
  for (const Function& f : functions()) {
    SCOPED_TRACE(to_string(f));
    const Monotony monotony = facts_of(f.kind).monotony(f);
    const std::vector<double> points = points_of(f);
    std::set<int> left, right;  // signs of the differences to both sides of 0
    for (std::size_t i = 0; i + 1 < points.size(); ++i) {
      const mpq_class y = evaluate_exact(f, points[i]);
      mpq_class rise = evaluate_exact(f, points[i + 1]) - y;
      if (abs(rise) <= 2 * miss_of(f, y)) rise = 0;
      if (points[i + 1] <= 0) left.insert(sgn(rise));
      if (points[i] >= 0) right.insert(sgn(rise));
      if (monotony == Monotony::kRises) {
        EXPECT_GE(sgn(rise), 0) << points[i];
      }
      if (monotony == Monotony::kFalls) {
        EXPECT_LE(sgn(rise), 0) << points[i];
      }
    }
    if (monotony != Monotony::kEachSide) continue;
    for (const auto& side : {left, right}) EXPECT_FALSE(side.contains(1) && side.contains(-1));
  }
}

// Limits on either side of 0, crossed ones, and the greatest float, which exporters write for none.
TEST(FunctionFacts, LimitsOfAnySignHoldInFloat32) {
  const double most = std::numeric_limits<float>::max();
  const double limits[] = {-INFINITY, -most, -3, -0.5, 0, 0.25, 2, most, INFINITY};
  for (const double a : limits)
    for (const double b : limits)
      for (const double size : {0.0, 0.125, 1.0, 5.0})
        for (const double x : {-size, -size / 2, size / 3, size}) {
          const Function f = {FunctionKind::kClip, a, b};
          EXPECT_LE(std::abs(evaluate(f, x)), largest_in_float32(f, size)) << a << ' ' << b;
        }
  EXPECT_EQ(largest_in_float32({FunctionKind::kClip, -most, most}, 1), 1);
}

TEST(FunctionFacts, SteepnessSizeAndWholeNumbersHold) {
  for (const Function& f : functions()) {
    SCOPED_TRACE(to_string(f));
    const FunctionFacts& facts = facts_of(f.kind);
    const std::vector<double> points = points_of(f);
    for (std::size_t i = 0; i < points.size(); ++i) {
      const mpq_class y = evaluate_exact(f, points[i]);
      const mpq_class miss = 2 * miss_of(f, y);
      const double magnitude =
          facts.magnitude != nullptr ? facts.magnitude(f, std::abs(points[i])) : INFINITY;
      if (std::isfinite(magnitude)) {
        EXPECT_LE(abs(y), mpq_class(magnitude)) << points[i];
      }
      if (facts.integers) {
        EXPECT_EQ(y.get_den(), 1) << points[i];
      }
      if (facts.wave && std::isfinite(facts.values.high)) {
        EXPECT_LE(abs(y), 1 + miss) << points[i];
      }
      if (facts.lipschitz != nullptr && i > 0) {
        const mpq_class far = mpq_class(facts.lipschitz(f)) * mpq_class(points[i] - points[i - 1]);
        EXPECT_LE(abs(y - evaluate_exact(f, points[i - 1])), far + miss) << points[i];
      }
    }
  }
}

TEST(FunctionFacts, OperatorsAreSupportedAndFound) {
  const std::vector<std::string_view> supported = supported_operators();
  std::set<std::string_view> types;
  for (const FunctionFacts& facts : function_facts()) {
    if (facts.from.type.empty()) continue;
    EXPECT_TRUE(types.insert(facts.from.type).second) << facts.from.type;
    EXPECT_EQ(facts_of_operator(facts.from.type), &facts);
    EXPECT_EQ(std::count(supported.begin(), supported.end(), facts.from.type), 1);
  }
  EXPECT_EQ(facts_of_operator(""), nullptr);
  EXPECT_EQ(facts_of_operator("Relu"), nullptr);
}

TEST(FunctionFacts, DomainsHaveEndsAndGaps) {
  const FunctionDomain open{.low = -1, .high = 1, .ends = false};
  EXPECT_TRUE(lies_in(open, -0.5, 0.5));
  EXPECT_FALSE(lies_in(open, -1.0, 0.5));
  EXPECT_FALSE(lies_in(open, mpq_class(0), mpq_class(1)));
  EXPECT_TRUE(lies_in(FunctionDomain{.low = -1, .high = 1}, mpq_class(-1), mpq_class(1)));
  EXPECT_FALSE(lies_in(FunctionDomain{.zero = false}, -1.0, 1.0));
  EXPECT_TRUE(lies_in(FunctionDomain{.zero = false}, 1.0, HUGE_VAL));
  EXPECT_FALSE(lies_in(FunctionDomain{.poles = true}, 1.0, 2.0));
  EXPECT_TRUE(lies_in(FunctionDomain{.poles = true}, mpq_class(-1), mpq_class(1)));
}

}  // namespace
}  // namespace bf_aot
