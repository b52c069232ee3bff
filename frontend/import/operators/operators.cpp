#include "frontend/import/operators/operators.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "frontend/import/file/importer.h"

namespace bf_aot {
namespace {

constexpr OperatorRows (*kFamilies[])() = {
    arithmetic_operators,   attention_operators,
    contrib_operators,      control_operators,
    conv_operators,         einsum_operators,
    elementwise_operators,  fold_operators,
    function_operators,     fused_attention_operators,
    gather_operators,       grid_sample_operators,
    linear_model_operators, logic_operators,
    loss_operators,         movement_operators,
    normalize_operators,    pad_operators,
    pool_operators,         quantize_operators,
    recurrence_operators,   recurrent_operators,
    reduce_operators,       resize_operators,
    scatter_operators,      select_operators,
    sequence_operators,     shape_operators,
    signal_operators,       softmax_operators,
    topk_operators,         tree_operators,
    unique_operators,
};

std::vector<std::string_view> operators_of(std::string_view domain) {
  std::vector<std::string_view> names;
  for (const auto family : kFamilies)
    for (const OperatorImporter& each : family())
      if (each.domain == domain) names.push_back(each.op_type);
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

const OperatorImporter* find_operator(std::string_view op_type, std::string_view domain) {
  for (const auto family : kFamilies)
    for (const OperatorImporter& each : family())
      if (each.op_type == op_type && each.domain == domain) return &each;
  return nullptr;
}

std::vector<std::string_view> supported_operators() {
  return operators_of({});
}

std::vector<std::string> contributed_operators() {
  std::vector<std::string> names;
  for (const std::string_view domain : {kMicrosoft, kMachineLearning, kQonnx})
    for (const std::string_view name : operators_of(domain))
      names.push_back(fmt::format("{}.{}", domain, name));
  return names;
}

OpsetRange supported_opsets() {
  return {kOldestOpset, kNewestOpset};
}

}  // namespace bf_aot
