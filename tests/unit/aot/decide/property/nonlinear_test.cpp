// Conditions that are not linear, decided for random networks: nothing is verified that a point of
// a grid violates, and every witness satisfies the formula, both in exact arithmetic. BF_SEED=n
// tries other networks and formulas.

#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>
#include <random>
#include <string>

#include "aot/decide/request.h"
#include "frontend/diagnostic.h"
#include "frontend/evaluate/evaluate_exact.h"
#include "frontend/graph/merge_graphs.h"
#include "frontend/property/vnnlib/vnnlib.h"
#include "tests/support/random_formulas.h"
#include "tests/unit/aot/decide/property/engine_request.h"
#include "tests/unit/frontend/graph/graph_builder.h"

namespace bf_aot::decide {
namespace {

using bf_aot::testing::affine;
using bf_aot::testing::Builder;

constexpr int kSmallInputs = 2, kSmallOutputs = 2, kSmallHidden = 4;

unsigned first_seed() {
  const char* const given = std::getenv("BF_SEED");
  return given != nullptr ? static_cast<unsigned>(std::stoul(given)) * 10'000 : 1;
}

std::vector<double> quarters(std::mt19937& random, int count) {
  std::vector<double> made;
  for (int i = 0; i < count; ++i) made.push_back((static_cast<double>(random() % 17) - 8) / 4);
  return made;
}

Graph small_random_network(unsigned seed) {
  std::mt19937 random(seed);
  Builder b({kSmallInputs});
  const ValueId h =
      b.relu(b.add(affine(kSmallHidden, kSmallInputs, quarters(random, kSmallHidden * kSmallInputs),
                          quarters(random, kSmallHidden)),
                   {b.x()}, {kSmallHidden}));
  return b.outputs(
      {b.add(affine(kSmallOutputs, kSmallHidden, quarters(random, kSmallOutputs * kSmallHidden),
                    quarters(random, kSmallOutputs)),
             {h}, {kSmallOutputs})});
}

std::string text_of(const std::string& formula) {
  return "(declare-const X_0 Real)(declare-const X_1 Real)(declare-const Y_0 Real)"
         "(declare-const Y_1 Real)(assert (<= -1 X_0 1))(assert (<= -1 X_1 1))(assert " +
         formula + ")";
}

Property nonlinear_property(const std::string& formula) {
  return parse_property(text_of(formula), "p.vnnlib");
}

// Nothing where a random formula has more alternatives than can be decided quickly.
std::optional<Property> read_small_property(const std::string& text) {
  PropertyLimits limits;
  limits.disjuncts = 200;
  limits.literals = 2000;
  try {
    return parse_property(text, "p.vnnlib", limits);
  } catch (const CompileError& error) {
    EXPECT_EQ(error.diagnostics().at(0).code, "BF3404");
    return std::nullopt;
  }
}

Request quick_request(double branch_seconds = 0.5) {
  Request request = engine_request();
  request.search_seconds = 0.1;
  request.branch_seconds = branch_seconds;
  return request;
}

Outcome decide_quickly(const Graph& graph, const Property& property,
                       Semantics semantics = Semantics::kReal) {
  Request request = quick_request();
  request.compile.planner.semantics = semantics;
  return decide(Sampler(graph), {}, property, request, {});
}

std::vector<mpq_class> exact_outputs_of(const Graph& graph, const std::vector<mpq_class>& x) {
  return evaluate_exact(graph, std::vector<std::vector<mpq_class>>{x})[0];
}

mpq_class eighths(int i) {
  mpq_class made(i, 8);
  made.canonicalize();
  return made;
}

bool holds_on_grid(const Graph& graph, const test::Formula& formula) {
  constexpr int kSteps = 8;
  for (int i = -kSteps; i <= kSteps; ++i)
    for (int j = -kSteps; j <= kSteps; ++j) {
      const std::vector<mpq_class> x = {eighths(i), eighths(j)};
      const std::vector<mpq_class> y = exact_outputs_of(graph, x);
      if (formula.holds({x, y})) return true;
    }
  return false;
}

TEST(NonlinearConditions, NothingIsVerifiedThatAGridPointViolates) {
  int verified = 0, falsified = 0, unknown = 0;
  for (unsigned seed = first_seed(); seed < first_seed() + 80; ++seed) {
    test::Generator generator(seed, {.inputs = kSmallInputs,
                                     .outputs = kSmallOutputs,
                                     .linear = false,
                                     .digits = 60,
                                     .places = 1});
    const Graph graph = small_random_network(seed);
    const test::Formula formula = generator.formula(1);
    SCOPED_TRACE(std::to_string(seed) + ": " + formula.text);
    const auto property = read_small_property(text_of(formula.text));
    if (!property || property->derived.empty()) continue;
    const Outcome outcome = decide_quickly(graph, *property);
    if (outcome.answer == Answer::kVerified) {
      ++verified;
      EXPECT_FALSE(holds_on_grid(graph, formula));
    } else if (outcome.answer == Answer::kFalsified) {
      ++falsified;
      const std::vector<mpq_class>& x = outcome.witness->x;
      for (const mpq_class& each : x) EXPECT_LE(abs(each), 1);
      EXPECT_TRUE(formula.holds({x, exact_outputs_of(graph, x)}));
      EXPECT_EQ(outcome.witness->y.size(), 2U);
    } else {
      ++unknown;
    }
  }
  EXPECT_GT(verified, 2);
  EXPECT_GT(falsified, 4);
  EXPECT_LT(unknown, 15);
}

// Of float32 evaluation: a witness is one for every evaluation, the exact one among them.
TEST(NonlinearConditions, OfFloat32) {
  for (unsigned seed = first_seed(); seed < first_seed() + 12; ++seed) {
    test::Generator generator(seed, {.inputs = kSmallInputs,
                                     .outputs = kSmallOutputs,
                                     .linear = false,
                                     .digits = 60,
                                     .places = 1});
    const Graph graph = small_random_network(seed);
    const test::Formula formula = generator.formula(1);
    SCOPED_TRACE(std::to_string(seed) + ": " + formula.text);
    const auto property = read_small_property(text_of(formula.text));
    if (!property) continue;
    const Outcome outcome = decide_quickly(graph, *property, Semantics::kFloat32);
    if (outcome.answer == Answer::kVerified) {
      EXPECT_FALSE(holds_on_grid(graph, formula));
    }
    if (outcome.answer != Answer::kFalsified) continue;
    EXPECT_TRUE(formula.holds({outcome.witness->x, exact_outputs_of(graph, outcome.witness->x)}));
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

Answer known_answer(const std::string& formula) {
  return decide(Sampler(known_network()), {}, nonlinear_property(formula), quick_request(5), {})
      .answer;
}

TEST(NonlinearConditions, KnownAnswers) {
  // |y_0| <= 3 and |y_1| <= 2.
  EXPECT_EQ(known_answer("(> (* Y_0 Y_0) 9)"), Answer::kVerified);
  EXPECT_EQ(known_answer("(>= (* Y_0 Y_0) 9)"), Answer::kFalsified);
  EXPECT_EQ(known_answer("(>= (abs Y_0) 3.01)"), Answer::kVerified);
  EXPECT_EQ(known_answer("(>= (max Y_0 Y_1) 2.9)"), Answer::kFalsified);
  EXPECT_EQ(known_answer("(< (* (- Y_0 X_1) (- Y_0 X_1)) 0)"), Answer::kVerified);
  EXPECT_EQ(known_answer("(> (* X_0 X_1) 1.001)"), Answer::kVerified);
  EXPECT_EQ(known_answer("(and (>= (* X_0 X_1) 0.9) (<= Y_0 1))"), Answer::kFalsified);
  EXPECT_EQ(known_answer("(> (* X_0 X_0 X_0) (+ (* X_0 X_0) 0.001))"), Answer::kVerified);
  // A circle inside of the square, and points beyond it.
  EXPECT_EQ(known_answer("(and (<= (+ (* X_0 X_0) (* X_1 X_1)) 0.25) (>= Y_1 1.01))"),
            Answer::kVerified);
  EXPECT_EQ(known_answer("(and (<= (+ (* X_0 X_0) (* X_1 X_1)) 0.25) (>= Y_1 0.7))"),
            Answer::kFalsified);
}

// The product of a point's exact coordinates, which are no doubles, meets the limit.
TEST(NonlinearConditions, WitnessesAreExact) {
  const std::string text =
      "(declare-const X_0 Real)(declare-const X_1 Real)(declare-const Y_0 Real)"
      "(declare-const Y_1 Real)(assert (= X_0 0.1))(assert (= X_1 0.3))";
  const auto answer_of = [&](const std::string& condition) {
    return decide(Sampler(known_network()), {},
                  parse_property(text + "(assert " + condition + ")", "p.vnnlib"), quick_request(),
                  {})
        .answer;
  };
  EXPECT_EQ(answer_of("(<= (* X_0 X_1) 0.03)"), Answer::kFalsified);
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
                  parse_property(text + "(assert " + condition + ")", "p.vnnlib"), quick_request(),
                  {})
        .answer;
  };
  EXPECT_EQ(answer_of("(>= (* X_0 Y_0) 1)"), Answer::kFalsified);
  EXPECT_EQ(answer_of("(> (* X_0 Y_0) 1)"), Answer::kVerified);
}

TEST(NonlinearConditions, AreRefusedForAVerifiersOwnEvaluation) {
  try {
    decide_quickly(known_network(), nonlinear_property("(>= (* X_0 Y_0) 1)"),
                   Semantics::kFloat32Exact);
    FAIL();
  } catch (const CompileError& error) {
    EXPECT_EQ(error.diagnostics().at(0).code, "BF3414");
  }
}

// Counts the verdicts about formulas of two random networks, f with X and Y, g with Z and W, and
// compares them with exact values: nothing is verified that a point of a grid violates, and
// witnesses violate. tie: assertions that tie g's inputs; inputs_of_g: they at inputs x and outputs
// y of f. Formulas speak of X_0, X_1 and X_2, X_3, and of the outputs likewise.
struct Verdicts {
  int verified = 0, falsified = 0;
};

template <class Inputs>
Verdicts verdicts_about_two(unsigned count, const std::string& tie,
                            const std::vector<std::int64_t>& source, const Inputs& inputs_of_g) {
  const std::pair<const char*, const char*> kNames[] = {
      {"X_0", "X[0]"}, {"X_1", "X[1]"}, {"X_2", "Z[0]"}, {"X_3", "Z[1]"},
      {"Y_0", "Y[0]"}, {"Y_1", "Y[1]"}, {"Y_2", "W[0]"}, {"Y_3", "W[1]"}};
  Verdicts made;
  for (unsigned seed = first_seed(); seed < first_seed() + count; ++seed) {
    test::Generator generator(
        seed, {.inputs = 4, .outputs = 4, .linear = seed % 2 == 0, .digits = 60, .places = 1});
    const test::Formula formula = generator.formula(1);
    std::string text = formula.text;
    for (const auto& [from, to] : kNames)
      for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += 4)
        text.replace(at, 3, to);
    SCOPED_TRACE(std::to_string(seed) + ": " + text);
    const auto read = read_small_property(
        "(declare-network f (declare-input X Real [2])(declare-output Y Real [2]))"
        "(declare-network g (declare-input Z Real [2])(declare-output W Real [2]))"
        "(assert (<= -1 X[0] 1))(assert (<= -1 X[1] 1))" +
        tie + "(assert " + text + ")");
    if (!read) continue;
    const Property& property = *read;
    EXPECT_EQ(property.input_count, 2);
    EXPECT_EQ(property.input_source, source);
    const Graph f = small_random_network(seed), g = small_random_network(seed + 1000);
    const Graph merged =
        merge_graphs({{"f", f}, {"g", g}}, property.input_source, property.input_count);
    const auto holds_at = [&](const std::vector<mpq_class>& x) {
      std::vector<mpq_class> y = exact_outputs_of(f, x);
      const std::vector<mpq_class> w = exact_outputs_of(g, inputs_of_g(x, y));
      y.insert(y.end(), w.begin(), w.end());
      return formula.holds({whole_inputs(property, x, y), y});
    };
    const Outcome outcome = decide_quickly(merged, property);
    if (outcome.answer == Answer::kVerified) {
      ++made.verified;
      for (int i = -8; i <= 8; ++i)
        for (int j = -8; j <= 8; ++j) EXPECT_FALSE(holds_at({eighths(i), eighths(j)}));
    } else if (outcome.answer == Answer::kFalsified) {
      ++made.falsified;
      EXPECT_TRUE(holds_at(outcome.witness->x));
    }
  }
  return made;
}

TEST(SeveralNetworks, NothingIsVerifiedThatAGridPointViolates) {
  const auto same = [](const std::vector<mpq_class>& x, const std::vector<mpq_class>&) {
    return x;
  };
  const Verdicts made =
      verdicts_about_two(40, "(assert (= X[0] Z[0]))(assert (= X[1] Z[1]))", {0, 1, 0, 1}, same);
  EXPECT_GT(made.verified, 1);
  EXPECT_GT(made.falsified, 4);
}

// The inputs of the second network are an output and an input of the first one.
TEST(SeveralNetworks, OneMayReadAnother) {
  const auto crossed = [](const std::vector<mpq_class>& x, const std::vector<mpq_class>& y) {
    return std::vector<mpq_class>{y[1], x[0]};
  };
  const Verdicts made =
      verdicts_about_two(30, "(assert (= Z[0] Y[1]))(assert (= Z[1] X[0]))", {0, 1, 3, 0}, crossed);
  EXPECT_GT(made.verified, 0);
  EXPECT_GT(made.falsified, 3);
}

Answer compared_networks(const Graph& f, const Graph& g, const std::string& condition) {
  const Property property = parse_property(
      "(declare-network f (declare-input X Real [2])(declare-output Y Real [2]))"
      "(declare-network g (declare-input X Real [2])(declare-output Y Real [2]))"
      "(assert (<= -1 f.X[0] 1))(assert (<= -1 f.X[1] 1))(assert (= f.X[0] g.X[0]))"
      "(assert (= f.X[1] g.X[1]))(assert " +
          condition + ")",
      "q.vnnlib");
  const Graph merged =
      merge_graphs({{"f", f}, {"g", g}}, property.input_source, property.input_count);
  return decide(Sampler(merged), {}, property, quick_request(5), {}).answer;
}

TEST(SeveralNetworks, ANetworkEqualsItself) {
  const Graph f = small_random_network(7);
  EXPECT_EQ(compared_networks(f, f, "(or (!= f.Y[0] g.Y[0]) (!= f.Y[1] g.Y[1]))"),
            Answer::kVerified);
}

// A copy whose output 0 is up to 1/8 higher, and one without a neuron.
TEST(SeveralNetworks, ANetworkAndAChangedCopy) {
  const auto chain = [](double bias, double last) {
    Builder b({2});
    const ValueId h =
        b.relu(b.add(affine(3, 2, {1, -1, 0.5, 2, -1, 1}, {0.25, 0, 0.5}), {b.x()}, {3}));
    return b.outputs({b.add(affine(2, 3, {1, 2, last, -1, 0.5, 1}, {bias, 0}), {h}, {2})});
  };
  EXPECT_EQ(
      compared_networks(chain(0, 0.5), chain(0.125, 0.5), "(>= (abs (- f.Y[0] g.Y[0])) 0.126)"),
      Answer::kVerified);
  EXPECT_EQ(
      compared_networks(chain(0, 0.5), chain(0.125, 0.5), "(>= (abs (- f.Y[0] g.Y[0])) 0.125)"),
      Answer::kFalsified);
  // The third neuron is at most 2.5.
  EXPECT_EQ(compared_networks(chain(0, 0.5), chain(0, 0), "(> (- f.Y[0] g.Y[0]) 1.2501)"),
            Answer::kVerified);
  EXPECT_EQ(compared_networks(chain(0, 0.5), chain(0, 0), "(> (- f.Y[0] g.Y[0]) 1.2)"),
            Answer::kFalsified);
}

TEST(SeveralNetworks, AreNotOne) {
  const Property property = parse_property(
      "(declare-network f (declare-input X Real [2])(declare-output Y Real [2]))"
      "(declare-network g (declare-input Z Real [2])(declare-output W Real [2]))"
      "(assert (<= -1 X[0] 1))(assert (<= -1 X[1] 1))(assert (= X[0] Z[0]))(assert (= X[1] Z[1]))"
      "(assert (> Y[0] W[0]))",
      "q.vnnlib");
  try {
    decide(Sampler(small_random_network(1)), {}, property, quick_request(), {});
    FAIL();
  } catch (const CompileError& error) {
    EXPECT_EQ(error.diagnostics().at(0).code, "BF3410");
  }
}

}  // namespace
}  // namespace bf_aot::decide
