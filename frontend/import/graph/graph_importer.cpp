#include "frontend/import/graph/graph_importer.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <unordered_set>
#include <utility>

#include "frontend/import/file/node_import.h"
#include "frontend/import/graph/graph_building.h"
#include "frontend/import/graph/node_checks.h"
#include "frontend/import/graph/node_order.h"
#include "frontend/import/graph/ways_out.h"
#include "frontend/import/helpers/integer_types.h"
#include "frontend/import/helpers/masked.h"
#include "frontend/import/operators/operators.h"
#include "frontend/import/operators/versions.h"

namespace bf_aot {
namespace {

// Nothing reads a constant without elements: a zero stands in its place until dead nodes go.
void replace_empty(Graph& graph) {
  for (Node& node : graph.nodes) {
    Shape& shape = graph.values[index_of(node.output)].shape;
    if (element_count(shape) > 0) continue;
    shape = {1};
    node.op = Literal{Constant{shape, {0}, {}}};
  }
}

// Operators of domain ai.onnx that are read where an input has no elements, as the halves of a
// rotary embedding may: they move or map each element, or count them.
bool takes_no_elements(const onnx::NodeProto& node) {
  static constexpr std::string_view kTypes[] = {
      "Add",     "Cast",     "CastLike",  "Concat",   "Cos",   "Div",     "Exp",
      "Flatten", "Identity", "Mul",       "Neg",      "Relu",  "Reshape", "Shape",
      "Sigmoid", "Sin",      "Size",      "Slice",    "Split", "Sqrt",    "Squeeze",
      "Sub",     "Tanh",     "Transpose", "Unsqueeze"};
  return is_standard_domain(node.domain()) &&
         std::ranges::find(kTypes, node.op_type()) != std::end(kTypes);
}

}  // namespace

bool GraphImporter::attempt(const std::string& where, const std::function<void()>& step) {
  try {
    step();
    return true;
  } catch (const CompileError& error) {
    for (Diagnostic diagnostic : error.diagnostics()) {
      if (diagnostic.where.empty()) diagnostic.where = where;
      state_.diagnostics.push_back(std::move(diagnostic));
    }
    return false;
  }
}

Graph GraphImporter::run(ModelInfo& info) {
  state_.graph.name = printable(proto_.name());
  state_.bodies = this;
  import_initializers();
  import_inputs();
  check_bindings();
  claim_node_outputs();
  import_nodes();
  import_outputs();
  if (!state_.diagnostics.empty()) throw CompileError(std::move(state_.diagnostics));
  replace_empty(state_.graph);
  verify(state_.graph);
  info.operators = std::move(state_.operators);
  info.narrow = std::ranges::any_of(state_.types, [](ElementType type) {
    return type == onnx::TensorProto::FLOAT16 || type == onnx::TensorProto::BFLOAT16;
  });
  return std::move(state_.graph);
}

// Names that more than one node makes, or that are inputs or initializers already.
void GraphImporter::claim_node_outputs() {
  std::unordered_map<std::string, int> maker;
  for (int i = 0; i < proto_.node_size(); ++i)
    for (const std::string& name : proto_.node(i).output()) {
      if (name.empty()) continue;
      const auto [found, fresh] = maker.emplace(name, i);
      const bool known = state_.symbols.contains(name) || initializers_.contains(name);
      if (fresh && !known) continue;
      refused_.insert(i);
      const std::string other =
          known ? "an input or initializer" : place_of(proto_.node(found->second), found->second);
      note("BF1015", place_of(proto_.node(i), i),
           fmt::format("makes '{}', which is already made by {}", printable(name), other),
           "names must be unique; export the model again");
    }
}

void GraphImporter::note_cycle(const std::vector<int>& cycle) {
  constexpr std::size_t kShown = 8;
  const auto place = [this](int i) { return place_of(proto_.node(i), i); };
  std::string path;
  for (std::size_t i = 0; i < std::min(cycle.size(), kShown); ++i) path += place(cycle[i]) + " -> ";
  if (cycle.size() > kShown) path += fmt::format("{} more -> ", cycle.size() - kShown);
  note("BF1016", place(cycle.front()),
       fmt::format("the graph has a cycle: {}{}", path, place(cycle.front())),
       "only feed-forward networks are supported");
}

// Tensors that are there without any node.
std::unordered_set<std::string> GraphImporter::known_names() const {
  std::unordered_set<std::string> names = initializers_;
  for (const auto& [name, symbol] : state_.symbols) names.insert(name);
  return names;
}

void GraphImporter::import_nodes() {
  const NodeOrder order = order_nodes(proto_, known_names());
  if (!order.cycle.empty()) note_cycle(order.cycle);
  // Problems are reported in file order, whatever order the nodes are imported in.
  std::map<int, std::vector<Diagnostic>> by_node;
  std::vector<Diagnostic> before = std::exchange(state_.diagnostics, {});
  const auto import = [&](int i) {
    import_node(i);
    if (!state_.diagnostics.empty()) by_node[i] = std::exchange(state_.diagnostics, {});
  };
  for (int i : order.order) import(i);
  std::vector<bool> sorted(static_cast<std::size_t>(proto_.node_size()), false);
  for (int i : order.order) sorted[static_cast<std::size_t>(i)] = true;
  for (int i = 0; i < proto_.node_size(); ++i) {
    if (sorted[static_cast<std::size_t>(i)]) continue;
    for (const std::string& name : proto_.node(i).output()) state_.symbols[name] = Poisoned{};
  }
  for (int i = 0; i < proto_.node_size(); ++i)  // behind a cycle: what the node itself shows
    if (!sorted[static_cast<std::size_t>(i)]) import(i);
  state_.diagnostics = std::move(before);
  for (auto& [index, found] : by_node)
    state_.diagnostics.insert(state_.diagnostics.end(), found.begin(), found.end());
}

void GraphImporter::import_node(int index) {
  if (!facts_.wanted[static_cast<std::size_t>(index)]) return;
  const onnx::NodeProto& node = proto_.node(index);
  import_node(node,
              {place_of(node, index), Origin(name_of(node, index), index),
               facts_.opsets[static_cast<std::size_t>(index)]},
              refused_.contains(index));
}

void GraphImporter::import_node(const onnx::NodeProto& node, const At& at, bool refused) {
  const OperatorImporter* const op = find_operator(node);
  if (op == nullptr)
    note("BF1010", at.place, fmt::format("operator {} is not supported", operator_name(node)),
         way_out(node, open_.empty() ? tensor_before(node) : ""));
  const bool readable = find_inputs(node, at.place);
  state_.oldest_opset = at.opsets.first;
  state_.opset = at.opsets.last;
  const bool imported = op != nullptr &&
                        attempt(at.place, [&] { check_signature(node, *op, at.opsets); }) &&
                        readable && !refused && attempt(at.place, [&] {
                          open_.push_back({node, at});
                          struct Close {  // whatever is thrown
                            GraphImporter& importer;
                            ~Close() { importer.open_.pop_back(); }
                          } const close{*this};
                          NodeImport import(state_, node, at.origin);
                          state_.operators.emplace(node.op_type(), at.origin);
                          state_.reads_empty = takes_no_elements(node);
                          if (reads_masked(state_, node))
                            import_masked(state_, node, *op, at.origin);
                          else
                            op->run(import);
                          keep_in_types(state_, node, at.origin);
                          evaluate_integers(node);
                        });
  if (imported) return;
  for (const std::string& name : node.output())
    if (!name.empty()) state_.symbols[name] = Poisoned{};
}

// The first tensor that the node reads, another node makes and an output of the model can be.
// Empty: there is none.
std::string GraphImporter::tensor_before(const onnx::NodeProto& node) const {
  for (const std::string& name : node.input()) {
    const auto found = state_.symbols.find(name);
    if (found == state_.symbols.end()) continue;
    const auto* const value = std::get_if<ValueId>(&found->second);
    if (value != nullptr && state_.makers[index_of(*value)] >= 0) return name;
  }
  return "";
}

// Integers that depend on constants alone become IntegerTensors; the nodes that were made for them
// are left to remove_dead_nodes. Those that have no exact value stay what they are: shapes and
// indices will be refused where they are read.
void GraphImporter::evaluate_integers(const onnx::NodeProto& node) {
  for (const std::string& name : node.output()) {
    const auto found = state_.symbols.find(name);
    if (name.empty() || found == state_.symbols.end()) continue;
    const auto* id = std::get_if<ValueId>(&found->second);
    if (id == nullptr) continue;
    if (std::optional<IntegerTensor> integers = state_.integers(*id))
      found->second = std::move(*integers);
  }
}

// False when an input is missing or poisoned.
bool GraphImporter::find_inputs(const onnx::NodeProto& node, const std::string& where) {
  bool readable = true;
  for_each_read(node, [&](const std::string& name) {
    if (name.empty()) return;
    const auto found = state_.symbols.find(name);
    if (found == state_.symbols.end()) {
      note("BF1013", where, fmt::format("reads '{}', which nothing makes", printable(name)),
           "the file is incomplete; export the model again");
      state_.symbols[name] = Poisoned{};
      readable = false;
    } else if (std::holds_alternative<Poisoned>(found->second)) {
      readable = false;
    }
  });
  return readable;
}

void GraphImporter::import_outputs() {
  if (proto_.output_size() == 0) note("BF1017", "", "the model has no outputs");
  for (const onnx::ValueInfoProto& info : proto_.output()) {
    const std::string place = fmt::format("output '{}'", printable(info.name()));
    const auto found = state_.symbols.find(info.name());
    if (info.name().empty() || found == state_.symbols.end()) {
      note("BF1017", place, "nothing makes it", "the file is incomplete; export the model again");
    } else if (!std::holds_alternative<Poisoned>(found->second)) {
      attempt(place, [&] {
        state_.reads_empty = false;
        state_.graph.outputs.push_back(state_.value(info.name()));
      });
    }
  }
}

Graph import_graph(onnx::GraphProto& proto, ImportState state, const InputBindings& bindings,
                   const std::map<std::string, TokenInput>& tokens, const NodeFacts& nodes,
                   ModelInfo& info) {
  return GraphImporter(proto, std::move(state), bindings, tokens, nodes).run(info);
}

}  // namespace bf_aot
