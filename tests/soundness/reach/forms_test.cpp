// Operations on forms hold every number, in exact arithmetic: forms of all sizes, down to where
// products and quotients underflow, at values of their symbols and remainders that are ends or
// random rational numbers. Functions are compared by 160 bits, which is as good where no form is
// thinner than a few doubles. BF_SEED=n repeats a run.

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>
#include <vector>

#include "aot/reach/numbers/form.h"
#include "aot/reach/search/simulate.h"
#include "aot/reach/tube/network_lines.h"
#include "tests/seed.h"
#include "tests/soundness/reach/oracle.h"
#include "tests/soundness/reach/random_loops.h"
#include "tests/support/loops.h"

namespace bf_aot::soundness {
namespace {

using reach::Form;

constexpr std::size_t kSymbols = 4;

double share(Random& random) {
  return reach::random_share(random);
}

// 0, small integers, and numbers of any magnitude around 2^scale.
double random_number(Random& random, int scale) {
  switch (random() % 5) {
    case 0:
      return 0;
    case 1:
      return static_cast<double>(static_cast<int>(random() % 7) - 3);
    default:
      return (2 * share(random) - 1) *
             std::exp2(scale - static_cast<int>(random() % (random() % 2 == 0 ? 4 : 60)));
  }
}

Form random_form(Random& random, int scale) {
  Form made;
  made.centre = random_number(random, scale);
  made.slope.resize(random() % (kSymbols + 1));
  for (double& slope : made.slope) slope = random() % 3 == 0 ? 0 : random_number(random, scale - 2);
  if (random() % 2 == 0) made.radius = std::fabs(random_number(random, scale - 4));
  return made;
}

// A number from -1 to 1: an end, or any.
mpq_class random_unit(Random& random) {
  switch (random() % 4) {
    case 0:
      return -1;
    case 1:
      return 1;
    default:
      return mpq_class(2 * share(random) - 1);
  }
}

struct Point {
  std::vector<mpq_class> symbols;
  explicit Point(Random& random) {
    for (std::size_t k = 0; k < kSymbols; ++k) symbols.push_back(random_unit(random));
  }
  mpq_class value(const Form& form, Random& random) const {
    mpq_class sum = mpq_class(form.centre) + mpq_class(form.radius) * random_unit(random);
    for (std::size_t k = 0; k < form.slope.size(); ++k)
      sum += mpq_class(form.slope[k]) * symbols[k];
    return sum;
  }
  // Whether the form may be `value` here.
  bool holds(const Form& form, const mpq_class& value) const {
    if (!reach::is_finite(form)) return true;
    mpq_class sum = form.centre;
    for (std::size_t k = 0; k < form.slope.size(); ++k)
      sum += mpq_class(form.slope[k]) * symbols[k];
    const reach::Range range = reach::range_of(form);
    return abs(value - sum) <= mpq_class(form.radius) &&
           (!range.is_finite() ||
            (mpq_class(range.low) <= value && value <= mpq_class(range.high)));
  }
};

struct Operation {
  const char* name;
  std::function<Form(const Form&, const Form&)> form;
  // Of two values; nothing is asked where the second is 0 and is divided by.
  std::function<mpq_class(const mpq_class&, const mpq_class&)> exact;
};

mpq_class relu(const mpq_class& x) {
  return x > 0 ? x : mpq_class(0);
}

std::vector<Operation> operations() {
  using Q = mpq_class;
  constexpr double kFactor = 0x1.9p-3;
  const auto unary = [](FunctionKind kind, double a = 0, double b = 0) {
    Function f;
    f.kind = kind;
    f.a = a;
    f.b = b;
    return [f](const Form& x, const Form&) { return reach::apply(f, x); };
  };
  using reach::FormArithmetic;
  return {
      {"add", FormArithmetic::add, [](const Q& a, const Q& b) -> Q { return a + b; }},
      {"subtract", FormArithmetic::subtract, [](const Q& a, const Q& b) -> Q { return a - b; }},
      {"multiply", FormArithmetic::multiply, [](const Q& a, const Q& b) -> Q { return a * b; }},
      {"square", [](const Form& a, const Form&) { return reach::square(a); },
       [](const Q& a, const Q&) -> Q { return a * a; }},
      {"divide", FormArithmetic::divide,
       [](const Q& a, const Q& b) -> Q { return b == 0 ? Q(0) : Q(a / b); }},
      {"times",
       [](const Form& a, const Form&) {
         return reach::times(a, {kFactor, 0});
       },
       [](const Q& a, const Q&) -> Q { return a * Q(kFactor); }},
      {"times a small number",
       [](const Form& a, const Form&) {
         return reach::times(a, {0x1p-700, 0});
       },
       [](const Q& a, const Q&) -> Q { return a * Q(0x1p-700); }},
      {"times an inexact number",
       [](const Form& a, const Form&) {
         return reach::times(a, {0.25, 0x1p-9});
       },
       [](const Q& a, const Q&) -> Q { return a * Q(0.25 - 0x1p-9); }},
      {"over", [](const Form& a, const Form&) { return reach::over(a, 3); },
       [](const Q& a, const Q&) -> Q { return a / 3; }},
      {"over a large number", [](const Form& a, const Form&) { return reach::over(a, 0x1.8p700); },
       [](const Q& a, const Q&) -> Q { return a / Q(0x1.8p700); }},
      {"relu", [](const Form& a, const Form&) { return FormArithmetic::relu(a); },
       [](const Q& a, const Q&) -> Q { return relu(a); }},
      {"larger", FormArithmetic::larger, [](const Q& a, const Q& b) -> Q { return a < b ? b : a; }},
      {"abs", unary(FunctionKind::kAbs), [](const Q& a, const Q&) -> Q { return abs(a); }},
      {"leaky relu", unary(FunctionKind::kLeakyRelu, 0.1),
       [](const Q& a, const Q&) -> Q { return a < 0 ? Q(a * Q(0.1)) : a; }},
      {"clip", unary(FunctionKind::kClip, -0.5, 0.75),
       [](const Q& a, const Q&) -> Q { return a < Q(-0.5)   ? Q(-0.5)
                                              : a > Q(0.75) ? Q(0.75)
                                                            : a; }},
      {"reciprocal", unary(FunctionKind::kReciprocal),
       [](const Q& a, const Q&) -> Q { return a == 0 ? Q(0) : Q(1 / a); }},
  };
}

class FormOperations : public ::testing::TestWithParam<int> {};

// The parameter: magnitudes of operands.
TEST_P(FormOperations, HoldExactResults) {
  const int scale = GetParam();
  const std::uint64_t seed =
      testing::seed_from_environment(7) + static_cast<std::uint64_t>(scale + 2000);
  Random random(seed);
  for (const Operation& operation : operations()) {
    std::size_t finite = 0;
    const int rounds = 300 * testing::rounds_from_environment();
    for (int round = 0; round < rounds; ++round) {
      const Form a = random_form(random, scale);
      const Form b = random() % 8 == 0 ? a : random_form(random, scale);
      const Form made = operation.form(a, b);
      if (!reach::is_finite(made)) continue;
      ++finite;
      for (int k = 0; k < 6; ++k) {
        const Point point(random);
        const mpq_class x = point.value(a, random), y = point.value(b, random);
        ASSERT_TRUE(point.holds(made, operation.exact(x, y)))
            << operation.name << ": " << x.get_d() << ", " << y.get_d() << ", round " << round
            << ", BF_SEED=" << seed;
      }
    }
    EXPECT_GT(finite, 30U) << operation.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Scales, FormOperations,
                         ::testing::Values(0, 3, -20, -300, -520, -1000, -1040, -1070, 500),
                         [](const auto& tested) {
                           return (tested.param < 0 ? "minus_" : "plus_") +
                                  std::to_string(std::abs(tested.param));
                         });

TEST(FormFunctions, HoldResultsOf160Bits) {
  const std::uint64_t seed = testing::seed_from_environment(11);
  Random random(seed);
  using Kind = FunctionKind;
  for (const Function& f :
       {Function{Kind::kSin}, Function{Kind::kCos}, Function{Kind::kTan}, Function{Kind::kTanh},
        Function{Kind::kExp}, Function{Kind::kAtan}, Function{Kind::kSqrt}, Function{Kind::kLog},
        Function{Kind::kSigmoid}, Function{Kind::kSinh}, Function{Kind::kCosh},
        Function{Kind::kErf}, Function{Kind::kSoftplus}, Function{Kind::kReciprocal},
        Function{Kind::kPower, 2}, Function{Kind::kPower, 3}, Function{Kind::kPower, 4},
        Function{Kind::kPower, -1}, Function{Kind::kPower, -2}}) {
    std::size_t finite = 0;
    for (int round = 0; round < 400 * testing::rounds_from_environment(); ++round) {
      const Form a = random_form(random, round % 3 - 1);
      const Form made = reach::apply(f, a);
      if (!reach::is_finite(made)) continue;
      ++finite;
      for (int k = 0; k < 6; ++k) {
        const Point point(random);
        const Real exact = RealArithmetic::apply(f, RealArithmetic::number(point.value(a, random)));
        mpq_class value;
        mpfr_get_q(value.get_mpq_t(), exact);
        // It, and both sides of what 160 bits may be off by.
        const mpq_class slack = abs(value) / mpq_class(mpz_class(1) << 150);
        ASSERT_TRUE(point.holds(made, value) || point.holds(made, value + slack) ||
                    point.holds(made, value - slack))
            << name_of(f.kind) << ", round " << round << ", BF_SEED=" << seed;
      }
    }
    EXPECT_GT(finite, 50U) << name_of(f.kind);
  }
}

// Without their radii most of these forms are refuted.
TEST(FormFunctions, RadiiAreNeeded) {
  Random random(3);
  for (const Operation& operation : operations()) {
    std::size_t refuted = 0;
    for (int round = 0; round < 300; ++round) {
      const Form a = random_form(random, 0), b = random_form(random, 0);
      Form made = operation.form(a, b);
      if (!reach::is_finite(made)) continue;
      made.radius = 0;
      const Point point(random);
      if (!point.holds(made, operation.exact(point.value(a, random), point.value(b, random))))
        ++refuted;
    }
    EXPECT_GT(refuted, 20U) << operation.name;
  }
}

// ---- Networks of forms.

class NetworkForms : public ::testing::TestWithParam<int> {};

// The parameter: magnitudes of inputs, down to what float32 has no numbers for.
TEST_P(NetworkForms, HoldExactOutputs) {
  const int scale = GetParam();
  const std::uint64_t seed = testing::seed_from_environment(23);
  Random random(seed + static_cast<std::uint64_t>(scale + 2000));
  std::size_t finite = 0, refuted = 0;
  for (int network = 0; network < 4 * testing::rounds_from_environment(); ++network) {
    const Graph graph =
        test::dense_network({random_layer(random, 3, 6), random_layer(random, 6, 2)});
    const reach::NetworkLines lines(graph, {}, kSymbols, host_options(), {});
    const ScalarProgram program = scalar_program(graph);
    for (int round = 0; round < 60; ++round) {
      std::vector<Form> inputs;
      for (int i = 0; i < 3; ++i) inputs.push_back(random_form(random, scale));
      const std::vector<Form> made = lines.bound(inputs);
      for (int k = 0; k < 6; ++k) {
        const Point point(random);
        std::vector<mpq_class> x;
        for (const Form& each : inputs) x.push_back(point.value(each, random));
        const std::vector<mpq_class> y = outputs_of(program, x, RationalArithmetic());
        for (std::size_t j = 0; j < y.size(); ++j) {
          if (!reach::is_finite(made[j])) continue;
          ++finite;
          ASSERT_TRUE(point.holds(made[j], y[j])) << "round " << round << ", BF_SEED=" << seed;
          Form spoiled = made[j];
          spoiled.radius = 0;
          if (!point.holds(spoiled, y[j])) ++refuted;
        }
      }
    }
  }
  EXPECT_GT(finite, 500U);
  EXPECT_GT(refuted, finite / 2);
}

INSTANTIATE_TEST_SUITE_P(Scales, NetworkForms,
                         ::testing::Values(0, 10, -20, -120, -140, -160, -1060, 100),
                         [](const auto& tested) {
                           return (tested.param < 0 ? "minus_" : "plus_") +
                                  std::to_string(std::abs(tested.param));
                         });

}  // namespace
}  // namespace bf_aot::soundness
