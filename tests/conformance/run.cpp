#include "tests/conformance/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "frontend/evaluate/evaluate.h"
#include "frontend/import/file/importer.h"
#include "frontend/passes/pipeline.h"

namespace bf_aot::conformance {
namespace {

constexpr const char* kUnread = "conformance_unread_input";

// Inputs that the file does not give as initializers itself.
std::vector<bool> true_inputs(const onnx::GraphProto& graph) {
  std::vector<bool> result;
  for (const onnx::ValueInfoProto& input : graph.input())
    result.push_back(!is_initialized(graph, input.name()));
  return result;
}

void add_unread_input(onnx::GraphProto& graph) {
  onnx::ValueInfoProto& info = *graph.add_input();
  info.set_name(kUnread);
  onnx::TypeProto::Tensor& type = *info.mutable_type()->mutable_tensor_type();
  type.set_elem_type(onnx::TensorProto::FLOAT);
  type.mutable_shape()->add_dim()->set_dim_value(1);
}

bool has_free(const FreeInputs& free) {
  return std::find(free.begin(), free.end(), true) != free.end();
}

bool fits(const Graph& graph, const std::vector<std::vector<double>>& inputs) {
  bool same = graph.inputs.size() == inputs.size();
  for (std::size_t i = 0; same && i < inputs.size(); ++i)
    same = element_count(graph.value(graph.inputs[i]).shape) ==
           static_cast<std::int64_t>(inputs[i].size());
  return same;
}

std::vector<double> joined(const std::vector<std::vector<double>>& tensors) {
  std::vector<double> result;
  for (const std::vector<double>& tensor : tensors)
    result.insert(result.end(), tensor.begin(), tensor.end());
  return result;
}

bool has_real_input(const TestCase& test) {
  const std::vector<bool> inputs = true_inputs(test.model.graph());
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (inputs[i] && is_real(test.data.front().inputs[i])) return true;
  return false;
}

std::string describe(const FreeInputs& free) {
  std::string text;
  for (bool each : free) text += each ? "free " : "bound ";
  return text;
}

}  // namespace

std::vector<FreeInputs> candidate_bindings(const TestCase& test) {
  const std::vector<bool> inputs = true_inputs(test.model.graph());
  std::vector<FreeInputs> result;
  const auto add = [&](const FreeInputs& free) {
    if (std::find(result.begin(), result.end(), free) == result.end()) result.push_back(free);
  };
  add(inputs);
  FreeInputs real(inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i)
    real[i] = inputs[i] && is_real(test.data.front().inputs[i]);
  add(real);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    FreeInputs one(inputs.size());
    one[i] = inputs[i];
    add(one);
  }
  add(FreeInputs(inputs.size()));
  return result;
}

onnx::ModelProto bind(const TestCase& test, const FreeInputs& free) {
  onnx::ModelProto model = test.model;
  onnx::GraphProto& graph = *model.mutable_graph();
  const std::vector<bool> inputs = true_inputs(graph);
  for (std::size_t i = 0; i < free.size(); ++i) {
    if (free[i] || !inputs[i]) continue;
    onnx::TensorProto& tensor = *graph.add_initializer();
    tensor = test.data.front().inputs[i].proto;
    tensor.set_name(graph.input(static_cast<int>(i)).name());
  }
  if (!has_free(free)) add_unread_input(graph);
  return model;
}

std::vector<std::vector<double>> free_values(const DataSet& data, const FreeInputs& free) {
  std::vector<std::vector<double>> result;
  for (std::size_t i = 0; i < free.size(); ++i)
    if (free[i]) result.push_back(data.inputs[i].data);
  if (result.empty()) result.push_back({0});
  return result;
}

