// Random formulas printed as VNN-LIB: what is read back must be violated by exactly the points that
// satisfy the formula, which is evaluated here in exact arithmetic. BF_SEED=n repeats a run.

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <string>

#include "frontend/diagnostic.h"
#include "frontend/numbers/numbers.h"
#include "frontend/property/verdict_tables.h"
#include "frontend/property/vnnlib/vnnlib.h"
#include "tests/support/property_text.h"
#include "tests/support/random_formulas.h"

namespace bf_aot {
namespace {

using test::Formula;
using test::Generator;
using test::Point;

constexpr int kVariables = 3;  // inputs, and outputs

struct Sample {
  std::string text;
  std::vector<Formula> formulas;
};

Sample random_property(Generator& generator, int depth = 3) {
  Sample sample;
  for (int i = 0; i < kVariables; ++i) {
    sample.text += "(declare-const X_" + std::to_string(i) + " Real)";
    sample.text += "(declare-const Y_" + std::to_string(i) + " Real)\n";
  }
  for (int i = 0; i < kVariables; ++i)
    sample.text += "(assert (<= -1000 X_" + std::to_string(i) + " 1000))";
  for (int i = 1 + generator.below(3); i > 0; --i) {
    sample.formulas.push_back(generator.formula(depth));
    sample.text += "(assert" + generator.space() + sample.formulas.back().text + ")\n";
  }
  return sample;
}

bool satisfied(const Sample& sample, const Point& point) {
  for (const mpq_class& x : point.x)
    if (x < -1000 || x > 1000) return false;
  for (const Formula& formula : sample.formulas)
    if (!formula.holds(point)) return false;
  return true;
}

std::vector<double> doubles(const std::vector<mpq_class>& x) {
  std::vector<double> made;
  for (const mpq_class& each : x) made.push_back(each.get_d());  // exact
  return made;
}

unsigned seed() {
  const char* const given = std::getenv("BF_SEED");
  return given != nullptr ? static_cast<unsigned>(std::stoul(given)) : 1;
}

// Random points, at which a property is compared with the formulas that it was read from.
struct Points {
  int count = 0, violated = 0;

  void compare(Generator& generator, const Sample& sample, const Property& property) {
    for (int k = 0; k < 20; ++k, ++count) {
      const Point point = generator.point();
      const bool expected = satisfied(sample, point);
      violated += expected ? 1 : 0;
      EXPECT_EQ(test::violates(property, doubles(point.x), point.y), expected);
    }
  }
  // Points on one side only would test nothing.
  void expect_both() const {
    EXPECT_GT(violated, count / 20);
    EXPECT_LT(violated, count * 19 / 20);
  }
};

TEST(VnnlibRandom, ReadsWhatTheFormulaMeans) {
  Points points;
  for (unsigned round = 0; round < 3000; ++round) {
    Generator generator(seed() * 100'000 + round);
    const Sample sample = random_property(generator);
    SCOPED_TRACE("BF_SEED=" + std::to_string(seed()) + ", round " + std::to_string(round) + "\n" +
                 sample.text);
    const Property property = parse_property(sample.text, "random");
    points.compare(generator, sample, property);
    ASSERT_FALSE(testing::Test::HasFailure());
  }
  points.expect_both();
}

TEST(VnnlibRandom, ReadsWhatFormulasThatAreNotLinearMean) {
  Points points;
  int derived = 0, too_large = 0;
  for (unsigned round = 0; round < 1000; ++round) {
    Generator generator(seed() * 100'000 + round, {.linear = false});
    const Sample sample = random_property(generator, 2);
    SCOPED_TRACE("BF_SEED=" + std::to_string(seed()) + ", round " + std::to_string(round) + "\n" +
                 sample.text);
    Property property;
    PropertyLimits limits;
    limits.disjuncts = 1000;
    limits.literals = 10'000;
    try {
      property = parse_property(sample.text, "random", limits);
    } catch (const CompileError& error) {  // alternatives may multiply out to too many
      ASSERT_EQ(error.diagnostics().at(0).code, "BF3404");
      ++too_large;
      continue;
    }
    derived += property.derived.empty() ? 0 : 1;
    points.compare(generator, sample, property);
    ASSERT_FALSE(testing::Test::HasFailure());
  }
  points.expect_both();
  EXPECT_GT(derived, 200);
  EXPECT_LT(too_large, 300);
}

// Bounds of a row from floats around its value; infinite ones among them.
TEST(VnnlibRandom, ExcludedClausesDoNotHold) {
  int excluded = 0, certain = 0;
  for (unsigned round = 0; round < 3000; ++round) {
    Generator generator(seed() * 100'000 + 50'000 + round);
    const Sample sample = random_property(generator);
    const Property property = parse_property(sample.text, "random");
    const VerdictTables tables = verdict_tables(property);
    const Point point = generator.point();
    std::vector<float> value_low, value_high;
    const std::vector<mpq_class>& x = point.x;
    for (const PropertyRow& row : property.rows) {
      const mpq_class value = test::value_of(row, x, point.y);
      value_low.push_back(float_at_most(value));
      value_high.push_back(float_at_least(value));
    }
    std::size_t clause = 0;
    for (const PropertyCase& one : property.cases) {
      bool inside = true;
      for (std::size_t i = 0; i < x.size(); ++i)
        inside = inside && one.box.lower[i] <= point.x[i] && point.x[i] <= one.box.upper[i];
      for (const Clause& conditions : one.clauses) {
        bool holds = true;
        for (const Condition& condition : conditions)
          holds = holds && test::holds(property, condition, x, point.y);
        bool never = false, always = true;
        for (std::uint32_t i = tables.clause_terms[clause]; i < tables.clause_terms[clause + 1];
             ++i) {
          const VerdictCondition& term = tables.terms[i];
          const auto row = static_cast<std::size_t>(term.row);
          never = never || (term.at_least ? value_high[row] < term.threshold
                                          : value_low[row] > term.threshold);
          always = always && (term.at_least ? value_low[row] >= term.threshold
                                            : value_high[row] <= term.threshold);
        }
        ++clause;
        if (!inside) continue;
        SCOPED_TRACE(sample.text);
        ASSERT_FALSE(never && holds);
        ASSERT_FALSE(always && !holds);
        excluded += never ? 1 : 0;
        certain += always ? 1 : 0;
      }
    }
  }
  EXPECT_GT(excluded, 500);
  EXPECT_GT(certain, 100);
}

}  // namespace
}  // namespace bf_aot
