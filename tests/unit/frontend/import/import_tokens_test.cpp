#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "frontend/diagnostic.h"
#include "frontend/evaluate/evaluate.h"
#include "frontend/import/file/importer.h"
#include "tests/support/model_text.h"

namespace bf_aot {
namespace {

using test::encode_model;

std::string ids_input(const std::string& name, const std::string& dims, int type = 7) {
  return "input { name: \"" + name + "\" type { tensor_type { elem_type: " + std::to_string(type) +
         " shape { " + dims + " } } } }\n";
}

std::string dim_of(int size) {
  return "dim { dim_value: " + std::to_string(size) + " } ";
}

// Rows of the table (10, 11), (20, 21), (30, 31), read by ids.
ImportedModel import_ids(const std::string& nodes, const std::string& inputs, const ModelCut& cut) {
  return import_model_bytes(
      encode_model("ir_version: 8 opset_import { version: 17 } graph { name: \"g\" " + nodes +
                   inputs +
                   "initializer { name: \"table\" data_type: 1 dims: 3 dims: 2 float_data: 10 "
                   "float_data: 11 float_data: 20 float_data: 21 float_data: 30 float_data: 31 }\n"
                   "initializer { name: \"axis\" data_type: 7 dims: 1 int64_data: 0 }\n"
                   "output { name: \"y\" } }"),
      "text.onnx", {}, {}, {}, cut);
}

constexpr char kGather[] =
    "node { op_type: \"Gather\" input: \"table\" input: \"x\" output: \"y\" }";

ModelCut tokens(std::vector<std::vector<std::int64_t>> sets) {
  ModelCut cut;
  cut.tokens["x"].sets = std::move(sets);
  return cut;
}

std::string refusal_of(const std::string& nodes, const std::string& inputs, const ModelCut& cut) {
  try {
    import_ids(nodes, inputs, cut);
  } catch (const CompileError& error) {
    return error.diagnostics().front().code;
  }
  return "";
}

TEST(ImportTokens, ReadOneOfTheRows) {
  const ImportedModel model =
      import_ids(kGather, ids_input("x", dim_of(1) + dim_of(2)), tokens({{2, 0}, {1}}));
  const Graph& graph = model.graph;
  EXPECT_EQ(graph.one_hot, (OneHot{2, {{2, 0}, {1}}}));
  ASSERT_EQ(graph.inputs.size(), 1U);
  EXPECT_EQ(graph.value(graph.inputs[0]).shape, (Shape{1, 2, 2}));
  EXPECT_EQ(graph.value(graph.outputs[0]).shape, (Shape{1, 2, 2}));
  EXPECT_EQ(evaluate(graph, {{1, 0, 1, 0}})[0], (std::vector<double>{30, 31, 20, 21}));
  EXPECT_EQ(evaluate(graph, {{0, 1, 1, 0}})[0], (std::vector<double>{10, 11, 20, 21}));
}

TEST(ImportTokens, OfNumbersAloneAreOneText) {
  ModelCut cut = tokens({{2}, {0}});
  cut.tokens["x"].fixed = true;
  const Graph graph = import_ids(kGather, ids_input("x", dim_of(2)), cut).graph;
  EXPECT_EQ(graph.one_hot, (OneHot{1, {{2}, {0}}}));
  EXPECT_EQ(evaluate(graph, {{1, 1}})[0], (std::vector<double>{30, 31, 10, 11}));
}

TEST(ImportTokens, AreNamedWhereIntegersMustBeKnown) {
  for (const std::string node :
       {"node { op_type: \"ReduceSum\" input: \"table\" input: \"x\" output: \"y\" }",
        "node { op_type: \"Loop\" input: \"x\" input: \"\" input: \"table\" output: \"y\" "
        "attribute { name: \"body\" type: GRAPH g { input { name: \"i\" } input { name: \"go\" } "
        "input { name: \"s\" } output { name: \"go\" } output { name: \"s\" } } } }"}) {
    try {
      import_ids(node, ids_input("x", dim_of(1)), {});
      ADD_FAILURE() << node;
    } catch (const CompileError& error) {
      EXPECT_EQ(error.diagnostics().front().code, "BF1018");
      EXPECT_NE(error.diagnostics().front().hint.find("--tokens"), std::string::npos) << node;
    }
  }
}

TEST(ImportTokens, AreMovedOnTheirWay) {
  const std::string nodes =
      "node { op_type: \"Unsqueeze\" input: \"x\" input: \"axis\" output: \"u\" }"
      "node { op_type: \"Cast\" input: \"u\" output: \"i\" attribute { name: \"to\" type: INT i: 6 "
      "} }"
      "node { op_type: \"Transpose\" input: \"i\" output: \"t\" }"
      "node { op_type: \"Gather\" input: \"table\" input: \"t\" output: \"y\" }";
  const ImportedModel model =
      import_ids(nodes, ids_input("x", dim_of(1) + dim_of(2)), tokens({{0, 1}, {2}}));
  EXPECT_EQ(evaluate(model.graph, {{0, 1, 1, 0}})[0], (std::vector<double>{20, 21, 30, 31}));
}

TEST(ImportTokens, AreSumsToOtherOperators) {
  const std::string nodes =
      "node { op_type: \"Cast\" input: \"x\" output: \"f\" attribute { name: \"to\" type: INT i: 1 "
      "} }"
      "node { op_type: \"Mul\" input: \"f\" input: \"f\" output: \"y\" }";
  const ImportedModel model =
      import_ids(nodes, ids_input("x", dim_of(1) + dim_of(1)), tokens({{7, 3}}));
  EXPECT_EQ(evaluate(model.graph, {{1, 0}})[0], (std::vector<double>{49}));
  EXPECT_EQ(evaluate(model.graph, {{0, 1}})[0], (std::vector<double>{9}));
}

TEST(ImportTokens, MayBeFixedBesideOthers) {
  const std::string nodes =
      "node { op_type: \"Gather\" input: \"table\" input: \"x\" output: \"rows\" }"
      "node { op_type: \"Gather\" input: \"table\" input: \"kind\" output: \"kinds\" }"
      "node { op_type: \"Add\" input: \"rows\" input: \"kinds\" output: \"y\" }";
  ModelCut cut = tokens({{0, 1}});
  cut.tokens["kind"] = {{{2}}, true};
  const std::string inputs =
      ids_input("x", dim_of(1) + dim_of(1)) + ids_input("kind", dim_of(1) + dim_of(1));
  const ImportedModel model = import_ids(nodes, inputs, cut);
  ASSERT_EQ(model.graph.inputs.size(), 1U);
  EXPECT_EQ(evaluate(model.graph, {{0, 1}})[0], (std::vector<double>{50, 52}));
  cut.tokens["kind"] = {{{2, 0}}, false};
  const ImportedModel both = import_ids(nodes, inputs, cut);
  EXPECT_EQ(both.graph.inputs.size(), 2U);
  EXPECT_EQ(evaluate(both.graph, {{0, 1}, {0, 1}})[0], (std::vector<double>{30, 32}));
  EXPECT_EQ(refusal_of(nodes, inputs, tokens({{0, 1}})), "BF1029");
}

TEST(ImportTokens, SayHowLongATextIs) {
  const std::string open = "dim { dim_param: \"batch\" } dim { dim_param: \"length\" }";
  const ImportedModel model = import_ids(kGather, ids_input("x", open), tokens({{0}, {1, 2}, {2}}));
  EXPECT_EQ(model.graph.value(model.graph.inputs[0]).shape, (Shape{1, 3, 2}));
}

TEST(ImportTokens, AreRefusedWhereTheyDoNotFit) {
  const std::string two = ids_input("x", dim_of(1) + dim_of(2));
  EXPECT_EQ(refusal_of(kGather, two, {}), "BF1018");
  EXPECT_EQ(refusal_of(kGather, two, tokens({{0}})), "BF1029");
  EXPECT_EQ(refusal_of(kGather, two, tokens({{0}, {}})), "BF1029");
  EXPECT_EQ(refusal_of(kGather, two, tokens({{0}, {1, 1}})), "BF1029");
  EXPECT_EQ(refusal_of(kGather, two, tokens({{0}, {std::int64_t{1} << 54}})), "BF1029");
  EXPECT_EQ(refusal_of(kGather, two, tokens({{0}, {3}})), "BF1014");
  EXPECT_EQ(refusal_of(kGather, ids_input("x", dim_of(1) + dim_of(2), 1), tokens({{0}, {1}})),
            "BF1029");
  ModelCut other;
  other.tokens["z"].sets = {{0}, {1}};
  EXPECT_EQ(refusal_of(kGather, two, other), "BF1029");
}

// Rows of words by ids and of positions by their index, added up.
TEST(ImportTokens, AreEmbedded) {
  const std::string text =
      "ir_version: 8 opset_import { version: 17 } opset_import { domain: \"com.microsoft\" "
      "version: 1 "
      "} graph { name: \"g\" node { op_type: \"EmbedLayerNormalization\" domain: \"com.microsoft\" "
      "input: \"x\" input: \"\" input: \"words\" input: \"places\" input: \"\" input: \"ones\" "
      "input: \"zeros\" output: \"n\" output: \"\" output: \"y\" }" +
      ids_input("x", dim_of(1) + dim_of(2)) +
      "initializer { name: \"words\" data_type: 1 dims: 3 dims: 2 float_data: [10, 11, 20, 21, 30, "
      "31] } initializer { name: \"places\" data_type: 1 dims: 2 dims: 2 float_data: [1, 2, 3, 4] }"
      "initializer { name: \"ones\" data_type: 1 dims: 2 float_data: [1, 1] }"
      "initializer { name: \"zeros\" data_type: 1 dims: 2 float_data: [0, 0] }"
      "output { name: \"y\" } }";
  const Graph graph =
      import_model_bytes(encode_model(text), "text.onnx", {}, {}, {}, tokens({{2, 0}, {1}})).graph;
  EXPECT_EQ(evaluate(graph, {{1, 0, 1, 0}})[0], (std::vector<double>{31, 33, 23, 25}));
  EXPECT_EQ(evaluate(graph, {{0, 1, 1, 0}})[0], (std::vector<double>{11, 13, 23, 25}));
}

}  // namespace
}  // namespace bf_aot
