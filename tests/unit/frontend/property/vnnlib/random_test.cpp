// Random formulas printed as VNN-LIB: what is read back must be violated by exactly the points that
// satisfy the formula, which is evaluated here in exact arithmetic. BF_SEED=n repeats a run.

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <functional>
#include <random>
#include <string>

#include "frontend/numbers/numbers.h"
#include "frontend/property/verdict_tables.h"
#include "frontend/property/vnnlib/vnnlib.h"
#include "tests/support/property_text.h"

namespace bf_aot {
namespace {

constexpr int kInputs = 3;
constexpr int kOutputs = 3;

struct Point {
  std::vector<double> x;
  std::vector<mpq_class> y;
};

// A formula of the language, with its text and its meaning.
struct Formula {
  std::string text;
  std::function<bool(const Point&)> holds;
};

struct Term {
  std::string text;
  std::function<mpq_class(const Point&)> value;
};

class Generator {
 public:
  explicit Generator(unsigned seed) : random_(seed) {}

  int below(int limit) { return static_cast<int>(random_() % static_cast<unsigned>(limit)); }

  // A decimal of few digits, in one of its many forms.
  Term number() {
    const int digits = below(2001) - 1000;
    const int places = below(4);
    mpq_class value(digits);
    for (int i = 0; i < places; ++i) value /= 10;
    std::string text = vnnlib::exact_text(value);
    if (below(4) == 0)
      text = std::to_string(digits) + "e-" + (below(2) == 0 ? "0" : "") + std::to_string(places);
    if (below(8) == 0 && value < 0) text = "(- " + vnnlib::exact_text(-value) + ")";
    return {text, [value](const Point&) { return value; }};
  }

  Term variable(bool input) {
    const auto i = static_cast<std::size_t>(below(input ? kInputs : kOutputs));
    if (input) return {"X_" + std::to_string(i), [i](const Point& p) { return mpq_class(p.x[i]); }};
    return {"Y_" + std::to_string(i), [i](const Point& p) { return p.y[i]; }};
  }

  Term term(int depth) {
    const int kind = depth <= 0 ? below(2) : below(6);
    if (kind == 0) return number();
    if (kind <= 2) return variable(below(3) == 0);
    const Term a = term(depth - 1);
    if (kind == 5) {
      const Term factor = number();
      return {"(* " + factor.text + space() + a.text + ")",
              [=](const Point& p) { return mpq_class(factor.value(p) * a.value(p)); }};
    }
    const Term b = term(depth - 1);
    const bool minus = kind == 4;
    return {std::string(minus ? "(-" : "(+") + space() + a.text + space() + b.text + ")",
            [=](const Point& p) {
              return minus ? mpq_class(a.value(p) - b.value(p))
                           : mpq_class(a.value(p) + b.value(p));
            }};
  }

  Formula comparison() {
    static constexpr const char* kOperators[] = {"<=", ">=", "<", ">", "=", "!="};
    const int op = below(12) < 10 ? below(4) : 4 + below(2);
    Term a, b;
    if (below(2) == 0) {  // nearly all that real files hold
      a = variable(below(2) == 0);
      b = number();
      if (below(4) == 0) std::swap(a, b);
    } else {
      a = term(2);
      b = term(2);
    }
    return {std::string("(") + kOperators[op] + space() + a.text + space() + b.text + ")",
            [=](const Point& p) {
              const int order = cmp(a.value(p), b.value(p));
              const bool results[] = {order <= 0, order >= 0, order<0, order> 0, order == 0,
                                      order != 0};
              return results[op];
            }};
  }

  Formula formula(int depth) {
    const int kind = depth <= 0 ? 0 : below(5);
    if (kind == 0) return comparison();
    if (kind == 1) {
      const Formula a = formula(depth - 1);
      return {"(not" + space() + a.text + ")", [=](const Point& p) { return !a.holds(p); }};
    }
    const bool conjunction = kind % 2 == 0;
    std::vector<Formula> parts;
    std::string text = conjunction ? "(and" : "(or";
    for (int i = 1 + below(3); i > 0; --i) {
      parts.push_back(formula(depth - 1));
      text += below(4) == 0 ? "" : space();  // ")(" needs no blank
      text += parts.back().text;
    }
    return {text + ")", [=](const Point& p) {
              for (const Formula& part : parts)
                if (part.holds(p) != conjunction) return !conjunction;
              return conjunction;
            }};
  }

  std::string space() {
    static constexpr const char* kSpaces[] = {" ", " ", " ", "\n\t", "  ", " ; comment )(\n"};
    return kSpaces[below(6)];
  }

  // Mostly numbers that formulas name, where conditions change.
  double coordinate() {
    const double near = (below(2001) - 1000) / std::pow(10, below(4));
    const int kind = below(4);
    if (kind == 0) return std::nextafter(near, INFINITY);
    if (kind == 1) return std::nextafter(near, -INFINITY);
    return near;
  }

  Point point() {
    Point p;
    for (int i = 0; i < kInputs; ++i) p.x.push_back(coordinate());
    for (int i = 0; i < kOutputs; ++i) {
      mpq_class y(below(2001) - 1000);
      for (int k = below(4); k > 0; --k) y /= 10;
      p.y.push_back(y);
    }
    return p;
  }

 private:
  std::mt19937 random_;
};

struct Sample {
  std::string text;
  std::vector<Formula> formulas;
};

Sample random_property(Generator& generator) {
  Sample sample;
  for (int i = 0; i < kInputs; ++i) {
    sample.text += "(declare-const X_" + std::to_string(i) + " Real)";
    sample.text += "(declare-const Y_" + std::to_string(i) + " Real)\n";
  }
  for (int i = 0; i < kInputs; ++i)
    sample.text += "(assert (<= -1000 X_" + std::to_string(i) + " 1000))";
  for (int i = 1 + generator.below(3); i > 0; --i) {
    sample.formulas.push_back(generator.formula(3));
    sample.text += "(assert" + generator.space() + sample.formulas.back().text + ")\n";
  }
  return sample;
}

bool satisfied(const Sample& sample, const Point& point) {
  for (const double x : point.x)
    if (x < -1000 || x > 1000) return false;
  for (const Formula& formula : sample.formulas)
    if (!formula.holds(point)) return false;
  return true;
}

unsigned seed() {
  const char* const given = std::getenv("BF_SEED");
  return given != nullptr ? static_cast<unsigned>(std::stoul(given)) : 1;
}

TEST(VnnlibRandom, ReadsWhatTheFormulaMeans) {
  int violated = 0, points = 0;
  for (unsigned round = 0; round < 3000; ++round) {
    Generator generator(seed() * 100'000 + round);
    const Sample sample = random_property(generator);
    SCOPED_TRACE("BF_SEED=" + std::to_string(seed()) + ", round " + std::to_string(round) + "\n" +
                 sample.text);
    const Property property = parse_property(sample.text, "random");
    for (int k = 0; k < 20; ++k, ++points) {
      const Point point = generator.point();
      const bool expected = satisfied(sample, point);
      violated += expected ? 1 : 0;
      ASSERT_EQ(test::violates(property, point.x, point.y), expected);
    }
  }
  // Points on one side only would test nothing.
  EXPECT_GT(violated, points / 20);
  EXPECT_LT(violated, points * 19 / 20);
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
    const std::vector<mpq_class> x(point.x.begin(), point.x.end());
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
