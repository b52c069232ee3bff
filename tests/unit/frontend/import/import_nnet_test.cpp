#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "frontend/diagnostic.h"
#include "frontend/evaluate/evaluate.h"
#include "frontend/import/file/importer.h"
#include "tests/support/model_text.h"

namespace bf_aot {
namespace {

// Two inputs, two hidden neurons, one output.
constexpr char kFile[] =
    "// A network\n"
    "//\n"
    "2,2,1,2,\n"
    "2,2,1,\n"
    "0,\n"
    "-1.0,0,\n"
    "1.0,10,\n"
    "0.5,5,100,\n"
    "2,4,8,\n"
    "1,2,\n"
    "-1,1.5e0,\n"
    "0.25,\n"
    "-1,\n"
    "3,-2,\n"
    "+0.5,\n";

ImportedModel import_text(const std::string& text, const ModelCut& cut = {}) {
  return import_model_bytes(text, "a.nnet", {}, {}, {}, cut);
}

std::string code_of(const std::string& text) {
  try {
    import_text(text);
  } catch (const CompileError& error) {
    return error.diagnostics().front().code;
  }
  return "";
}

double by_hand(double x, double y) {
  const double a = (std::clamp(x, -1.0, 1.0) - 0.5) / 2, b = (std::clamp(y, 0.0, 10.0) - 5) / 4;
  const double h = std::max(a + 2 * b + 0.25, 0.0), k = std::max(-a + 1.5 * b - 1, 0.0);
  return (3 * h - 2 * k + 0.5) * 8 + 100;
}

TEST(ImportNnet, ClipsNormalisesAndScalesBack) {
  const ImportedModel model = import_text(kFile);
  for (const double x : {-3.0, -1.0, 0.0, 0.75, 9.0})
    for (const double y : {-1.0, 0.0, 6.5, 10.0, 11.0})
      EXPECT_NEAR(evaluate(model.graph, {{x, y}})[0][0], by_hand(x, y), 1e-12) << x << " " << y;
}

TEST(ImportNnet, LinesMayEndInOtherWays) {
  std::string text = kFile;
  for (std::size_t at = 0; (at = text.find(",\n", at)) != std::string::npos;)
    text.replace(at, 2, "\r\n");
  EXPECT_NEAR(evaluate(import_text(text).graph, {{0.5, 7}})[0][0], by_hand(0.5, 7), 1e-12);
}

TEST(ImportNnet, RefusesDamagedFiles) {
  const std::string whole = kFile;
  for (std::size_t size = 0; size < whole.find("+0.5"); ++size)
    EXPECT_EQ(code_of(whole.substr(0, size)), "BF1004") << size;
  const auto changed = [&](const std::string& from, const std::string& to) {
    std::string text = whole;
    return code_of(text.replace(text.find(from), from.size(), to));
  };
  for (const auto& [from, to] :
       std::vector<std::pair<std::string, std::string>>{{"2,4,8", "2,0,8"},
                                                        {"2,2,1,2", "2,3,1,2"},
                                                        {"2,2,1,2", "99999999,2,1,2"},
                                                        {"2,2,1,\n0", "2,16777216,1,\n0"},
                                                        {"1.5e0", "nan"},
                                                        {"1.5e0", "1.5x"},
                                                        {"1.5e0", ""},
                                                        {"0.25", "0.25,1"}})
    EXPECT_EQ(changed(from, to), "BF1004") << to;
  EXPECT_EQ(changed("2,2,1,2", "70000,2,1,2"), "BF1005");
}

constexpr char kClassifier[] = R"(
  ir_version: 8 opset_import { version: 17 } opset_import { domain: "ai.onnx.ml" version: 1 }
  graph {
    name: "g"
    node { op_type: "Relu" input: "x" output: "scores" }
    node { op_type: "ArgMax" input: "scores" output: "winner" }
    node { op_type: "ArrayFeatureExtractor" domain: "ai.onnx.ml" input: "names" input: "winner"
           output: "label" }
    node { op_type: "ZipMap" domain: "ai.onnx.ml" input: "scores" output: "map" }
    initializer { name: "names" dims: 2 data_type: 8 string_data: "no" string_data: "yes" }
    input { name: "x" type { tensor_type { elem_type: 1 shape { dim { dim_value: 1 } dim { dim_value: 2 } } } } }
    output { name: "label" } output { name: "map" }
  })";

// What nobody asks for is not read.
TEST(ModelCut, CutWhatFollows) {
  const std::string bytes = test::encode_model(kClassifier);
  EXPECT_THROW(import_model_bytes(bytes, "m", {}), CompileError);
  const ImportedModel model = import_model_bytes(bytes, "m", {}, {}, {}, {.outputs = {"scores"}});
  EXPECT_EQ(evaluate(model.graph, {{-1, 3}})[0], (std::vector<double>{0, 3}));
  EXPECT_EQ(model.nodes.size(), 4U);  // of the file
  EXPECT_TRUE(model.nodes[0].is_output);
  EXPECT_FALSE(model.nodes[3].is_output);
  const ImportedModel two =
      import_model_bytes(bytes, "m", {}, {}, {}, {.outputs = {"winner", "scores"}});
  ASSERT_EQ(two.graph.outputs.size(), 2U);
  EXPECT_EQ(evaluate(two.graph, {{-1, 3}})[1], (std::vector<double>{0, 3}));
}

TEST(ModelCut, MustBeMadeByANode) {
  const std::string bytes = test::encode_model(kClassifier);
  for (const char* name : {"x", "names", "nothing", ""}) try {
      import_model_bytes(bytes, "m", {}, {}, {}, {.outputs = {name}});
      ADD_FAILURE() << name;
    } catch (const CompileError& error) {
      EXPECT_EQ(error.diagnostics().front().code, "BF1017");
    }
}

// Token numbers -> rows of a table -> a sum of both tokens' rows, and an input that is added.
constexpr const char* kEmbedding = R"(
  ir_version: 8 opset_import { version: 17 }
  graph {
    name: "g"
    node { op_type: "Gather" input: "table" input: "ids" output: "rows" }
    node { op_type: "ReduceSum" input: "rows" input: "axes" output: "sum"
           attribute { name: "keepdims" type: INT i: 0 } }
    node { op_type: "Add" input: "sum" input: "more" output: "y" }
    initializer { name: "table" dims: 3 dims: 2 data_type: 1
                  float_data: 1 float_data: 2 float_data: 3 float_data: 4 float_data: 5 float_data: 6 }
    initializer { name: "axes" dims: 1 data_type: 7 int64_data: 0 }
    input { name: "ids" type { tensor_type { elem_type: 7 shape { dim { dim_value: 2 } } } } }
    input { name: "more" type { tensor_type { elem_type: 1 shape { dim { dim_param: "n" } } } } }
    output { name: "y" }
  })";

