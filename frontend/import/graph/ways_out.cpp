#include "frontend/import/graph/ways_out.h"

#include <fmt/format.h>

#include <array>
#include <string_view>

#include "frontend/graph/model.h"

namespace bf_aot {
namespace {

struct WayOut {
  std::string_view op_type;
  std::string_view advice;
};

constexpr std::string_view kEvaluation = "export in evaluation mode: a random output has no bounds";
constexpr std::string_view kScores =
    "its result is no tensor of numbers; bound the scores before it";

// Operators of domain ai.onnx.
constexpr std::array kStandard = {
    WayOut{"Bernoulli", kEvaluation},
    WayOut{"Multinomial", kEvaluation},
    WayOut{"RandomNormal", kEvaluation},
    WayOut{"RandomNormalLike", kEvaluation},
    WayOut{"RandomUniform", kEvaluation},
    WayOut{"RandomUniformLike", kEvaluation},
    WayOut{"NonMaxSuppression", "bound the boxes and scores before it"},
};

// Operators of domain ai.onnx.ml.
constexpr std::array kMachineLearning = {
    WayOut{"ZipMap", kScores},
    WayOut{"LabelEncoder", kScores},
    WayOut{"CastMap", kScores},
    WayOut{"DictVectorizer", kScores},
};

template <std::size_t kCount>
std::string_view find(const std::array<WayOut, kCount>& table, std::string_view op_type) {
  for (const WayOut& each : table)
    if (each.op_type == op_type) return each.advice;
  return "";
}

// ONNX Runtime writes fused nodes into the domains com.microsoft and com.microsoft.nchwc.
bool is_of_runtime(std::string_view domain) {
  return domain.starts_with("com.microsoft") || domain.starts_with("com.ms.");
}

std::string_view advice_for(const onnx::NodeProto& node) {
  if (node.domain() == "com.microsoft.nchwc")
    return "its weights are in an order that depends on the processor: save the model with "
           "graph_optimization_level ORT_ENABLE_EXTENDED";
  if (is_of_runtime(node.domain()))
    return "ONNX Runtime makes it when it optimises: give the model from before, or save it with "
           "graph_optimization_level ORT_ENABLE_BASIC";
  std::string_view found;
  if (node.domain().empty() || node.domain() == "ai.onnx") found = find(kStandard, node.op_type());
  if (node.domain() == "ai.onnx.ml") found = find(kMachineLearning, node.op_type());
  return found.empty() ? "docs/reference/operators.md lists those that are; re-export the model"
                       : found;
}

}  // namespace

std::string way_out(const onnx::NodeProto& node, const std::string& cut) {
  const std::string_view advice = advice_for(node);
  if (cut.empty()) return std::string(advice);
  return fmt::format("{}, or cut it before this node: --output-tensor {}", advice, printable(cut));
}

}  // namespace bf_aot