std::string exclusion(const TestCase& test) {
  for (const onnx::NodeProto& node : test.model.graph().node())
    if (node.domain() == "ai.onnx.preview.training") return "an operator of training";
  if (test.name.find("training") != std::string::npos) return "training mode";
  if (test.name.find("bernoulli") != std::string::npos) return "a random output";
  // 2.5 / (5 / 255) is 127.5: rounded to even in exact arithmetic, but the test's float32 quotient
  // lies below.
  if (test.name.find("node/test_dynamicquantizelinear") == 0 &&
      test.name.find("adjusted") == std::string::npos)
    return "the output depends on the rounding of a quotient at a step";
  if (test.data.empty()) return "no data";
  for (const DataSet& data : test.data) {
    for (const TestTensor& input : data.inputs)
      if (!input.problem.empty()) return "an input: " + input.problem;
    for (const TestTensor& output : data.outputs) {
      if (!output.problem.empty()) return "an output: " + output.problem;
      if (output.data.empty()) return "an output without elements";
    }
  }
  return "";
}

Attempt run_attempt(const TestCase& test, const FreeInputs& free) {
  Attempt result;
  result.free = free;
  try {
    const std::string bytes = bind(test, free).SerializeAsString();
    result.graph = import_model_bytes(bytes, "model.onnx", {}).graph;
  } catch (const CompileError& error) {
    result.diagnostics = error.diagnostics();
    return result;
  }
  result.result = Result::kRight;
  result.normal = result.graph;
  try {
    normalise(result.normal);
  } catch (const CompileError& error) {
    result.result = Result::kDiagnosed;
    result.diagnostics = error.diagnostics();
    return result;
  }
  for (const DataSet& data : test.data) {
    if (!fits(result.graph, free_values(data, free))) {
      result.result = Result::kDiagnosed;
      result.diagnostics.push_back({"", "", "the data have another shape than the model says", ""});
      return result;
    }
    const std::vector<std::vector<double>> inputs = free_values(data, free);
    std::string difference = compare(evaluate(result.graph, inputs), data.outputs);
    if (difference.empty())
      difference = compare(evaluate(result.normal, {joined(inputs)}), data.outputs);
    if (difference.empty()) continue;
    result.result = Result::kWrong;
    result.difference = difference;
  }
  return result;
}

Report run_test(const TestCase& test) {
  Report report;
  report.reason = exclusion(test);
  if (!report.reason.empty()) {
    report.verdict = Verdict::kExcluded;
    return report;
  }
  bool right_free = false;
  bool right_bound = false;
  for (const FreeInputs& free : candidate_bindings(test)) {
    report.attempts.push_back(run_attempt(test, free));
    const Attempt& made = report.attempts.back();
    if (made.result == Result::kWrong) {
      report.verdict = Verdict::kWrong;
      if (report.reason.empty()) report.reason = describe(free) + ": " + made.difference;
    }
    if (made.result == Result::kRight) (has_free(free) ? right_free : right_bound) = true;
  }
  if (report.verdict == Verdict::kWrong) return report;
  // A Range is known at import, whatever its type.
  if (right_free || (right_bound && (!has_real_input(test) || test.operator_type == "Range"))) {
    report.verdict = Verdict::kPassed;
  } else if (right_bound) {
    report.verdict = Verdict::kConstant;
  }
  if (report.verdict == Verdict::kPassed) return report;
  for (const Attempt& made : report.attempts)
    if (report.reason.empty() && !made.diagnostics.empty())
      report.reason = made.diagnostics.front().code + ": " + made.diagnostics.front().message;
  return report;
}

std::string compare(const std::vector<std::vector<double>>& values,
                    const std::vector<TestTensor>& expected) {
  constexpr double kRelative = 1e-3;
  constexpr double kDouble = 1e-9;
  constexpr double kAbsolute = 1e-7;
  if (values.size() != expected.size())
    return fmt::format("{} outputs, not {}", values.size(), expected.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i].size() != expected[i].data.size())
      return fmt::format("output {} has {} elements, not {}", i, values[i].size(),
                         expected[i].data.size());
    // What was computed in double is held to more.
    const double relative = expected[i].proto.data_type() == onnx::TensorProto::DOUBLE
                                ? kDouble
                                : std::max(kRelative, 2 * type_rounding(expected[i]));
    for (std::size_t j = 0; j < values[i].size(); ++j) {
      const double right = expected[i].data[j];
      if (!(std::fabs(values[i][j] - right) <= kAbsolute + relative * std::fabs(right)))
        return fmt::format("output {} [{}] is {}, not {}", i, j, values[i][j], right);
    }
  }
  return "";
}

}  // namespace bf_aot::conformance
