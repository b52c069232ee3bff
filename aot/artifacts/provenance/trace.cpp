#include "aot/artifacts/provenance/trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <utility>
#include <variant>

#include "aot/artifacts/provenance/integer_trace.h"
#include "aot/artifacts/provenance/node_layers.h"
#include "aot/build/frontend_result.h"
#include "frontend/sha256.h"
#include "frontend/source_state.h"
#include "planner/lowering/routines.h"
#include "planner/lowering/walk.h"
#include "planner/lowering/weight_tables.h"
#include "planner/manifest/plan_json_steps.h"
#include "runtime/bf.h"

namespace bf_aot::artifacts {
namespace {

using Json = nlohmann::ordered_json;

// The name of a step in a trace: "bounds/3".
std::string step_name(const Entry& entry, int step) {
  return fmt::format("{}/{}", name_of(entry), step);
}

Json node_json(const LoggedNode& node) {
  return {{"value", node.value},
          {"operator", node.op},
          {"inputs", node.inputs},
          {"shape", node.shape},
          {"nodes", node.origin.nodes}};
}

Json nodes_json(const std::vector<LoggedNode>& nodes) {
  Json list = Json::array();
  for (const LoggedNode& node : nodes) list.push_back(node_json(node));
  return list;
}

Json pass_json(const PassRecord& record) {
  Json changed = Json::array();
  for (const ChangedNode& node : record.changed)
    changed.push_back({{"before", node_json(node.before)}, {"after", node_json(node.after)}});
  return {{"pass", record.pass},
          {"graph_nodes", record.nodes},
          {"removed", nodes_json(record.removed)},
          {"added", nodes_json(record.added)},
          {"changed", std::move(changed)}};
}

// For each node of the file, the rows of the pipeline that touched something that came from it.
std::vector<std::set<std::size_t>> passes_of(const PassLog& log, std::size_t nodes) {
  std::vector<std::set<std::size_t>> rows(nodes);
  for (std::size_t row = 0; row < log.records().size(); ++row) {
    const auto note = [&](const LoggedNode& node) {
      for (const std::int32_t i : node.origin.nodes)
        rows.at(static_cast<std::size_t>(i)).insert(row);
    };
    const PassRecord& record = log.records()[row];
    for (const LoggedNode& node : record.removed) note(node);
    for (const LoggedNode& node : record.added) note(node);
    for (const ChangedNode& node : record.changed) {
      note(node.before);
      note(node.after);
    }
  }
  return rows;
}

// One trace: what refers to what, gathered from the plan and its call programs.
class Tracer {
 public:
  Tracer(const build::FrontendResult& front, const PassLog& log, const Lowered& lowered,
         const std::vector<FileLines>& files)
      : front_(front), log_(log), lowered_(lowered), plan_(lowered.plan()), files_(files) {
    for (const FileLines& file : files)
      for (const emit::MarkedLines& lines : file.lines)
        lines_[lines.what].push_back(
            {{"file", file.file}, {"first", lines.first}, {"last", lines.last}});
    for (const Kernel& kernel : plan_.kernels) keys_.insert(kernel.key);
    if (plan_.integer) return;
    for (const Layer& layer : plan_.layers) layers_.push_back({layer.name, layer.origin});
    add_steps();
  }

  Json json() const {
    Json passes = Json::array();
    for (const PassRecord& record : log_.records()) passes.push_back(pass_json(record));
    const Traced traced = plan_.integer ? trace_integers(plan_, lines_) : floats();
    return {
        {"format", kTraceFormat},
        {"version", BF_VERSION_STRING},
        {"sources", source_state()},
        {"model",
         {{"sha256", plan_.model.sha256}, {"file", plan_.model.file_name}, {"name", plan_.name}}},
        {"complete",
         std::ranges::all_of(traced.sources,
                             [](const TracedLayer& layer) { return layer.origin.complete; })},
        {"files", files_json()},
        {"nodes", onnx_json(traced.sources)},
        {"passes", std::move(passes)},
        {"graph", nodes_json(log_.nodes())},
        {"layers", traced.layers},
        {"tables", traced.tables},
        {"steps", traced.steps},
        {"kernels", traced.kernels},
        {"functions", functions_json()},
        {"buffers", traced.buffers}};
  }

 private:
  Traced floats() const {
    return {layers_, layers_json(), tables_json(), steps_, kernels_json(), buffers_};
  }

  Json lines_of(const std::string& what) const {
    const auto found = lines_.find(what);
    return found == lines_.end() ? Json::array() : found->second;
  }

