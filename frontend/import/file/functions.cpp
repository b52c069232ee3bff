#include "frontend/import/file/functions.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "frontend/diagnostic.h"
#include "frontend/graph/model.h"
#include "frontend/import/file/names.h"

namespace bf_aot {
namespace {

using Nodes = google::protobuf::RepeatedPtrField<onnx::NodeProto>;
using Attributes = google::protobuf::RepeatedPtrField<onnx::AttributeProto>;
using Key = std::tuple<std::string, std::string, std::string>;  // domain, name, overload

constexpr std::size_t kMaxDepth = 64;  // of functions that call functions

std::string domain_of(const std::string& domain) {
  return domain == "ai.onnx" ? "" : domain;
}

// "pkg.mine.Dense"
std::string name_of(const onnx::FunctionProto& function) {
  return printable(function.domain().empty() ? function.name()
                                             : function.domain() + "." + function.name());
}

const onnx::AttributeProto* find(const Attributes& attributes, const std::string& name) {
  for (const onnx::AttributeProto& each : attributes)
    if (each.name() == name) return &each;
  return nullptr;
}

// Puts in what the attributes of a function's node refer to. What the call gives no value for, and
// the function no default, is left out.
void fill_attributes(Nodes& nodes, const Attributes& given, const onnx::FunctionProto& function) {
  for (onnx::NodeProto& node : nodes) {
    Attributes filled;
    for (onnx::AttributeProto& attribute : *node.mutable_attribute()) {
      if (attribute.has_g())
        fill_attributes(*attribute.mutable_g()->mutable_node(), given, function);
      for (onnx::GraphProto& body : *attribute.mutable_graphs())
        fill_attributes(*body.mutable_node(), given, function);
      const onnx::AttributeProto* value = &attribute;
      if (!attribute.ref_attr_name().empty()) {
        value = find(given, attribute.ref_attr_name());
        if (value == nullptr) value = find(function.attribute_proto(), attribute.ref_attr_name());
        if (value == nullptr) continue;
      }
      onnx::AttributeProto& made = *filled.Add();
      made = *value;
      made.set_name(attribute.name());
    }
    node.mutable_attribute()->Swap(&filled);
  }
}

class Inliner {
 public:
  Inliner(onnx::ModelProto& model, const OpsetSpan& own, const ImportLimits& limits)
      : model_(model),
        own_(own),
        most_nodes_(limits.nodes),
        most_bytes_(static_cast<std::size_t>(limits.made_elements) * sizeof(float) +
                    static_cast<std::size_t>(limits.made_per_stored) * model.ByteSizeLong()) {}

  std::vector<OpsetSpan> run() {
    for (const onnx::FunctionProto& function : model_.functions()) {
      const Key key{domain_of(function.domain()), function.name(), function.overload()};
      if (!functions_.emplace(key, &function).second)
        fail("BF1015", "", fmt::format("two functions are named {}", name_of(function)),
             "names must be unique; export the model again");
      for (const onnx::NodeProto& node : function.node()) names_.take(node);
    }
    names_.take(model_.graph());
    std::vector<OpsetSpan> opsets;
    expand(*model_.mutable_graph()->mutable_node(), own_, &opsets);
    return opsets;
  }

 private:
  // opsets: of the nodes that come; null within a body, whose nodes all have those of its node.
  void expand(Nodes& nodes, const OpsetSpan& around, std::vector<OpsetSpan>* opsets) {
    Nodes expanded;
    for (onnx::NodeProto& node : nodes) {
      for (onnx::AttributeProto& attribute : *node.mutable_attribute()) {
        if (attribute.has_g()) expand(*attribute.mutable_g()->mutable_node(), around, nullptr);
        for (onnx::GraphProto& body : *attribute.mutable_graphs())
          expand(*body.mutable_node(), around, nullptr);
      }
      const auto found =
          functions_.find({domain_of(node.domain()), node.op_type(), node.overload()});
      if (found == functions_.end()) {
        expanded.Add()->Swap(&node);
        if (opsets != nullptr) opsets->push_back(around);
        continue;
      }
      Nodes body = body_of(node, *found->second, around, opsets != nullptr);
      std::vector<OpsetSpan> of_body;
      const OpsetSpan own = opsets_of(*found->second);
      open_.push_back(found->second);
      expand(body, own, opsets != nullptr ? &of_body : nullptr);
      open_.pop_back();
      for (onnx::NodeProto& made : body) expanded.Add()->Swap(&made);
      if (opsets != nullptr) opsets->insert(opsets->end(), of_body.begin(), of_body.end());
    }
    nodes.Swap(&expanded);
  }