// Import reads neither what makes the tensor nor the inputs of that; the other inputs follow.
TEST(ModelCut, BeginsWithin) {
  const std::string bytes = test::encode_model(kEmbedding);
  EXPECT_THROW(import_model_bytes(bytes, "m", {}), CompileError);
  const ImportedModel model = import_model_bytes(
      bytes, "m", {}, {}, {}, {.inputs = {"rows"}, .shapes = {{"rows", {2, 2}}, {"more", {2}}}});
  ASSERT_EQ(model.graph.inputs.size(), 2U);
  EXPECT_EQ(model.graph.value(model.graph.inputs[0]).name, "rows");
  EXPECT_EQ(model.graph.value(model.graph.inputs[1]).name, "more");
  EXPECT_EQ(evaluate(model.graph, {{1, 2, 5, 6}, {10, 20}})[0], (std::vector<double>{16, 28}));
}

TEST(ModelCut, NamesWhatIsWrong) {
  const std::string bytes = test::encode_model(kEmbedding);
  const auto refused = [&](const ModelCut& cut) {
    try {
      import_model_bytes(bytes, "m", {}, {}, {}, cut);
    } catch (const CompileError& error) {
      return error.diagnostics().front().code;
    }
    return std::string();
  };
  EXPECT_EQ(refused({.inputs = {"rows"}}), "BF1009") << "its shape is not in the file";
  EXPECT_EQ(refused({.inputs = {"nothing"}}), "BF1008");
  EXPECT_EQ(refused({.inputs = {"ids"}}), "BF1008") << "an input already";
  EXPECT_EQ(refused({.inputs = {"rows", "rows"}}), "BF1008");
  EXPECT_EQ(refused({.inputs = {""}}), "BF1008");
  EXPECT_EQ(refused({.shapes = {{"y", {2}}}}), "BF1009");
  EXPECT_EQ(refused({.inputs = {"rows"}, .shapes = {{"rows", {2, 0}}}}), "BF1009");
}

}  // namespace
}  // namespace bf_aot