  static Json list_of(const std::map<std::string, std::vector<std::string>>& lists,
                      const std::string& key) {
    const auto found = lists.find(key);
    return found == lists.end() ? Json::array() : Json(found->second);
  }

  void add_steps();
  void add_entry(const Entry& entry, const calls::Program& program);
  void add_step(const Entry& entry, const Task& task, const calls::StepCalls& calls);
  void add_buffers(const Entry& entry);
  std::vector<std::string> callees(const calls::Body& body) const;
  void add_kernels(const Json& step, std::vector<std::string>& kernels) const;
  Json files_json() const;
  Json onnx_json(const std::vector<TracedLayer>& layers) const;
  Json layers_json() const;
  Json tables_json() const;
  Json kernels_json() const;
  Json functions_json() const;

  const build::FrontendResult& front_;
  const PassLog& log_;
  const Lowered& lowered_;
  const Plan& plan_;
  const std::vector<FileLines>& files_;
  std::map<std::string, Json> lines_;  // of each mark
  std::set<std::string> keys_;         // of kernels
  std::vector<TracedLayer> layers_;
  Json steps_ = Json::array(), buffers_ = Json::array();
  // Steps by the layer that they are of, by those that their rows pass, and by kernel.
  std::map<std::string, std::vector<std::string>> of_layer_, through_layer_, users_;
};

void Tracer::add_steps() {
  for (const Entry& entry : plan_.entries) {
    add_entry(entry, lowered_.program(entry));
    add_buffers(entry);
  }
}

// The functions that a step calls, each once.
std::vector<std::string> Tracer::callees(const calls::Body& body) const {
  std::vector<std::string> called;
  calls::for_each_call(body, [&](const calls::Call& call) {
    const auto* const kernel = std::get_if<calls::KernelCall>(&call.callee);
    std::string name =
        kernel != nullptr
            ? plan_.kernel(kernel->id).function
            : fmt::format("bf::{}",
                          calls::signature_of(std::get<calls::Routine>(call.callee)).name);
    if (std::ranges::find(called, name) == called.end()) called.push_back(std::move(name));
  });
  return called;
}

// The kernels that a step's fields name, those of its parts included, each once.
void Tracer::add_kernels(const Json& step, std::vector<std::string>& kernels) const {
  if (step.is_string()) {
    const auto& text = step.get_ref<const std::string&>();
    if (keys_.contains(text) && std::ranges::find(kernels, text) == kernels.end())
      kernels.push_back(text);
  }
  if (step.is_structured())
    for (const Json& part : step) add_kernels(part, kernels);
}

void Tracer::add_entry(const Entry& entry, const calls::Program& program) {
  for (const calls::Section& section : program.sections)
    for (const calls::TaskCalls& task : section.tasks)
      for (const calls::StepCalls& step : task.steps) add_step(entry, entry.task(task.task), step);
}

void Tracer::add_step(const Entry& entry, const Task& task, const calls::StepCalls& calls) {
  const Names names{plan_, entry};
  const std::string name = step_name(entry, calls.step);
  const Json step = step_json(names, entry.step(calls.step));
  const Json layer = step.value("layer", Json(nullptr));
  if (layer.is_string()) of_layer_[layer.get<std::string>()].push_back(name);
  Json through = Json::array();
  if (const auto links = step.find("links"); links != step.end())
    for (const Json& link : *links) through.push_back(link.at("layer"));
  for (const Json& passed : through) through_layer_[passed.get<std::string>()].push_back(name);
  std::vector<std::string> kernels;
  add_kernels(step, kernels);
  for (const std::string& kernel : kernels) users_[kernel].push_back(name);
  const Access access = access_of(entry.step(calls.step));
  steps_.push_back(
      {{"step", name},
       {"kind", step.at("step")},
       {"task", task.name},
       {"layer", layer},
       {"through", std::move(through)},
       {"kernels", kernels},
       {"calls", callees(calls.body)},
       {"lines", lines_of(fmt::format("step {} {}", &entry - plan_.entries.data(), calls.step))},
       {"reads", names.buffers(access.reads)},
       {"writes", names.buffers(access.writes)}});
}

void Tracer::add_buffers(const Entry& entry) {
  for (std::size_t i = 0; i < entry.buffers.size(); ++i) {
    const Buffer& buffer = entry.buffers[i];
    Json written = Json::array(), read = Json::array();
    for (std::size_t step = 0; step < entry.steps.size(); ++step) {
      const Access access = access_of(entry.steps[step]);
      const std::string name = step_name(entry, static_cast<int>(step));
      const auto id = static_cast<BufferId>(i);
      if (std::ranges::find(access.writes, id) != access.writes.end()) written.push_back(name);
      if (std::ranges::find(access.reads, id) != access.reads.end()) read.push_back(name);
    }
    buffers_.push_back({{"entry", name_of(entry)},
                        {"name", buffer.name},
                        {"scope", to_string(buffer.scope)},
                        {"per_worker", buffer.per_worker},
                        {"offset", buffer.offset},
                        {"bytes", buffer.bytes},
                        {"written_by", std::move(written)},
                        {"read_by", std::move(read)}});
  }
}

Json Tracer::files_json() const {
  Json list = Json::array();
  for (const FileLines& file : files_)
    list.push_back({{"file", file.file}, {"sha256", file.sha256}});
  return list;
}

Json Tracer::onnx_json(const std::vector<TracedLayer>& sources) const {
  std::vector<Origin> origins;
  for (const TracedLayer& each : sources) origins.push_back(each.origin);
  const std::vector<NodeLayers> layers = layers_of_nodes(front_.nodes, origins);
  const std::vector<std::set<std::size_t>> passes = passes_of(log_, front_.nodes.size());
  Json list = Json::array();
  for (std::size_t i = 0; i < front_.nodes.size(); ++i) {
    const OnnxNode& node = front_.nodes[i];
    Json names = Json::array();
    for (const std::size_t layer : layers[i].layers) names.push_back(sources[layer].name);
    list.push_back({{"node", i},
                    {"operator", node.type},
                    {"name", node.name},
                    {"inputs", node.inputs},
                    {"outputs", node.outputs},
                    {"passes", passes[i]},
                    {"layers", std::move(names)},
                    {"through", to_string(layers[i].through)}});
  }
  return list;
}

Json Tracer::layers_json() const {
  std::map<std::string, std::vector<std::string>> tables;
  for (const WeightTable& table : lowered_.tables())
    tables[plan_.layer(table.layer).name].push_back(table.name);
  Json list = Json::array();
  for (const Layer& layer : plan_.layers)
    list.push_back({{"layer", layer.name},
                    {"origin", layer.origin.text},
                    {"nodes", layer.origin.nodes},
                    {"complete", layer.origin.complete},
                    {"tables", list_of(tables, layer.name)},
                    {"steps", list_of(of_layer_, layer.name)},
                    {"passed_by", list_of(through_layer_, layer.name)}});
  return list;
}

// The tables of weights; one that several layers share is there once.
Json Tracer::tables_json() const {
  Json list = Json::array();
  for (const WeightTable& table : lowered_.tables()) {
    if (table.same_as >= 0) continue;
    Json item = {{"table", table.name}, {"bytes", table.bytes}};
    if (plan_.weight_storage == WeightStorage::kObject)
      item["offset"] = table.offset;
    else
      item["lines"] = lines_of("table " + table.name);
    list.push_back(std::move(item));
  }
  return list;
}

Json Tracer::kernels_json() const {
  Json list = Json::array();
  for (const Kernel& kernel : plan_.kernels)
    list.push_back(
        {{"kernel", kernel.key},
         {"function", kernel.code == KernelCode::kPrinted ? Json(kernel.function) : Json(nullptr)},
         {"lines", lines_of("kernel " + kernel.function)},
         {"steps", list_of(users_, kernel.key)}});
  return list;
}

Json Tracer::functions_json() const {
  Json list = Json::array();
  for (const ExportedFunction& each : plan_.functions) {
    const std::string name = fmt::format("{}_{}", plan_.name, suffix_of(each.signature));
    list.push_back({{"function", name},
                    {"entry", each.entry ? Json(to_string(*each.entry)) : Json(nullptr)},
                    {"lines", lines_of("function " + name)}});
  }
  return list;
}

}  // namespace

std::vector<FileLines> take_lines(std::vector<emit::EmittedFile>& files, const std::string& stem) {
  std::vector<FileLines> taken;
  for (emit::EmittedFile& file : files) {
    if (!file.suffix.ends_with(".cpp") && !file.suffix.ends_with(".inc")) continue;
    std::vector<emit::MarkedLines> lines = emit::take_marks(file.bytes);
    taken.push_back({stem + file.suffix, sha256(file.bytes), std::move(lines)});
  }
  return taken;
}

std::string trace_text(const build::FrontendResult& front, const PassLog& log,
                       const Lowered& lowered, const std::vector<FileLines>& files) {
  return Tracer(front, log, lowered, files).json().dump(2) + "\n";
}

}  // namespace bf_aot::artifacts
