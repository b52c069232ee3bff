#include <fmt/format.h>

#include <utility>

#include "frontend/import/file/node_import.h"
#include "frontend/import/graph/graph_building.h"
#include "frontend/import/graph/node_checks.h"
#include "frontend/import/graph/node_order.h"

namespace bf_aot {

std::string GraphImporter::fresh_name(const std::string& word) {
  if (!names_) names_.emplace().take(proto_);
  return names_->make(name_prefix(open_.back().node) + word);
}

// Counts a node or step of a body. Throws: BF1005.
void GraphImporter::count_unrolled() {
  if (++unrolled_ > state_.reader.limits.nodes)
    fail("BF1005", "",
         fmt::format("branches and steps of loops make over {} nodes, which is the limit",
                     state_.reader.limits.nodes),
         "export with fewer steps");
}

// Imports a node of the body of the node that is open.
void GraphImporter::import_in_body(const onnx::GraphProto& graph, int index,
                                   const NewName& new_name, std::int64_t step) {
  count_unrolled();
  onnx::NodeProto node = graph.node(index);
  rename_tensors(node, new_name);
  const At& around = open_.back().at;
  const std::string name = name_of(node, index);
  const std::string of_step = step < 0 ? "" : fmt::format(", step {}", step);
  At at{fmt::format("{} in {}{}", name, around.place, of_step), around.origin, around.opsets};
  at.origin.text = fmt::format("{} in {}", name, around.origin.text);
  import_node(node, at, false);
}

// Imports what is the same for all steps: constants, and the nodes that read nothing else.
void GraphImporter::begin_body(Body& body) {
  const onnx::GraphProto& graph = *body.graph;
  std::unordered_set<std::string> known, changing;
  const auto define = [&](const std::string& name) {
    if (!name.empty() && !known.insert(name).second)
      fail("BF1015", "", fmt::format("its body makes '{}' more than once", printable(name)),
           "names must be unique; export the model again");
  };
  for (const onnx::ValueInfoProto& input : graph.input()) define(input.name());
  changing = known;
  const auto initialize = [&](const auto& tensor, const onnx::TensorProto& elements) {
    define(elements.name());
    const std::string name = fresh_name(elements.name());
    body.fixed[elements.name()] = name;
    import_initializer(tensor, elements, name,
                       fmt::format("initializer '{}'", printable(elements.name())));
  };
  for (const onnx::SparseTensorProto& sparse : graph.sparse_initializer())
    initialize(sparse, sparse.values());
  for (const onnx::TensorProto& tensor : graph.initializer()) initialize(tensor, tensor);
  for (const onnx::NodeProto& node : graph.node())
    for (const std::string& name : node.output()) define(name);
  const NodeOrder order = order_nodes(graph, {});
  if (!order.cycle.empty())
    fail("BF1016", "", "its body has a cycle", "only feed-forward networks are supported");
  const auto new_name = [&](const std::string& name) {
    const auto found = body.fixed.find(name);
    return found == body.fixed.end() ? nullptr : &found->second;
  };
  for (const int index : order.order) {
    const onnx::NodeProto& node = graph.node(index);
    bool fixed = true;
    for_each_read(node,
                  [&](const std::string& name) { fixed = fixed && !changing.contains(name); });
    if (!fixed) {
      changing.insert(node.output().begin(), node.output().end());
      body.steps.push_back(index);
      continue;
    }
    for (const std::string& name : node.output())
      if (!name.empty()) body.fixed[name] = fresh_name(name);
    import_in_body(graph, index, new_name, -1);
  }
  body.begun = true;
}

std::vector<std::string> GraphImporter::import_body(Body& body,
                                                    const std::vector<std::string>& inputs,
                                                    std::int64_t step) {
  const onnx::GraphProto& graph = *body.graph;
  BF_CHECK(static_cast<std::size_t>(graph.input_size()) == inputs.size());
  std::vector<Diagnostic> before = std::exchange(state_.diagnostics, {});
  struct Restore {  // whatever is thrown
    std::vector<Diagnostic>& diagnostics;
    std::vector<Diagnostic>& before;
    ~Restore() { diagnostics = std::move(before); }
  } const restore{state_.diagnostics, before};
  const auto stop_at_problems = [&] {
    if (!state_.diagnostics.empty()) throw CompileError(std::move(state_.diagnostics));
  };
  count_unrolled();
  if (!body.begun) begin_body(body);
  stop_at_problems();
  std::unordered_map<std::string, std::string> names;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    names[graph.input(static_cast<int>(i)).name()] = inputs[i];
  const auto new_name = [&](const std::string& name) -> const std::string* {
    if (const auto found = names.find(name); found != names.end()) return &found->second;
    const auto fixed = body.fixed.find(name);
    return fixed == body.fixed.end() ? nullptr : &fixed->second;
  };
  for (const int index : body.steps) {
    for (const std::string& name : graph.node(index).output())
      if (!name.empty()) names[name] = fresh_name(name);
    import_in_body(graph, index, new_name, step);
  }
  stop_at_problems();
  std::vector<std::string> outputs;
  for (const onnx::ValueInfoProto& output : graph.output()) {
    const std::string* const renamed = new_name(output.name());
    outputs.push_back(renamed != nullptr ? *renamed : output.name());
    if (!state_.symbols.contains(outputs.back()))
      fail("BF1017", "",
           fmt::format("nothing makes the output '{}' of its body", printable(output.name())),
           "the file is incomplete; export the model again");
  }
  return outputs;
}

}  // namespace bf_aot
