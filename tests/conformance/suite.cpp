#include "tests/conformance/suite.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <set>
#include <stdexcept>
#include <variant>

#include "frontend/diagnostic.h"
#include "frontend/import/file/tensors.h"

namespace bf_aot::conformance {
namespace {

namespace fs = std::filesystem;

std::string read_bytes(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  if (!stream) throw std::runtime_error("cannot read " + path.string());
  return {std::istreambuf_iterator<char>(stream), {}};
}

TestTensor read_tensor(const fs::path& path, const onnx::ValueInfoProto& info) {
  TestTensor result;
  if (!info.type().has_tensor_type()) {
    result.problem = "not a tensor";
    return result;
  }
  if (!fs::exists(path)) {
    result.problem = "no data";
    return result;
  }
  if (!result.proto.ParseFromString(read_bytes(path)))
    throw std::runtime_error("not a tensor: " + path.string());
  try {
    const ImportLimits limits;
    TensorReader reader{limits, {}, 0};
    const Tensor tensor = reader.read(result.proto, info.name());
    if (const auto* real = std::get_if<Constant>(&tensor)) {
      result.data = real->data;
      result.shape = real->shape;
    } else {
      const auto& integers = std::get<IntegerTensor>(tensor);
      result.data.assign(integers.data.begin(), integers.data.end());
      result.shape = integers.shape;
    }
  } catch (const CompileError& error) {
    result.problem = error.diagnostics().front().message;
  }
  return result;
}

// The data files count only the inputs that the model does not initialize itself.
DataSet read_data(const fs::path& folder, const onnx::GraphProto& graph) {
  DataSet result;
  int files = 0;
  for (const onnx::ValueInfoProto& info : graph.input())
    result.inputs.push_back(
        is_initialized(graph, info.name())
            ? TestTensor()
            : read_tensor(folder / ("input_" + std::to_string(files++) + ".pb"), info));
  for (int i = 0; i < graph.output_size(); ++i)
    result.outputs.push_back(
        read_tensor(folder / ("output_" + std::to_string(i) + ".pb"), graph.output(i)));
  return result;
}

std::string only_operator(const onnx::GraphProto& graph) {
  std::set<std::string> types;
  for (const onnx::NodeProto& node : graph.node())
    if (node.op_type() != "Constant" || graph.node_size() == 1) types.insert(node.op_type());
  return types.size() == 1 ? *types.begin() : "";
}

std::vector<fs::path> sorted_entries(const fs::path& folder) {
  std::vector<fs::path> paths;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder))
    paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  return paths;
}

}  // namespace

std::optional<fs::path> suite_folder() {
  const char* const given = std::getenv("BF_ONNX_TESTDATA");
  const fs::path folder = given != nullptr ? given : "/usr/share/libonnx-testdata/data";
  if (!fs::exists(folder / "node")) return std::nullopt;
  return folder;
}

bool is_initialized(const onnx::GraphProto& graph, const std::string& input) {
  return std::any_of(graph.initializer().begin(), graph.initializer().end(),
                     [&](const auto& each) { return each.name() == input; });
}

std::vector<TestCase> load_suite(const fs::path& folder) {
  std::vector<TestCase> tests;
  for (const char* group : {"node", "pytorch-converted", "pytorch-operator", "simple"}) {
    if (!fs::exists(folder / group)) continue;
    for (const fs::path& path : sorted_entries(folder / group)) {
      if (!fs::exists(path / "model.onnx")) continue;
      TestCase test;
      test.name = std::string(group) + "/" + path.filename().string();
      if (!test.model.ParseFromString(read_bytes(path / "model.onnx")))
        throw std::runtime_error("not a model: " + path.string());
      test.operator_type = only_operator(test.model.graph());
      for (const fs::path& data : sorted_entries(path))
        if (data.filename().string().starts_with("test_data_set_"))
          test.data.push_back(read_data(data, test.model.graph()));
      tests.push_back(std::move(test));
    }
  }
  return tests;
}

bool is_real(const TestTensor& tensor) {
  return is_real_type(tensor.proto.data_type());
}

double type_rounding(const TestTensor& tensor) {
  switch (tensor.proto.data_type()) {
    case onnx::TensorProto::FLOAT:
      return 0x1p-24;
    case onnx::TensorProto::DOUBLE:
      return 0x1p-53;
    case onnx::TensorProto::FLOAT16:
      return 0x1p-11;
    case onnx::TensorProto::BFLOAT16:
      return 0x1p-8;
    default:
      return 0;
  }
}

}  // namespace bf_aot::conformance
