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

ImportedModel import_text(const std::string& text, const OutputTensors& outputs = {}) {
  return import_model_bytes(text, "a.nnet", {}, {}, {}, outputs);
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
TEST(OutputTensors, CutWhatFollows) {
  const std::string bytes = test::encode_model(kClassifier);
  EXPECT_THROW(import_model_bytes(bytes, "m", {}), CompileError);
  const ImportedModel model = import_model_bytes(bytes, "m", {}, {}, {}, {"scores"});
  EXPECT_EQ(evaluate(model.graph, {{-1, 3}})[0], (std::vector<double>{0, 3}));
  EXPECT_EQ(model.nodes.size(), 4U);  // of the file
  EXPECT_TRUE(model.nodes[0].is_output);
  EXPECT_FALSE(model.nodes[3].is_output);
  const ImportedModel two = import_model_bytes(bytes, "m", {}, {}, {}, {"winner", "scores"});
  ASSERT_EQ(two.graph.outputs.size(), 2U);
  EXPECT_EQ(evaluate(two.graph, {{-1, 3}})[1], (std::vector<double>{0, 3}));
}

TEST(OutputTensors, MustBeMadeByANode) {
  const std::string bytes = test::encode_model(kClassifier);
  for (const char* name : {"x", "names", "nothing", ""}) try {
      import_model_bytes(bytes, "m", {}, {}, {}, {name});
      ADD_FAILURE() << name;
    } catch (const CompileError& error) {
      EXPECT_EQ(error.diagnostics().front().code, "BF1017");
    }
}

}  // namespace
}  // namespace bf_aot