  OpsetSpan opsets_of(const onnx::FunctionProto& function) const {
    const OpsetSpan found =
        find_opsets(function.opset_import(), fmt::format("function {}", name_of(function)));
    return found.last == 0 ? own_ : found;
  }

  // The function's nodes with the names and attributes of the call.
  Nodes body_of(const onnx::NodeProto& call, const onnx::FunctionProto& function,
                const OpsetSpan& around, bool may_differ) {
    const std::string place = fmt::format("{} '{}'", name_of(function), printable(call.name()));
    check_call(call, function, place);
    const OpsetSpan own = opsets_of(function);
    if (!may_differ && (own.first != around.first || own.last != around.last))
      fail("BF1007", place,
           fmt::format("a function of operator set {} is called in a body of operator set {}",
                       own.last, around.last),
           "export again with one operator set");
    std::size_t bytes = 0;
    for (const onnx::NodeProto& node : function.node()) bytes += node.ByteSizeLong();
    for (const onnx::AttributeProto& attribute : call.attribute())
      bytes += attribute.ByteSizeLong() * static_cast<std::size_t>(function.node_size());
    charge(static_cast<std::size_t>(function.node_size()) + 1, bytes, place);

    const std::string prefix = name_prefix(call);
    std::unordered_map<std::string, std::string> names;
    for (int i = 0; i < function.input_size(); ++i)
      names[function.input(i)] = i < call.input_size() ? call.input(i) : "";
    Nodes copies;  // of outputs that the function has from elsewhere
    for (int i = 0; i < call.output_size(); ++i) {
      if (call.output(i).empty()) continue;
      const auto [known, fresh] = names.emplace(function.output(i), call.output(i));
      if (fresh) continue;
      onnx::NodeProto& copy = *copies.Add();
      copy.set_op_type("Identity");
      copy.set_name(prefix + function.output(i));
      copy.add_input(known->second);
      copy.add_output(call.output(i));
    }
    Nodes nodes = function.node();
    fill_attributes(nodes, call.attribute(), function);
    const auto new_name = [&](const std::string& name) {
      auto [found, fresh] = names.emplace(name, "");
      if (fresh) found->second = names_.make(prefix + name);
      return &found->second;
    };
    for (onnx::NodeProto& node : nodes) {
      rename_tensors(node, new_name);
      node.set_name(prefix + (node.name().empty() ? node.op_type() : node.name()));
    }
    for (onnx::NodeProto& copy : copies) nodes.Add()->Swap(&copy);
    return nodes;
  }

  void check_call(const onnx::NodeProto& call, const onnx::FunctionProto& function,
                  const std::string& place) const {
    if (std::ranges::find(open_, &function) != open_.end())
      fail("BF1016", place, "the function calls itself",
           "only feed-forward networks are supported");
    if (open_.size() >= kMaxDepth)
      fail("BF1005", place, fmt::format("functions call functions over {} deep", kMaxDepth));
    const auto check = [&](int count, int most, const char* what) {
      if (count > most)
        fail("BF1011", place, fmt::format("{} {}, but the function has {}", count, what, most));
    };
    check(call.input_size(), function.input_size(), "inputs");
    check(call.output_size(), function.output_size(), "outputs");
    for (const onnx::AttributeProto& attribute : call.attribute())
      if (std::ranges::find(function.attribute(), attribute.name()) == function.attribute().end() &&
          find(function.attribute_proto(), attribute.name()) == nullptr)
        fail("BF1012", place,
             fmt::format("the function has no attribute '{}'", printable(attribute.name())));
  }

  void charge(std::size_t nodes, std::size_t bytes, const std::string& place) {
    nodes_ += nodes;
    bytes_ += bytes;
    if (nodes_ > most_nodes_)
      fail("BF1005", place,
           fmt::format("calls of functions make over {} nodes, which is the limit", most_nodes_));
    if (bytes_ > most_bytes_)
      fail("BF1028", place,
           fmt::format("calls of functions make over {} bytes of nodes", most_bytes_),
           "give constants to functions as inputs, which are not repeated");
  }

  onnx::ModelProto& model_;
  const OpsetSpan own_;
  const std::size_t most_nodes_;
  const std::size_t most_bytes_;
  std::size_t nodes_ = 0, bytes_ = 0;  // made so far
  std::map<Key, const onnx::FunctionProto*> functions_;
  std::vector<const onnx::FunctionProto*> open_;  // whose nodes are being put in
  FreshNames names_;
};

}  // namespace

std::vector<OpsetSpan> inline_functions(onnx::ModelProto& model, const OpsetSpan& own,
                                        const ImportLimits& limits) {
  if (model.functions().empty())
    return std::vector<OpsetSpan>(static_cast<std::size_t>(model.graph().node_size()), own);
  return Inliner(model, own, limits).run();
}

}  // namespace bf_aot
