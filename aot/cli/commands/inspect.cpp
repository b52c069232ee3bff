#include "aot/cli/commands/inspect.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

namespace bf_aot::cli {
namespace {

std::string activation_name(const Layer& layer) {
  if (layer.function) return std::string(name_of(layer.function->kind));
  return layer.relu ? "relu" : "-";
}

// The numbers of inputs of a layer's terms: "3072", "576 + 576".
std::string inputs_text(const Layer& layer) {
  if (layer.kind == LayerKind::kDense) return std::to_string(layer.in);
  if (layer.terms.size() > 3) return fmt::format("{} tensors", layer.terms.size());
  std::string text;
  for (const Term& term : layer.terms)
    text += (text.empty() ? "" : " + ") + std::to_string(term.in);
  return text;
}

// Returns whether a term does nothing but reorder a whole tensor.
bool is_permutation(const Layer& layer, const Term& term) {
  const auto* gather = std::get_if<GatherMap>(&term.map);
  return gather != nullptr && layer.kind == LayerKind::kSum && !gather->source.empty() &&
         term.in == layer.out && term.column_entries == 1 &&
         std::ranges::count(gather->source, -1) == 0;
}

int permutation_count(const Plan& plan) {
  int count = 0;
  for (const Layer& layer : plan.layers)
    for (const Term& term : layer.terms) count += is_permutation(layer, term) ? 1 : 0;
  return count;
}

std::string layer_table(const Plan& plan) {
  std::string text = fmt::format(
      "layers; {} permutes at run time\n  {:<3} {:<20} {:<8} {:>14} {:>8} {:<12} {:<9} {}\n",
      permutation_count(plan), "#", "name", "kind", "in", "out", "activation", "bounds", "from");
  for (std::size_t i = 0; i < plan.layers.size(); ++i) {
    const Layer& layer = plan.layers[i];
    std::string_view domain = "-";
    for (const DomainChoice& choice : plan.domains)
      if (choice.layer == static_cast<int>(i)) domain = to_string(choice.domain);
    text += fmt::format("  {:<3} {:<20} {:<8} {:>14} {:>8} {:<12} {:<9} {}\n", i, layer.name,
                        to_string(layer.kind), inputs_text(layer), layer.out,
                        activation_name(layer), domain, layer.origin.text);
  }
  return text;
}

// "1-4, 6": tasks are counted from 1, as in the generated code.
std::string numbers(const std::vector<int>& tasks) {
  std::string text;
  for (std::size_t i = 0; i < tasks.size();) {
    std::size_t end = i + 1;
    while (end < tasks.size() && tasks[end] == tasks[end - 1] + 1) ++end;
    text += fmt::format("{}{}", text.empty() ? "" : ", ", tasks[i] + 1);
    if (end > i + 1) text += fmt::format("-{}", tasks[end - 1] + 1);
    i = end;
  }
  return text;
}

std::string entry_table(const Entry& entry) {
  std::string text = fmt::format(
      "entry {}: {} steps in {} tasks, {} buffers; {} bytes planned, {} without sharing, {} at "
      "least ({})\n",
      name_of(entry), entry.steps.size(), entry.tasks.size(), entry.buffers.size(),
      entry.storage.planned_bytes, entry.storage.naive_bytes, entry.storage.lower_bound_bytes,
      to_string(entry.storage.proof));
  if (entry.workers > 1)
    text += fmt::format(
        "  for each of {} workers: {} bytes planned, {} without sharing, {} at least ({})\n",
        entry.workers, entry.worker_storage.planned_bytes, entry.worker_storage.naive_bytes,
        entry.worker_storage.lower_bound_bytes, to_string(entry.worker_storage.proof));
  text += fmt::format("  {:<3} {:<36} {:<9} {:>14} {:>14} {:>12}  {}\n", "#", "task", "bounds",
                      "flops", "bytes", "predicted", "after");
  for (std::size_t i = 0; i < entry.tasks.size(); ++i) {
    const Task& task = entry.tasks[i];
    text += fmt::format("  {:<3} {:<36} {:<9} {:>14} {:>14} {:>9.4g} us  {}\n", i + 1, task.name,
                        to_string(task.domain), task.flops, task.bytes,
                        1e6 * task.predicted_seconds, numbers(task.after));
  }
  return text;
}

std::string integer_table(const Plan& plan) {
  std::string text = fmt::format(
      "steps over codes; {} bytes planned, {} without sharing, {} at least ({})\n"
      "  {:<3} {:<10} {:<24} {:>8} {:>9} {:>8}  {}\n",
      plan.entries.front().storage.planned_bytes, plan.entries.front().storage.naive_bytes,
      plan.entries.front().storage.lower_bound_bytes, to_string(plan.entries.front().storage.proof),
      "#", "step", "makes", "codes", "range", "bytes", "from");
  int number = 0;
  for (const IntegerStep& step : plan.integer->steps) {
    const GridId out = output_of(step);
    const GridTensor outputs{"outputs",      "", plan.output_count, 0, 0, BufferId::kNone,
                             BufferId::kNone};
    const GridTensor& made = out < 0 ? outputs : plan.integer->tensor(out);
    text += fmt::format("  {:<3} {:<10} {:<24} {:>8} {:>9} {:>8}  {}\n", number++, name_of(step),
                        made.name, made.count,
                        out < 0 ? "-" : fmt::format("{}-{}", made.low, made.high),
                        constant_bytes(step), made.origin.text);
  }
  return text;
}

std::string kernel_table(const Plan& plan) {
  std::string text = fmt::format("{} kernels\n  {:<52} {:<8} {:>5} {:>7} {:>7} {:>5} {:>5}  {}\n",
                                 plan.kernels.size(), "key", "lowering", "lanes", "vectors",
                                 "columns", "chunk", "depth", "because");
  for (const Kernel& kernel : plan.kernels)
    text +=
        fmt::format("  {:<52} {:<8} {:>5} {:>7} {:>7} {:>5} {:>5}  {}\n", kernel.key,
                    to_string(kernel.strategy), kernel.schedule.lanes, kernel.schedule.vectors,
                    kernel.schedule.columns, kernel.schedule.chunk, kernel.depth, kernel.reason);
  return text;
}

std::string escape(std::string_view text) {
  std::string result;
  for (char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result;
}

// Name of the node of a value: what makes it, or the value itself when nothing does.
std::string dot_source(const std::vector<int>& makers, ValueId id) {
  const int maker = makers[index_of(id)];
  return maker >= 0 ? fmt::format("n{}", maker) : fmt::format("v{}", index_of(id));
}

std::string dot_network(const Graph& graph) {
  std::string text = "  subgraph cluster_network {\n    label=\"network\";\n";
  const std::vector<int> makers = producers(graph);
  for (ValueId input : graph.inputs)
    text += fmt::format("    v{} [label=\"{}\\n{}\", shape=ellipse];\n", index_of(input),
                        escape(graph.value(input).name), to_string(graph.value(input).shape));
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    text += fmt::format("    n{} [label=\"{} {}\\n{}\"];\n", i, op_name(node.op),
                        to_string(graph.value(node.output).shape), escape(node.origin));
    for (ValueId input : node.inputs)
      text += fmt::format("    {} -> n{};\n", dot_source(makers, input), i);
  }
  for (std::size_t i = 0; i < graph.outputs.size(); ++i)
    text += fmt::format("    o{} [label=\"{}\", shape=ellipse];\n    {} -> o{};\n", i,
                        escape(graph.value(graph.outputs[i]).name),
                        dot_source(makers, graph.outputs[i]), i);
  return text + "  }\n";
}

std::string dot_tasks(const Entry& entry, std::size_t number) {
  std::string text = fmt::format("  subgraph cluster_entry{} {{\n    label=\"tasks of {}\";\n",
                                 number, name_of(entry));
  for (std::size_t i = 0; i < entry.tasks.size(); ++i) {
    text += fmt::format("    t{}_{} [label=\"{}\\n{} flops\"];\n", number, i,
                        escape(entry.tasks[i].name), entry.tasks[i].flops);
    for (int after : entry.tasks[i].after)
      text += fmt::format("    t{}_{} -> t{}_{};\n", number, after, number, i);
  }
  return text + "  }\n";
}

}  // namespace

std::string summary(const Plan& plan) {
  std::string text = fmt::format(
      "plan {}: method {}, lowering {}, target {}\n{} inputs, {} outputs, {} spec rows; workspace "
      "{} "
      "bytes aligned to {}, weights {} bytes\n\n",
      plan.name, to_string(plan.config.method), to_string(plan.config.lowering),
      plan.config.target.name, plan.input_count, plan.output_count, plan.spec_rows,
      plan.arena_bytes(), plan.config.target.align, plan.weights_bytes());
  if (plan.integer) return text + integer_table(plan);
  text += layer_table(plan);
  for (const Entry& entry : plan.entries) text += "\n" + entry_table(entry);
  text += "\n" + kernel_table(plan);
  if (!plan.rejected.empty()) text += "\nnot taken\n";
  for (const Rejected& rejected : plan.rejected)
    text += fmt::format("  {}: {}: {}\n", rejected.slot, rejected.candidate, rejected.reason);
  return text;
}

std::string dot(const Graph& graph, const Plan& plan) {
  std::string text = fmt::format("digraph \"{}\" {{\n  node [shape=box];\n", escape(plan.name));
  text += dot_network(graph);
  for (std::size_t i = 0; i < plan.entries.size(); ++i) text += dot_tasks(plan.entries[i], i);
  return text + "}\n";
}

}  // namespace bf_aot::cli
