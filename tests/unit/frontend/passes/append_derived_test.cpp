// Values that conditions derive from inputs and outputs: the graph's further output has the exact
// values of the property, before and behind all passes.

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "frontend/diagnostic.h"
#include "frontend/evaluate/evaluate.h"
#include "frontend/evaluate/evaluate_exact.h"
#include "frontend/passes/passes.h"
#include "frontend/passes/pipeline.h"
#include "frontend/property/derived_values.h"
#include "frontend/property/vnnlib/vnnlib.h"
#include "tests/support/random_formulas.h"
#include "tests/unit/frontend/graph/graph_builder.h"

namespace bf_aot {
namespace {

using namespace bf_aot::testing;  // the builder

constexpr int kGivenInputs = 3, kGivenOutputs = 2;

// Two inputs, of one and of two elements, and two outputs of one element each.
Graph tensors_network() {
  Builder b({1});
  const ValueId second = b.input("z", {2});
  const ValueId joined =
      b.add(Binary{Binary::Kind::kAdd},
            {b.map(b.x(), {0, 0}),
             b.relu(b.add(affine(2, 2, {1, -2, 0.5, 1}, {0.25, -1}), {second}, {2}))},
            {2});
  return b.outputs({b.map(joined, {1}), b.map(joined, {0})});
}

Property derived_property(const std::string& formula) {
  std::string text =
      "(vnnlib-version <2.0>)(declare-network f (declare-input X Real [1])"
      "(declare-input Z Real [2])(declare-output Y Real [1])"
      "(declare-output W Real [1]))"
      "(assert (<= -3 X[0] 3))(assert (<= -3 Z[0] 3))(assert (<= -3 Z[1] 3))";
  return parse_property(text + "(assert " + formula + ")", "p.vnnlib");
}

std::vector<std::vector<mpq_class>> split_inputs(const std::vector<mpq_class>& x) {
  return {{x[0]}, {x[1], x[2]}};
}

std::vector<mpq_class> all_elements(const std::vector<std::vector<mpq_class>>& tensors) {
  std::vector<mpq_class> all;
  for (const auto& tensor : tensors) all.insert(all.end(), tensor.begin(), tensor.end());
  return all;
}

std::vector<mpq_class> quarter_point(unsigned seed) {
  std::mt19937 random(seed);
  std::vector<mpq_class> x;
  for (int i = 0; i < kGivenInputs; ++i) x.emplace_back(static_cast<int>(random() % 25) - 12, 4);
  for (mpq_class& each : x) each.canonicalize();
  return x;
}

void expect_appended(const Property& property, unsigned seed) {
  const Graph original = tensors_network();
  Graph graph = original;
  append_derived(graph, property.derived);
  verify(graph);
  ASSERT_EQ(graph.outputs.size(), original.outputs.size() + 1);
  EXPECT_TRUE(graph.derived_output);
  for (unsigned k = 0; k < 10; ++k) {
    const std::vector<mpq_class> x = quarter_point(10 * seed + k);
    const std::vector<mpq_class> y = all_elements(evaluate_exact(original, split_inputs(x)));
    EXPECT_EQ(all_elements(evaluate_exact(graph, split_inputs(x))),
              derived_values(property.derived, x, y));
  }
}

TEST(AppendDerived, EachForm) {
  for (const char* const formula :
       {"(<= (* X[0] Z[1]) 1)", "(<= (* (- X[0] Z[1]) (+ Y[0] 2 W[0])) 1)", "(<= (* W[0] W[0]) 1)",
        "(<= (* X[0] (abs (- Y[0] X[0]))) 1)", "(<= (* X[0] (max 0 Y[0])) 1)",
        "(<= (* X[0] (max Z[0] Y[0] (* W[0] X[0]) 0.5)) 1)",
        "(<= (+ Z[0] (* 0.75 Z[1]) (* X[0] X[0] X[0])) (min 1 2))"}) {
    SCOPED_TRACE(formula);
    const Property property = derived_property(formula);
    ASSERT_FALSE(property.derived.empty());
    expect_appended(property, 1);
  }
}

TEST(AppendDerived, SquaresMaximaAndTheirKindsAreKnown) {
  Graph graph = tensors_network();
  append_derived(graph,
                 derived_property("(<= (+ (* Y[0] Y[0]) (* X[0] (abs Y[0])) (* X[0] (max Y[0] 0))"
                                  " (* X[0] (max Y[0] W[0]))) 1)")
                     .derived);
  EXPECT_EQ(count_ops<GroupMax>(graph), 1U);
  int squares = 0, magnitudes = 0;
  for (const Node& node : graph.nodes)
    if (const auto* const unary = std::get_if<Unary>(&node.op)) {
      squares += unary->function.kind == FunctionKind::kPower && unary->function.a == 2 ? 1 : 0;
      magnitudes += unary->function.kind == FunctionKind::kAbs ? 1 : 0;
    }
  EXPECT_EQ(squares, 1);
  EXPECT_EQ(magnitudes, 1);
}

TEST(AppendDerived, NothingWithoutDerivedValues) {
  Graph graph = tensors_network();
  append_derived(graph, {});
  EXPECT_EQ(graph, tensors_network());
}

// Names of the network's variables, as the generator writes them.
std::string with_tensor_names(std::string text) {
  const std::pair<const char*, const char*> kNames[] = {
      {"X_0", "X[0]"}, {"X_1", "Z[0]"}, {"X_2", "Z[1]"}, {"Y_0", "Y[0]"}, {"Y_1", "W[0]"}};
  for (const auto& [from, to] : kNames)
    for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += 4)
      text.replace(at, 3, to);
  return text;
}

// The rows of random properties behind all passes, in double, against exact values.
TEST(AppendDerived, RowsOfRandomFormulas) {
  int tried = 0;
  for (unsigned seed = 1; seed <= 100; ++seed) {
    test::Generator generator(seed, {.inputs = kGivenInputs,
                                     .outputs = kGivenOutputs,
                                     .linear = false,
                                     .digits = 20,
                                     .places = 1});
    const std::string formula = with_tensor_names(generator.formula(1).text);
    SCOPED_TRACE(formula);
    const Property property = derived_property(formula);
    if (property.derived.empty()) continue;
    ++tried;
    expect_appended(property, seed);
    const LinearSpec spec = to_spec(property);
    Graph graph = tensors_network();
    append_derived(graph, spec.derived);
    PassOptions options;
    options.spec = &spec;
    normalise(graph, options);
    ASSERT_EQ(graph.outputs.size(), 3U);
    EXPECT_FALSE(graph.derived_output);
    for (unsigned k = 0; k < 5; ++k) {
      const std::vector<mpq_class> x = quarter_point(10 * seed + k);
      const std::vector<mpq_class> y =
          all_elements(evaluate_exact(tensors_network(), split_inputs(x)));
      const std::vector<mpq_class> all = derived_values(property.derived, x, y);
      const auto rows = evaluate(graph, {{x[0].get_d(), x[1].get_d(), x[2].get_d()}})[2];
      for (std::size_t i = 0; i < property.rows.size(); ++i) {
        mpq_class exact = 0, size = 1;
        const auto add = [&](const mpq_class& factor, const mpq_class& value) {
          exact += factor * value;
          size += abs(factor * value);
        };
        for (const auto& [index, factor] : property.rows[i].outputs)
          add(factor, all[static_cast<std::size_t>(index)]);
        for (const auto& [index, factor] : property.rows[i].inputs)
          add(factor, x[static_cast<std::size_t>(index)]);
        EXPECT_NEAR(rows[i], exact.get_d(), 1e-9 * size.get_d());
      }
    }
  }
  EXPECT_GT(tried, 20);
}

}  // namespace
}  // namespace bf_aot
