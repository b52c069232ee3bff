#include "planner/manifest/plan_json.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>
#include <variant>
#include <vector>

#include "frontend/diagnostic.h"
#include "planner/machine/four_digits.h"
#include "planner/manifest/functions_json.h"
#include "planner/manifest/integer_json.h"
#include "planner/manifest/plan_json_steps.h"
#include "planner/manifest/search_json.h"

namespace bf_aot {
namespace {

using Json = nlohmann::ordered_json;

// ---- Entries

Json storage_json(const StorageTotals& storage) {
  return {{"naive_bytes", storage.naive_bytes},
          {"planned_bytes", storage.planned_bytes},
          {"lower_bound_bytes", storage.lower_bound_bytes},
          {"proof", to_string(storage.proof)}};
}

Json entry_json(const Plan& plan, const Entry& entry) {
  const Names names{plan, entry};
  Json steps = Json::array();
  for (const Step& step : entry.steps) steps.push_back(step_json(names, step));
  Json json = {{"entry", name_of(entry)}};
  json.update(storage_json(entry.storage));
  if (is_cached(entry.kind)) {
    json["shared_steps"] = entry.shared_steps;
    json["kept_steps"] = entry.kept_steps;
  }
  if (is_batch(entry.kind)) json["boxes"] = entry.boxes;
  if (entry.workers > 1) {
    json["workers"] = entry.workers;
    json["worker"] = storage_json(entry.worker_storage);
  }
  if (!entry.work.empty()) {
    json["can_stop"] = entry.can_stop;
    json["work"] = Json::array();
    for (const StepWork& each : entry.work)
      json["work"].push_back({{"operations", each.operations}, {"times", each.times}});
  }
  json["steps"] = std::move(steps);
  return json;
}

Json parts_json(const Plan& plan, const Task& task) {
  Json list = Json::array();
  for (const TaskPart& part : task.parts)
    list.push_back(
        {{"name", part.name},
         {"kernel", part.kernel < 0 ? Json(nullptr) : Json(plan.kernel(part.kernel).key)},
         {"step", part.step},
         {"calls", four_digits(part.calls)},
         {"flops", four_digits(part.flops)},
         {"bytes", four_digits(part.bytes)},
         {"predicted_seconds", four_digits(part.seconds)}});
  return list;
}

void add_tasks(const Plan& plan, const Entry& entry, Json& tasks) {
  const Names names{plan, entry};
  for (const Task& task : entry.tasks) {
    Json after = Json::array();
    for (int before : task.after) after.push_back(entry.task(before).name);
    tasks.push_back({{"name", task.name},
                     {"entry", name_of(entry)},
                     {"layer", task.layer ? names.layer(*task.layer) : Json(nullptr)},
                     {"domain", to_string(task.domain)},
                     {"steps", task.steps},
                     {"inputs", names.buffers(task.inputs)},
                     {"outputs", names.buffers(task.outputs)},
                     {"after", std::move(after)},
                     {"flops", task.flops},
                     {"bytes", task.bytes},
                     {"predicted_seconds", four_digits(task.predicted_seconds)},
                     {"parts", parts_json(plan, task)}});
  }
}

void add_buffers(const Entry& entry, Json& buffers) {
  for (const Buffer& buffer : entry.buffers) {
    Json item = {{"name", buffer.name},
                 {"entry", name_of(entry)},
                 {"scope", to_string(buffer.scope)},
                 {"element", to_string(buffer.element)},
                 {"count", buffer.count},
                 {"offset", buffer.offset},
                 {"bytes", buffer.bytes},
                 {"first", buffer.first},
                 {"last", buffer.last},
                 {"first_op", buffer.first_op},
                 {"last_op", buffer.last_op},
                 {"values", buffer.values}};
    if (entry.workers > 1) item["per_worker"] = buffer.per_worker;
    buffers.push_back(std::move(item));
  }
}

// ---- What all entries share

Json model_json(const Plan& plan) {
  return {{"sha256", plan.model.sha256},         {"name", plan.name},
          {"file", plan.model.file_name},        {"producer", plan.model.producer},
          {"ir_version", plan.model.ir_version}, {"opset", plan.model.opset}};
}

Json values_json(const std::vector<Value>& values) {
  Json list = Json::array();
  for (const Value& value : values)
    list.push_back(
        {{"name", value.name}, {"shape", value.shape}, {"elements", element_count(value.shape)}});
  return list;
}

// Totals of the entry of one box that needs most.
Json arena_json(const Plan& plan) {
  StorageTotals largest;
  for (const Entry& entry : plan.entries)
    if (!is_batch(entry.kind) && entry.arena_bytes() > largest.planned_bytes)
      largest = entry.with_one_worker();
  Json json = storage_json(largest);
  json["align"] = plan.config.target.align;
  return json;
}

Json layout_json(const ImageLayout& layout) {
  return {{"offset", layout.offset},
          {"batch", layout.batch},
          {"channel", layout.channel},
          {"spatial", layout.spatial}};
}

// ---- Maps without their tables, one overload per kind.

Json map_json(const ConvMap& map) {
  const ConvGeometry& g = map.geometry;
  return {{"map", "conv"},
          {"batch", g.batch},
          {"groups", g.groups},
          {"in_channels", g.in_channels},
          {"out_channels", g.out_channels},
          {"in_size", g.in_size},
          {"out_size", g.out_size},
          {"kernel_size", g.kernel},
          {"stride", g.stride},
          {"dilation", g.dilation},
          {"pad", g.pad},
          {"transposed", g.transposed},
          {"in_layout", layout_json(g.in)},
          {"out_layout", layout_json(g.out)}};
}

Json map_json(const SparseMap& map) {
  return {{"map", "sparse"}, {"entries", map.column.size()}};
}

Json map_json(const GatherMap& map) {
  Json json = {{"map", "gather"}, {"identity", map.source.empty()}, {"view", nullptr}};
  if (map.view)
    json["view"] = {{"offset", map.view->offset},
                    {"count", map.view->count},
                    {"view_stride", map.view->stride}};
  return json;
}

Json tensor_name(const Plan& plan, LayerId tensor) {
  return tensor.is_layer() ? Json(plan.layer(tensor).name) : Json(nullptr);
}

Json terms_json(const Plan& plan, const Layer& layer) {
  Json list = Json::array();
  for (const Term& term : layer.terms) {
    Json item = {{"input", tensor_name(plan, term.input)}, {"in", term.in}};
    item.update(std::visit([](const auto& map) { return map_json(map); }, term.map));
    item.update(Json{{"weights", term.weight.size()},
                     {"residual", !term.residual.empty()},
                     {"row_norm", term.row_norm},
                     {"row_entries", term.row_entries},
                     {"column_entries", term.column_entries}});
    list.push_back(std::move(item));
  }
  return list;
}

Json errors_json(const AffineErrors& errors) {
  return {{"weight_relative", errors.weight_relative},
          {"weight_residual", errors.weight_residual},
          {"bias_float", errors.bias_float},
          {"bias_double", errors.bias_double},
          {"bias_relative", errors.bias_relative},
          {"bias_rest", errors.bias_rest},
          {"float_bias_relative", errors.float_bias_relative},
          {"float_bias_rest", errors.float_bias_rest},
          {"row_norm", errors.row_norm},
          {"bias_norm", errors.bias_norm}};
}

// A dense layer has one input, the others a list of terms.
Json layers_json(const Plan& plan) {
  Json list = Json::array();
  for (const Layer& layer : plan.layers) {
    Json item = {
        {"name", layer.name}, {"origin", layer.origin.text}, {"kind", to_string(layer.kind)}};
    if (layer.kind == LayerKind::kDense)
      item.update(Json{{"input", tensor_name(plan, layer.input)},
                       {"in", layer.in},
                       {"residual", !layer.residual.empty()}});
    else
      item["terms"] = terms_json(plan, layer);
    if (layer.most > 0) item["most"] = layer.most;
    if (layer.kind == LayerKind::kContraction)
      item.update(Json{
          {"shape",
           {layer.contraction.batch, layer.contraction.rows, layer.contraction.columns,
            layer.contraction.sums}},
          {"scores", layer.scores ? Json(tensor_name(plan, layer.scores->layer)) : Json(nullptr)}});
    item.update(
        Json{{"out", layer.out},
             {"relu", layer.relu},
             {"function", layer.function ? Json(to_string(*layer.function)) : Json(nullptr)},
             {"exact_centre", layer.exact_centre},
             {"live_list", layer.live_list},
             {"errors", errors_json(layer.errors)}});
    if (layer.evaluated_depth > 0) item["evaluated_depth"] = layer.evaluated_depth;
    list.push_back(std::move(item));
  }
  return list;
}

Json heads_json(const Plan& plan, const std::vector<LayerId>& heads) {
  Json list = Json::array();
  for (LayerId head : heads) list.push_back(plan.layer(head).name);
  return list;
}

Json kernels_json(const Plan& plan) {
  Json list = Json::array();
  for (const Kernel& kernel : plan.kernels) {
    list.push_back(
        {{"key", kernel.key},
         {"code", kernel.code == KernelCode::kPrinted ? "printed" : "routine"},
         {"function", kernel.code == KernelCode::kPrinted ? Json(kernel.function) : Json(nullptr)},
         {"kind", to_string(kernel.kind)},
         {"map", kernel.map},
         {"geometry", kernel.geometry},
         {"in", kernel.in},
         {"out", kernel.out},
         {"rows", kernel.rows},
         {"lines", kernel.lines},
         {"boxes", kernel.boxes},
         {"panel", kernel.panel},
         {"relu", kernel.relu},
         {"residual", kernel.residual},
         {"wide", kernel.wide},
         {"plain", kernel.plain},
         {"live_out", kernel.live_out},
         {"live_in", kernel.live_in},
         {"head", kernel.head},
         {"strategy", to_string(kernel.strategy)},
         {"schedule",
          {{"lanes", kernel.schedule.lanes},
           {"vectors", kernel.schedule.vectors},
           {"columns", kernel.schedule.columns},
           {"chunk", kernel.schedule.chunk},
           {"groups_first", kernel.schedule.groups_first},
           {"unroll", kernel.schedule.unroll},
           {"pixels", kernel.schedule.pixels},
           {"last_columns", kernel.schedule.last_columns}}},
         {"rolled", kernel.rolled},
         {"prefetch", kernel.prefetch},
         {"depth", kernel.depth},
         {"reason", kernel.reason},
         {"predicted_seconds", four_digits(kernel.predicted_seconds)}});
    if (kernel.schedule.staged > 0) list.back()["schedule"]["staged"] = kernel.schedule.staged;
  }
  return list;
}

Json context_json(const ContextPlan& context) {
  Json buffers = Json::array();
  for (const Buffer& buffer : context.buffers)
    buffers.push_back({{"name", buffer.name},
                       {"scope", to_string(buffer.scope)},
                       {"element", to_string(buffer.element)},
                       {"count", buffer.count},
                       {"offset", buffer.offset},
                       {"bytes", buffer.bytes}});
  return {{"bytes", context.bytes},
          {"persistent_begin", context.persistent_begin},
          {"persistent_bytes", context.persistent_bytes},
          {"fingerprint", fmt::format("{:016x}", context.fingerprint)},
          {"buffers", std::move(buffers)}};
}

Json reuse_json(const Reuse& reuse) {
  Json list = Json::array();
  if (reuse.ibp) list.push_back("reuse-ibp");
  if (reuse.bounds) list.push_back("cache-bounds");
  if (reuse.alpha) list.push_back("reuse-alpha");
  return list;
}

Json decide_json(const Plan& plan) {
  const DecidePlan& decide = plan.decide;
  Json json = {{"splits", to_string(plan.config.splits)},
               {"reason", decide.reason},
               {"open", decide.open_boxes},
               {"open_bytes", decide.open_box_bytes},
               {"bytes", decide.bytes}};
  if (plan.config.splits == Splits::kNeurons) {
    json["layers"] = Json::array();
    for (const SplitLayerPlan& each : decide.network.layers)
      json["layers"].push_back({{"layer", plan.layer(each.layer).name}, {"first", each.first}});
    json["neurons"] = decide.neurons;
    json["terms"] = decide.terms;
    json["roundings"] = decide.network.roundings;
    json["products"] = decide.network.products;
  }
  return json;
}

Json choices_json(const Plan& plan) {
  const auto layer = [&](LayerId id) { return plan.layer(id).name; };
  Json json;
  const auto domains = [&](const PerLayer<DomainChoice>& choices) {
    Json list = Json::array();
    for (const DomainChoice& choice : choices)
      list.push_back({{"layer", layer(choice.layer)},
                      {"domain", to_string(choice.domain)},
                      {"unstable_only", choice.unstable_only},
                      {"row_tile", choice.row_tile},
                      {"remade", choice.remade},
                      {"reason", choice.reason}});
    return list;
  };
  json["domains"] = domains(plan.domains);
  if (!plan.cheaper.empty()) json["cheaper"] = Json::array();
  for (const CheaperMethod& each : plan.cheaper)
    json["cheaper"].push_back(
        {{"method", to_string(each.method)}, {"domains", domains(each.domains)}});
  json["search"] = plan.search ? to_json(*plan.search) : Json(nullptr);
  json["layouts"] = Json::array();
  for (const WeightLayout& layout : plan.layouts)
    json["layouts"].push_back(
        {{"layer", layer(layout.layer)}, {"panel", layout.panel}, {"bytes", layout.bytes}});
  json["cache"] = Json::array();
  for (const CacheEntry& entry : plan.cache)
    json["cache"].push_back({{"name", entry.name},
                             {"scope", to_string(entry.scope)},
                             {"task", entry.task},
                             {"domain", to_string(entry.domain)},
                             {"spec", entry.spec},
                             {"box", to_string(entry.box)},
                             {"key", cache_key(entry)}});
  if (plan.context.bytes > 0) json["context"] = context_json(plan.context);
  if (plan.config.batch > 1)
    json["batch"] = {{"side_by_side", plan.batch.side_by_side},
                     {"reason", plan.batch.reason},
                     {"workspace_bytes", plan.batch_bytes()}};
  if (plan.config.decide) json["split_weights"] = plan.split_weights;
  if (plan.decide.open_boxes > 0) json["decide"] = decide_json(plan);
  if (plan.config.workers > 1)
    json["parallel"] = {{"workers", plan.parallel.workers},
                        {"reason", plan.parallel.reason},
                        {"worker_bytes", plan.worker_bytes()},
                        {"workspace_bytes", plan.parallel_bytes()}};
  json["rejected"] = Json::array();
  for (const Rejected& rejected : plan.rejected)
    json["rejected"].push_back(
        {{"slot", rejected.slot}, {"candidate", rejected.candidate}, {"reason", rejected.reason}});
  return json;
}

Json options_json(const PlannerConfig& config) {
  Json json = {{"lowering", to_string(config.lowering)},
               {"row_tile", config.row_tile},
               {"granularity", to_string(config.granularity)},
               {"cache", reuse_json(config.reuse)},
               {"batch", config.batch},
               {"memory_budget", config.memory_budget},
               {"search", to_json(config.search)},
               {"iterations", config.iterations},
               {"disabled_passes", config.disabled_passes},
               {"target",
                {{"name", config.target.name},
                 {"vector_bytes", config.target.vector_bytes},
                 {"vector_registers", config.target.vector_registers},
                 {"align", config.target.align},
                 {"flags", config.target.flags}}}};
  if (config.language != Language::kCpp) json["language"] = to_string(config.language);
  if (config.items > 1) json["items"] = config.items;
  if (config.workers > 1) json["workers"] = config.workers;
  if (config.decide) json["decide"] = to_string(config.splits);
  if (config.alpha != AlphaRows::kOutputs) json["alpha"] = to_string(config.alpha);
  if (config.norm != Norm::kLargest) json["norm"] = to_string(config.norm);
  // Present only in a deliberately unsound plan, so that none can pass for a sound one.
  if (!config.dropped_error_terms.empty()) json["dropped_error_terms"] = config.dropped_error_terms;
  return json;
}

}  // namespace

Json to_json(const Plan& plan) {
  Json tasks = Json::array(), buffers = Json::array(), entries = Json::array();
  for (const Entry& entry : plan.entries) {
    add_tasks(plan, entry, tasks);
    add_buffers(entry, buffers);
    entries.push_back(entry_json(plan, entry));
  }
  Json json = {{"version", BF_AOT_VERSION},
               {"model", model_json(plan)},
               {"method", to_string(plan.config.method)},
               {"semantics", to_string(plan.config.semantics)},
               {"arithmetic", to_string(plan.config.arithmetic)},
               {"options", options_json(plan.config)},
               {"inputs", values_json(plan.inputs)},
               {"outputs", values_json(plan.outputs)},
               {"spec_rows", plan.spec_rows},
               {"arena", arena_json(plan)},
               {"weights_bytes", plan.weights_bytes()},
               {"weight_storage", to_string(plan.weight_storage)},
               {"layers", layers_json(plan)},
               {"output_heads", heads_json(plan, plan.output_heads)},
               {"spec_heads", heads_json(plan, plan.spec_heads)}};
  if (plan.integer) json["integer"] = integer_json(plan);
  if (plan.one_hot.size > 0)
    json["one_hot"] = {{"size", plan.one_hot.size}, {"ids", plan.one_hot.ids}};
  if (plan.config.flush_to_zero) json["flush_to_zero"] = true;
  if (is_in_float32(plan.config.semantics)) json["float32_reach"] = plan.float32_reach;
  json.update(choices_json(plan));
  json["prediction"] = {{"profile", plan.prediction.profile},
                        {"activity", plan.prediction.activity}};
  if (!plan.functions.empty()) json["functions"] = functions_json(plan);
  json["kernels"] = kernels_json(plan);
  json["tasks"] = std::move(tasks);
  json["buffers"] = std::move(buffers);
  json["entries"] = std::move(entries);
  return json;
}

}  // namespace bf_aot
