#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "frontend/graph/graph.h"
#include "onnx_schema/bf_aot_onnx.pb.h"

// The ONNX backend tests as Debian's libonnx-testdata installs them: one folder for each model,
// with inputs and expected outputs.
namespace bf_aot::conformance {

// One tensor of a test's data.
struct TestTensor {
  onnx::TensorProto proto;
  std::vector<double> data;
  Shape shape;
  std::string problem;  // why `data` is empty: not a tensor, not numbers, not finite
};

struct DataSet {
  std::vector<TestTensor> inputs;   // of the graph's inputs; empty for initialized ones
  std::vector<TestTensor> outputs;  // of the graph's outputs
};

struct TestCase {
  std::string name;           // "node/test_add"
  std::string operator_type;  // when the model is of one operator, Constant nodes apart; else empty
  onnx::ModelProto model;
  std::vector<DataSet> data;
};

// nullopt: not installed. Environment BF_ONNX_TESTDATA names another place.
std::optional<std::filesystem::path> suite_folder();

// All tests of node/, simple/, pytorch-converted/ and pytorch-operator/, by name.
std::vector<TestCase> load_suite(const std::filesystem::path& folder);

// Whether the model gives the input a value itself, as files of IR version 3 do with weights.
bool is_initialized(const onnx::GraphProto& graph, const std::string& input);

// Whether the elements are float, double, float16 or bfloat16.
bool is_real(const TestTensor& tensor);

// Largest relative rounding of the tensor's element type, half a unit in the last place; 0 for
// integers.
double type_rounding(const TestTensor& tensor);

}  // namespace bf_aot::conformance
