#include "planner/manifest/functions_json.h"

#include <nlohmann/json.hpp>

namespace bf_aot {
namespace {

using Json = nlohmann::ordered_json;

std::string_view to_string(ParameterType type) {
  switch (type) {
    case ParameterType::kFloats:
      return "float";
    case ParameterType::kMemory:
      return "memory";
    case ParameterType::kSize:
      return "size";
    case ParameterType::kResult:
      return "bf_result";
    case ParameterType::kStatus:
      return "bf_status";
    case ParameterType::kCode:
      return "status";
    case ParameterType::kBudget:
      return "bf_budget";
    case ParameterType::kSearch:
      return "bf_search";
    case ParameterType::kCounters:
      return "bf_cache_counters";
    case ParameterType::kExecutor:
      return "bf_executor";
    case ParameterType::kLimit:
      return "bf_limit";
    case ParameterType::kReached:
      return "bf_reached";
  }
  return {};
}

// The elements of a parameter for one box; null for bytes that a size says.
Json count_of(const Plan& plan, Count count) {
  switch (count) {
    case Count::kOne:
      return 1;
    case Count::kInputs:
      return plan.input_count;
    case Count::kOutputs:
      return plan.output_count;
    case Count::kSpecRows:
      return plan.spec_rows;
    case Count::kCoefficients:
      return std::int64_t{plan.spec_rows} * plan.input_count;
    case Count::kRanges:
      return std::int64_t{2} * plan.decide.neurons;
    case Count::kBytes:
      break;
  }
  return nullptr;
}

Json parameters_json(const Plan& plan, const Signature& signature) {
  Json list = Json::array();
  for (const Parameter& each : parameters_of(signature))
    list.push_back({{"name", each.name},
                    {"type", to_string(each.type)},
                    {"written", each.written},
                    {"count", count_of(plan, each.count)},
                    {"per_box", each.per_box},
                    {"optional", each.optional}});
  return list;
}

Json workspace_json(const Workspace& workspace) {
  if (workspace.macro.empty()) return nullptr;
  Json json = {{"macro", workspace.macro}, {"bytes", workspace.bytes}};
  if (!workspace.worker_macro.empty()) {
    json["worker_macro"] = workspace.worker_macro;
    json["worker_bytes"] = workspace.worker_bytes;
  }
  return json;
}

}  // namespace

Json functions_json(const Plan& plan) {
  Json list = Json::array();
  for (const ExportedFunction& each : plan.functions)
    list.push_back({{"name", plan.name + "_" + suffix_of(each.signature)},
                    {"entry", each.entry ? Json(name_of(*plan.entry_of(each))) : Json(nullptr)},
                    {"context", has_context(each.signature)},
                    {"several_boxes", each.signature.batch},
                    {"several_workers", each.signature.parallel},
                    {"workspace", workspace_json(each.workspace)},
                    {"parameters", parameters_json(plan, each.signature)}});
  return list;
}

}  // namespace bf_aot
