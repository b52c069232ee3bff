// What operators become: the core nodes, and their values where the choice of nodes shows.
// Values in general: tests/conformance and tests/differential.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "frontend/diagnostic.h"
#include "frontend/evaluate/evaluate.h"
#include "frontend/import/file/importer.h"
#include "tests/support/model_text.h"

namespace bf_aot {
namespace {

using Tensors = std::vector<std::vector<double>>;

Graph import_body(const std::string& body, int opset = 18) {
  const std::string text = "ir_version: 8 opset_import { version: " + std::to_string(opset) +
                           " } graph { name: \"g\"\n" + body + "\noutput { name: \"y\" } }";
  return import_model_bytes(test::encode_model(text), "model.onnx", {}).graph;
}

std::string dims(const Shape& shape) {
  std::string text;
  for (std::int64_t dim : shape) text += "dim { dim_value: " + std::to_string(dim) + " } ";
  return text;
}

std::string input(const std::string& name, const Shape& shape, int type = 1) {
  return "input { name: \"" + name + "\" type { tensor_type { elem_type: " + std::to_string(type) +
         " shape { " + dims(shape) + " } } } }\n";
}

std::string tensor(const std::string& name, const Shape& shape, const std::string& values,
                   int type = 1) {
  std::string text = "initializer { name: \"" + name + "\" data_type: " + std::to_string(type);
  for (std::int64_t dim : shape) text += " dims: " + std::to_string(dim);
  const char* const field = type == 1 ? "float_data" : type == 7 ? "int64_data" : "int32_data";
  return text + " " + field + ": [" + values + "] }\n";
}

std::string node(const std::string& type, const std::vector<std::string>& inputs,
                 const std::string& output = "y", const std::string& attributes = "") {
  std::string text = "node { op_type: \"" + type + "\" output: \"" + output + "\" ";
  for (const std::string& each : inputs) text += "input: \"" + each + "\" ";
  return text + attributes + " }\n";
}

std::string integer(const std::string& name, std::int64_t value) {
  return "attribute { name: \"" + name + "\" type: INT i: " + std::to_string(value) + " } ";
}

// "relu", "index_map add": the kinds of all nodes but literals, in order.
std::string kinds(const Graph& graph) {
  std::string text;
  for (const Node& each : graph.nodes)
    if (!std::holds_alternative<Literal>(each.op))
      text += (text.empty() ? "" : " ") + std::string(op_name(each.op));
  return text;
}

std::vector<double> run(const Graph& graph, const Tensors& inputs) {
  return evaluate(graph, inputs).at(0);
}

std::string code_of(const std::string& body, int opset = 18) {
  try {
    import_body(body, opset);
  } catch (const CompileError& error) {
    return error.diagnostics().front().code;
  }
  return "";
}

TEST(ImportOperators, ProductsWithItselfAreSquares) {
  const Graph graph = import_body(input("x", {2}) + node("Mul", {"x", "x"}));
  EXPECT_EQ(kinds(graph), "power");
  EXPECT_EQ(run(graph, {{-3, 2}}), (std::vector<double>{9, 4}));
}

TEST(ImportOperators, ClipAtZeroIsRelu) {
  const std::string x = input("x", {2});
  const std::string zero = tensor("zero", {}, "0");
  EXPECT_EQ(kinds(import_body(x + zero + node("Clip", {"x", "zero"}))), "relu");
  EXPECT_EQ(kinds(import_body(x + zero + node("Max", {"zero", "x"}))), "relu");
  EXPECT_EQ(kinds(import_body(x + zero + node("Min", {"zero", "x"}))), "clip");
}

TEST(ImportOperators, CrossedClipIsItsUpperBound) {
  const Graph graph = import_body(input("x", {3}) + tensor("low", {}, "2") +
                                  tensor("high", {}, "1") + node("Clip", {"x", "low", "high"}));
  EXPECT_EQ(run(graph, {{0, 1.5, 3}}), (std::vector<double>{1, 1, 1}));
}

TEST(ImportOperators, ComputedClipBounds) {
  const Graph graph = import_body(input("x", {3}) + input("low", {}) + input("high", {}) +
                                  node("Clip", {"x", "low", "high"}));
  EXPECT_EQ(run(graph, {{-5, 0.5, 5}, {-1}, {2}}), (std::vector<double>{-1, 0.5, 2}));
}

TEST(ImportOperators, UniformSlopesAreLeakyRelus) {
  const std::string x = input("x", {2, 2});
  EXPECT_EQ(kinds(import_body(x + tensor("s", {2}, "0.5, 0.5") + node("PRelu", {"x", "s"}))),
            "leaky_relu");
  const Graph graph = import_body(x + tensor("s", {2}, "0.5, 2") + node("PRelu", {"x", "s"}));
  EXPECT_EQ(run(graph, {{-1, -1, 3, 3}}), (std::vector<double>{-0.5, -2, 3, 3}));
}

TEST(ImportOperators, PowersAreGroupedByExponent) {
  const Graph graph =
      import_body(input("x", {4}) + tensor("e", {4}, "1, 2, 1, 0") + node("Pow", {"x", "e"}));
  EXPECT_EQ(run(graph, {{3, 3, 5, 0}}), (std::vector<double>{3, 9, 5, 1}));
  const std::string base = tensor("b", {2}, "2, 4") + input("x", {2});
  EXPECT_NEAR(run(import_body(base + node("Pow", {"b", "x"})), {{3, 0.5}})[0], 8, 1e-12);
}

TEST(ImportOperators, PowerOfComputedTensorsIsRefused) {
  EXPECT_EQ(code_of(input("x", {2}) + input("e", {2}) + node("Pow", {"x", "e"})), "BF1018");
  EXPECT_EQ(code_of(tensor("b", {2}, "1, -2") + input("e", {2}) + node("Pow", {"b", "e"})),
            "BF1026");
}

TEST(ImportOperators, CastsRoundTowardsZero) {
  const Graph graph = import_body(input("x", {4}) + node("Cast", {"x"}, "y", integer("to", 7)));
  EXPECT_EQ(run(graph, {{-1.5, -0.5, 0.5, 2}}), (std::vector<double>{-1, 0, 0, 2}));
  const Graph truth = import_body(input("x", {3}) + node("Cast", {"x"}, "y", integer("to", 9)));
  EXPECT_EQ(run(truth, {{-0.25, 0, 7}}), (std::vector<double>{1, 0, 1}));
  EXPECT_EQ(code_of(input("x", {1}) + node("Cast", {"x"}, "y", integer("to", 8))), "BF1022");
}

TEST(ImportOperators, IntegersAreDividedTowardsZero) {
  const std::string numbers =
      tensor("a", {4}, "7, -7, 6, -1", 7) + tensor("b", {4}, "2, 2, 3, 3", 7) + input("x", {1});
  const auto value = [&](const std::string& type, const std::string& attributes = "") {
    return run(import_body(numbers + node(type, {"a", "b"}, "y", attributes)), {{0}});
  };
  EXPECT_EQ(value("Div"), (std::vector<double>{3, -3, 2, 0}));
  EXPECT_EQ(value("Mod"), (std::vector<double>{1, 1, 0, 2}));
  EXPECT_EQ(value("Mod", integer("fmod", 1)), (std::vector<double>{1, -1, 0, -1}));
}

TEST(ImportOperators, OldBroadcastAlignsAtTheAxis) {
  const std::string operands = input("x", {2, 3}) + tensor("b", {2}, "10, 20");
  const std::string attributes = integer("broadcast", 1) + integer("axis", 0);
  const Graph graph = import_body(operands + node("Add", {"x", "b"}, "y", attributes), 6);
  EXPECT_EQ(run(graph, {{1, 2, 3, 4, 5, 6}}), (std::vector<double>{11, 12, 13, 24, 25, 26}));
  EXPECT_EQ(code_of(operands + node("Add", {"x", "b"}, "y", attributes), 7), "BF1012");
}

TEST(ImportOperators, ComparisonsKnowTies) {
  const std::string operands = input("a", {3}) + input("b", {3});
  const auto value = [&](const std::string& type) {
    return run(import_body(operands + node(type, {"a", "b"})), {{1, 2, 3}, {2, 2, 2}});
  };
  EXPECT_EQ(value("Less"), (std::vector<double>{1, 0, 0}));
  EXPECT_EQ(value("LessOrEqual"), (std::vector<double>{1, 1, 0}));
  EXPECT_EQ(value("Greater"), (std::vector<double>{0, 0, 1}));
  EXPECT_EQ(value("GreaterOrEqual"), (std::vector<double>{0, 1, 1}));
  EXPECT_EQ(value("Equal"), (std::vector<double>{0, 1, 0}));
}

TEST(ImportOperators, LogicOfComputedTruths) {
  const std::string truths = input("a", {2}) + input("b", {2}) + node("Less", {"a", "b"}, "less") +
                             node("Equal", {"a", "b"}, "equal") +
                             node("Or", {"less", "equal"}, "or") + node("Not", {"or"}, "not") +
                             node("Xor", {"or", "less"}, "xor");
  EXPECT_EQ(run(import_body(truths + node("And", {"or", "xor"})), {{1, 2}, {1, 3}}),
            (std::vector<double>{1, 0}));
  EXPECT_EQ(run(import_body(truths + node("Where", {"less", "a", "b"})), {{1, 5}, {2, 3}}),
            (std::vector<double>{1, 3}));
  EXPECT_EQ(code_of(truths + node("And", {"or", "a"})), "BF1019");
  EXPECT_EQ(code_of(truths + node("Where", {"a", "a", "b"})), "BF1019");
}

TEST(ImportOperators, ConstantConditionsOnlyMoveData) {
  const Graph graph = import_body(input("a", {2}) + input("b", {2}) + tensor("c", {2}, "1, 0", 9) +
                                  node("Where", {"c", "a", "b"}));
  EXPECT_EQ(kinds(graph), "sparse_affine sparse_affine add");
  EXPECT_EQ(run(graph, {{1, 2}, {3, 4}}), (std::vector<double>{1, 4}));
}

TEST(ImportOperators, FirstAndLastOfEqualWinners) {
  const std::string x = input("x", {1, 4});
  const auto winner = [&](const std::string& type, std::int64_t last) {
    return run(import_body(x + node(type, {"x"}, "y",
                                    integer("axis", 1) + integer("select_last_index", last))),
               {{2, 5, 5, 2}});
  };
  EXPECT_EQ(winner("ArgMax", 0), std::vector<double>{1});
  EXPECT_EQ(winner("ArgMax", 1), std::vector<double>{2});
  EXPECT_EQ(winner("ArgMin", 0), std::vector<double>{0});
  EXPECT_EQ(winner("ArgMin", 1), std::vector<double>{3});
  EXPECT_EQ(run(import_body(x + node("Hardmax", {"x"})), {{2, 5, 5, 2}}),
            (std::vector<double>{0, 1, 0, 0}));
}

TEST(ImportOperators, ComputedOneHot) {
  const std::string body = input("x", {1, 3}) + node("ArgMax", {"x"}, "i", integer("axis", 1)) +
                           tensor("depth", {}, "3", 7) + tensor("values", {2}, "-1, 4");
  EXPECT_EQ(run(import_body(body + node("OneHot", {"i", "depth", "values"})), {{1, 2, 9}}),
            (std::vector<double>{-1, -1, 4}));
}

TEST(ImportOperators, SortsWithAnyLength) {
  for (std::int64_t n = 1; n <= 9; ++n) {
    const Graph graph =
        import_body(input("x", {n}) + tensor("k", {1}, std::to_string(n), 7) +
                    "output { name: \"i\" }\nnode { op_type: \"TopK\" input: \"x\" input: \"k\" "
                    "output: \"y\" output: \"i\" }\n");
    std::vector<double> x;
    for (std::int64_t i = 0; i < n; ++i) x.push_back(static_cast<double>(i * 4 % 9));
    const Tensors result = evaluate(graph, {x});  // outputs in the file's order: i, y
    std::vector<double> sorted = x;
    std::sort(sorted.rbegin(), sorted.rend());
    EXPECT_EQ(result[1], sorted);
    for (std::size_t i = 0; i < sorted.size(); ++i)
      EXPECT_EQ(x[static_cast<std::size_t>(result[0][i])], sorted[i]);
  }
}

TEST(ImportOperators, SlicesBackwards) {
  const std::string x = input("x", {5});
  const auto slice = [&](const std::string& start, const std::string& end,
                         const std::string& step) {
    return run(import_body(x + tensor("s", {1}, start, 7) + tensor("e", {1}, end, 7) +
                           tensor("a", {1}, "0", 7) + tensor("t", {1}, step, 7) +
                           node("Slice", {"x", "s", "e", "a", "t"})),
               {{0, 1, 2, 3, 4}});
  };
  EXPECT_EQ(slice("-1", "-9223372036854775808", "-2"), (std::vector<double>{4, 2, 0}));
  EXPECT_EQ(slice("9", "0", "-1"), (std::vector<double>{4, 3, 2, 1}));
  EXPECT_EQ(slice("1", "9223372036854775807", "9223372036854775807"), std::vector<double>{1});
  EXPECT_EQ(slice("3", "0", "-9223372036854775808"), std::vector<double>{3});
  EXPECT_EQ(slice("1", "-1", "2"), (std::vector<double>{1, 3}));
}

// 2^63 - 1 is no double: data movement must not go through one.
TEST(ImportOperators, LargeIntegersSurviveMovement) {
  const Graph graph =
      import_body(input("x", {3}) + tensor("big", {2}, "9223372036854775807, 1", 7) +
                  tensor("zero", {1}, "0", 7) + tensor("one", {1}, "1", 7) +
                  node("Gather", {"big", "zero"}, "end") +
                  node("Concat", {"one", "one"}, "c", integer("axis", 0)) +
                  node("Gather", {"c", "zero"}, "start") + node("Slice", {"x", "start", "end"}));
  EXPECT_EQ(run(graph, {{1, 2, 3}}), (std::vector<double>{2, 3}));
}

TEST(ImportOperators, ShapesAreComputed) {
  const Graph graph = import_body(
      input("x", {2, 3, 4}) + node("Shape", {"x"}, "s") + tensor("i", {1}, "0", 7) +
      tensor("rest", {1}, "-1", 7) + node("Gather", {"s", "i"}, "n") +
      node("Concat", {"n", "rest"}, "to", integer("axis", 0)) + node("Reshape", {"x", "to"}));
  EXPECT_EQ(graph.value(graph.outputs[0]).shape, (Shape{2, 12}));
}

TEST(ImportOperators, UnevenSplits) {
  const Graph graph =
      import_body(input("x", {5}) +
                  "output { name: \"a\" }\nnode { op_type: \"Split\" input: \"x\" output: "
                  "\"a\" output: \"y\" " +
                  integer("num_outputs", 2) + "}\n");
  const Tensors parts = evaluate(graph, {{1, 2, 3, 4, 5}});
  EXPECT_EQ(parts, (Tensors{{1, 2, 3}, {4, 5}}));
}

TEST(ImportOperators, ReductionsOverNothing) {
  const Graph graph = import_body(
      input("x", {2}) + node("ReduceSum", {"x"}, "y", integer("noop_with_empty_axes", 1)));
  EXPECT_EQ(run(graph, {{1, 2}}), (std::vector<double>{1, 2}));
}

// Without any axes each element is reduced alone: its size, square and logarithm are taken.
TEST(ImportOperators, ReductionsOverNothingKeepTheirFunctions) {
  const std::vector<std::pair<std::string, double>> of_minus_3 = {
      {"ReduceL1", 3},   {"ReduceL2", 3},         {"ReduceSumSquare", 9},
      {"ReduceSum", -3}, {"ReduceLogSumExp", -3}, {"ReduceMax", -3},
      {"ReduceMin", -3}, {"ReduceProd", -3},      {"ReduceMean", -3},
  };
  const std::string noop = integer("noop_with_empty_axes", 1) + integer("keepdims", 0);
  for (const auto& [type, right] : of_minus_3) {
    SCOPED_TRACE(type);
    const Graph absent = import_body(input("x", {1, 2}) + node(type, {"x"}, "y", noop));
    const Graph empty = import_body(input("x", {1, 2}) + tensor("a", {0}, "", 7) +
                                    node(type, {"x", "a"}, "y", noop));
    for (const Graph* const graph : {&absent, &empty}) {
      EXPECT_EQ(graph->value(graph->outputs[0]).shape, (Shape{1, 2}));
      EXPECT_EQ(run(*graph, {{-3, 1}})[0], right);
    }
  }
  const Graph log = import_body(input("x", {1}) + node("ReduceLogSum", {"x"}, "y", noop));
  EXPECT_EQ(run(log, {{4}})[0], std::log(4.0));
}

// Selu's constants got more digits in operator set 6.
TEST(ImportOperators, DefaultsAreThoseOfTheOperatorSet) {
  const std::string body = input("x", {2}) + node("Selu", {"x"});
  const std::vector<double> old = run(import_body(body, 5), {{-1, 1}});
  EXPECT_NEAR(old[0], 1.0507 * 1.6732 * std::expm1(-1.0), 1e-7);
  EXPECT_NEAR(old[1], 1.0507, 1e-7);
  const std::vector<double> now = run(import_body(body, 6), {{-1, 1}});
  EXPECT_NEAR(now[0], 1.05070102214 * 1.67326319218 * std::expm1(-1.0), 1e-9);
  EXPECT_NEAR(now[1], 1.05070102214, 1e-9);
}

// Where a model imports ai.onnx twice, attributes of both versions are read.
TEST(ImportOperators, AttributesOfEachVersionThatIsImported) {
  const std::string graph =
      "graph { name: \"g\"\n" + input("x", {1, 2}) +
      node("ReduceMax", {"x"}, "y", "attribute { name: \"axes\" type: INTS ints: 1 } ") +
      "output { name: \"y\" } }";
  const std::string old = "ir_version: 8 opset_import { version: 13 } ";
  const std::string model = test::encode_model(old + "opset_import { version: 18 } " + graph);
  EXPECT_EQ(run(import_model_bytes(model, "m", {}).graph, {{1, 2}}), (std::vector<double>{2}));
  const std::string one = test::encode_model("ir_version: 8 opset_import { version: 18 } " + graph);
  EXPECT_THROW(import_model_bytes(one, "m", {}), CompileError);
}

// Before opset 7 a slope of one dimension has a number per channel.
TEST(ImportOperators, SlopesPerChannel) {
  const std::string body = input("x", {1, 2, 2}) + tensor("s", {2}, "2, 10");
  const std::string prelu = node("PRelu", {"x", "s"});
  const Tensors x = {{-1, -1, -1, 1}};
  EXPECT_EQ(run(import_body(body + prelu, 6), x), (std::vector<double>{-2, -2, -10, 1}));
  EXPECT_EQ(run(import_body(body + prelu, 7), x), (std::vector<double>{-2, -10, -2, 1}));
}

TEST(ImportOperators, SingleNumbersAreSingle) {
  const std::string x = input("x", {2, 2});
  EXPECT_EQ(code_of(x + tensor("k", {0}, "", 7) + node("Trilu", {"x", "k"})), "BF1014");
  EXPECT_EQ(code_of(x + tensor("k", {2}, "0, 1", 7) + node("Trilu", {"x", "k"})), "BF1014");
  EXPECT_EQ(code_of(x + tensor("k", {0}, "", 7) + node("TopK", {"x", "k"})), "BF1014");
  EXPECT_EQ(code_of(x + tensor("k", {2}, "0, 1", 7) + node("CumSum", {"x", "k"})), "BF1014");
}

// A third is no double: the mean's weights say how far they are from it.
TEST(ImportOperators, MeansKnowTheirRounding) {
  const Graph graph = import_body(input("x", {3}) + node("ReduceMean", {"x"}));
  const auto& mean = std::get<SparseAffine>(graph.nodes.at(0).op);
  ASSERT_EQ(mean.value.error.size(), 3u);
  EXPECT_GT(mean.value.error[0], 0);
  EXPECT_LE(mean.value.error[0], 0x1p-54);
}

TEST(ImportOperators, IndicesOutOfRange) {
  const std::string x = input("x", {3});
  EXPECT_EQ(code_of(x + tensor("i", {1}, "3", 7) + node("Gather", {"x", "i"})), "BF1014");
  EXPECT_EQ(code_of(x + tensor("i", {1}, "-4", 7) + node("Gather", {"x", "i"})), "BF1014");
  EXPECT_EQ(code_of(x + tensor("r", {1}, "-1", 7) + node("Tile", {"x", "r"})), "BF1014");
  EXPECT_EQ(code_of(x + node("CumSum", {"x", "x"})), "BF1018");
}

TEST(ImportOperators, TooLargeForComparisons) {
  EXPECT_EQ(code_of(input("x", {5000}) + node("ArgMax", {"x"})), "BF1026");
  EXPECT_EQ(code_of(input("x", {300}) + node("ReduceProd", {"x"})), "BF1026");
}

TEST(ImportOperators, EinsumEquations) {
  const std::string x = input("x", {2, 2});
  const auto value = [&](const std::string& equation) {
    return run(import_body(x + node("Einsum", {"x"}, "y",
                                    "attribute { name: \"equation\" type: STRING s: \"" + equation +
                                        "\" }")),
               {{1, 2, 3, 4}});
  };
  EXPECT_EQ(value("ij->ji"), (std::vector<double>{1, 3, 2, 4}));
  EXPECT_EQ(value("ii"), std::vector<double>{5});
  EXPECT_EQ(value("ii->i"), (std::vector<double>{1, 4}));
  EXPECT_EQ(value("...j->..."), (std::vector<double>{3, 7}));
  EXPECT_EQ(value("ba"), (std::vector<double>{1, 3, 2, 4}));
  for (const char* equation : {"i1->i", "ij,jk->ik", "ij->ik", "ijk->i", "ij->ii"})
    EXPECT_THROW(value(equation), CompileError) << equation;
}

// Every operator, with each of its inputs left out in turn: values or diagnostics. A problem of a
// node does not keep the next ones from being imported.
TEST(ImportOperators, AnyInputMayBeLeftOut) {
  const std::string declared = input("x", {1, 2, 2, 2}) + tensor("i", {2}, "0, 1", 7);
  for (const std::string_view type : supported_operators()) {
    SCOPED_TRACE(type);
    std::string nodes = node("Relu", {"x"});
    int made = 0;
    for (const std::string name : {"x", "i"})
      for (std::size_t count = 1; count <= 4; ++count)
        for (std::size_t left_out = 0; left_out < count; ++left_out) {
          std::vector<std::string> inputs(count, name);
          inputs[0] = "x";
          inputs[left_out].clear();
          nodes += node(std::string(type), inputs, "y" + std::to_string(made++));
        }
    EXPECT_THROW(import_body(nodes + declared), CompileError);
  }
}

TEST(ImportOperators, EachHasOneRow) {
  const std::vector<std::string_view> names = supported_operators();
  EXPECT_EQ(std::ranges::adjacent_find(names), names.end());
  const std::vector<std::string> others = contributed_operators();
  EXPECT_EQ(std::set<std::string>(others.begin(), others.end()).size(), others.size());
}

// Those whose lists have no end need attributes to come so far.
TEST(ImportOperators, AHoleInAListIsNamed) {
  const std::string declared = input("x", {1, 2});
  const auto message = [&](const std::string& type, const std::string& attributes) {
    try {
      import_body(node(type, {"x", "", "x"}, "y", attributes) + declared);
    } catch (const CompileError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  for (const char* const type : {"Sum", "Max", "Mean", "Min"})
    EXPECT_NE(message(type, "").find("input 1 is left out"), std::string::npos) << type;
  EXPECT_NE(
      message("Concat", "attribute { name: \"axis\" type: INT i: 0 }").find("input 1 is left out"),
      std::string::npos);
  EXPECT_NE(message("Einsum", "attribute { name: \"equation\" type: STRING s: \"ab,ab,ab->ab\" }")
                .find("input 1 is left out"),
            std::string::npos);
}

TEST(ImportOperators, EmptyNamesAtTheEndAreNoInputs) {
  for (const char* const type : {"Add", "Sum", "Max"})
    EXPECT_NO_THROW(import_body(node(type, {"x", "x", ""}) + input("x", {1, 2}))) << type;
}

}  // namespace
}  // namespace bf_aot
