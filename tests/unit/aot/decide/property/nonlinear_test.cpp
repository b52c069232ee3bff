// Conditions that are not linear, decided for random networks: nothing is verified that a point of a
// grid violates, and every witness satisfies the formula, both in exact arithmetic.

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "aot/decide/request.h"
#include "frontend/diagnostic.h"
#include "frontend/evaluate/evaluate_exact.h"
#include "frontend/property/vnnlib/vnnlib.h"
#include "tests/support/random_formulas.h"
#include "tests/unit/frontend/graph/graph_builder.h"

namespace bf_aot::decide {
namespace {

using bf_aot::testing::affine;
using bf_aot::testing::Builder;

constexpr int kInputs = 2, kOutputs = 2, kHidden = 4;

std::vector<double> quarters(std::mt19937& random, int count) {
  std::vector<double> made;
  for (int i = 0; i < count; ++i)
    made.push_back((static_cast<double>(random() % 17) - 8) / 4);
  return made;
}

Graph random_network(unsigned seed) {
  std::mt19937 random(seed);
  Builder b({kInputs});
  const ValueId h = b.relu(b.add(affine(kHidden, kInputs, quarters(random, kHidden * kInputs),
                                        quarters(random, kHidden)),
                                 {b.x()}, {kHidden}));
  return b.outputs({b.add(affine(kOutputs, kHidden, quarters(random, kOutputs * kHidden),
                                 quarters(random, kOutputs)),
                          {h}, {kOutputs})});
}

Property property_of(const std::string& formula) {
  return parse_property(
      "(declare-const X_0 Real)(declare-const X_1 Real)(declare-const Y_0 Real)"
      "(declare-const Y_1 Real)(assert (<= -1 X_0 1))(assert (<= -1 X_1 1))(assert " +
          formula + ")",
      "p.vnnlib");
}

Request quick(double branch_seconds = 0.5) {
  Request request;
  request.search_seconds = 0.1;
  request.branch_seconds = branch_seconds;
  request.jobs = 1;
  request.compile.planner.lowering = Lowering::kPrebuilt;
  return request;
}

Outcome decide_quickly(const Graph& graph, const Property& property,
                       Semantics semantics = Semantics::kReal) {
  Request request = quick();
  request.compile.planner.semantics = semantics;
  return decide(Sampler(graph), {}, property, request, {});
}

std::vector<mpq_class> outputs(const Graph& graph, const std::vector<mpq_class>& x) {
  return evaluate_exact(graph, std::vector<std::vector<mpq_class>>{x})[0];
}

bool holds_on_grid(const Graph& graph, const test::Formula& formula) {
  constexpr int kSteps = 8;
  for (int i = -kSteps; i <= kSteps; ++i)
    for (int j = -kSteps; j <= kSteps; ++j) {
      std::vector<mpq_class> x = {mpq_class(i, kSteps), mpq_class(j, kSteps)};
      for (mpq_class& each : x) each.canonicalize();
      const std::vector<mpq_class> y = outputs(graph, x);
      if (formula.holds({x, y})) return true;
    }
  return false;
}

TEST(NonlinearConditions, NothingIsVerifiedThatAGridPointViolates) {
  int verified = 0, falsified = 0, unknown = 0;
  for (unsigned seed = 1; seed <= 120; ++seed) {
    test::Generator generator(
        seed, {.inputs = kInputs, .outputs = kOutputs, .linear = false, .digits = 60, .places = 1});
    const Graph graph = random_network(seed);
    const test::Formula formula = generator.formula(1);
    SCOPED_TRACE(std::to_string(seed) + ": " + formula.text);
    const Property property = property_of(formula.text);
    if (property.derived.empty()) continue;
    const Outcome outcome = decide_quickly(graph, property);
    if (outcome.answer == Answer::kVerified) {
      ++verified;
      EXPECT_FALSE(holds_on_grid(graph, formula));
    } else if (outcome.answer == Answer::kFalsified) {
      ++falsified;
      const std::vector<mpq_class>& x = outcome.witness->x;
      for (const mpq_class& each : x) EXPECT_LE(abs(each), 1);
      EXPECT_TRUE(formula.holds({x, outputs(graph, x)}));
      EXPECT_EQ(outcome.witness->y.size(), 2U);
    } else {
      ++unknown;
    }
  }
  EXPECT_GT(verified, 8);
  EXPECT_GT(falsified, 15);
  EXPECT_LT(unknown, 10);
}

// Of float32 evaluation: a witness is one for every evaluation, the exact one among them.
TEST(NonlinearConditions, OfFloat32) {
  for (unsigned seed = 1; seed <= 12; ++seed) {
    test::Generator generator(
        seed, {.inputs = kInputs, .outputs = kOutputs, .linear = false, .digits = 60, .places = 1});
    const Graph graph = random_network(seed);
    const test::Formula formula = generator.formula(1);
    SCOPED_TRACE(std::to_string(seed) + ": " + formula.text);
    const Property property = property_of(formula.text);
    const Outcome outcome = decide_quickly(graph, property, Semantics::kFloat32);
    if (outcome.answer == Answer::kVerified) EXPECT_FALSE(holds_on_grid(graph, formula));
    if (outcome.answer != Answer::kFalsified) continue;
    EXPECT_TRUE(formula.holds({outcome.witness->x, outputs(graph, outcome.witness->x)}));
  }
}

// y_0 = 2 relu(x_0) - x_1 and y_1 = x_0 + relu(x_1) on [-1, 1]^2.
Graph known_network() {
  Builder b({2});
  const ValueId positive = b.relu(b.x());
  const ValueId left = b.add(affine(2, 2, {2, 0, 0, 1}, {0, 0}), {positive}, {2});
  const ValueId right = b.add(affine(2, 2, {0, -1, 1, 0}, {0, 0}), {b.x()}, {2});
  return b.outputs({b.add(Binary{Binary::Kind::kAdd}, {left, right}, {2})});
}

Answer answer(const std::string& formula) {
  return decide(Sampler(known_network()), {}, property_of(formula), quick(5), {}).answer;
}

TEST(NonlinearConditions, KnownAnswers) {
  // |y_0| <= 3 and |y_1| <= 2.
  EXPECT_EQ(answer("(> (* Y_0 Y_0) 9)"), Answer::kVerified);
  EXPECT_EQ(answer("(>= (* Y_0 Y_0) 9)"), Answer::kFalsified);
  EXPECT_EQ(answer("(>= (abs Y_0) 3.01)"), Answer::kVerified);
  EXPECT_EQ(answer("(>= (max Y_0 Y_1) 2.9)"), Answer::kFalsified);
  // y_0 + 2 x_1 = 2 relu(x_0) + x_1: a sum of two squares of it is a multiple of one.
  EXPECT_EQ(answer("(< (* (- Y_0 X_1) (- Y_0 X_1)) 0)"), Answer::kVerified);
  EXPECT_EQ(answer("(> (* X_0 X_1) 1.001)"), Answer::kVerified);
  EXPECT_EQ(answer("(and (>= (* X_0 X_1) 0.9) (<= Y_0 0))"), Answer::kFalsified);
  EXPECT_EQ(answer("(> (* X_0 X_0 X_0) (+ (* X_0 X_0) 0.001))"), Answer::kVerified);
  // A circle inside of the square, and points beyond it.
  EXPECT_EQ(answer("(and (<= (+ (* X_0 X_0) (* X_1 X_1)) 0.25) (>= Y_1 1.01))"),
            Answer::kVerified);
  EXPECT_EQ(answer("(and (<= (+ (* X_0 X_0) (* X_1 X_1)) 0.25) (>= Y_1 0.7))"),
            Answer::kFalsified);
}

// The product of a point's exact coordinates, which are no doubles, meets the limit.
TEST(NonlinearConditions, WitnessesAreExact) {
  const std::string text =
      "(declare-const X_0 Real)(declare-const X_1 Real)(declare-const Y_0 Real)"
      "(declare-const Y_1 Real)(assert (= X_0 0.1))(assert (= X_1 0.3))";
  const auto answer_of = [&](const std::string& condition) {
    return decide(Sampler(known_network()), {},
                  parse_property(text + "(assert " + condition + ")", "p.vnnlib"), quick(), {})
        .answer;
  };
  EXPECT_EQ(answer_of("(<= (* X_0 X_1) 0.03)"), Answer::kFalsified);
  EXPECT_EQ(answer_of("(= (* X_0 X_1) 0.03)"), Answer::kFalsified);
  EXPECT_NE(answer_of("(< (* X_0 X_1) 0.03)"), Answer::kFalsified);
  EXPECT_EQ(answer_of("(< (* X_0 X_1) 0.02)"), Answer::kVerified);
}

// Most inputs are fixed, and folded into the verifier.
TEST(NonlinearConditions, WhereInputsAreFixed) {
  const std::string text =
      "(declare-const X_0 Real)(declare-const X_1 Real)(declare-const Y_0 Real)"
      "(declare-const Y_1 Real)(assert (= X_0 0.5))(assert (<= -1 X_1 1))";
  const auto answer_of = [&](const std::string& condition) {
    return decide(Sampler(known_network()), {},
                  parse_property(text + "(assert " + condition + ")", "p.vnnlib"), quick(), {})
        .answer;
  };
  EXPECT_EQ(answer_of("(>= (* X_0 Y_0) 1)"), Answer::kFalsified);
  EXPECT_EQ(answer_of("(> (* X_0 Y_0) 1)"), Answer::kVerified);
}

TEST(NonlinearConditions, AreRefusedForAVerifiersOwnEvaluation) {
  try {
    decide_quickly(known_network(), property_of("(>= (* X_0 Y_0) 1)"), Semantics::kFloat32Exact);
    FAIL();
  } catch (const CompileError& error) {
    EXPECT_EQ(error.diagnostics().at(0).code, "BF3414");
  }
}

}  // namespace
}  // namespace bf_aot::decide
