#include "frontend/import/file/names.h"

#include <vector>

namespace bf_aot {
namespace {

template <typename Node, typename Visit>
void for_each_body(Node& node, const Visit& visit) {
  if constexpr (std::is_const_v<Node>) {
    for (const onnx::AttributeProto& attribute : node.attribute()) {
      if (attribute.has_g()) visit(attribute.g());
      for (const onnx::GraphProto& graph : attribute.graphs()) visit(graph);
    }
  } else {
    for (onnx::AttributeProto& attribute : *node.mutable_attribute()) {
      if (attribute.has_g()) visit(*attribute.mutable_g());
      for (onnx::GraphProto& graph : *attribute.mutable_graphs()) visit(graph);
    }
  }
}

using Names = std::unordered_set<std::string_view>;

Names defined_in(const onnx::GraphProto& graph) {
  Names names;
  for (const onnx::ValueInfoProto& input : graph.input()) names.insert(input.name());
  for (const onnx::TensorProto& tensor : graph.initializer()) names.insert(tensor.name());
  for (const onnx::SparseTensorProto& tensor : graph.sparse_initializer())
    names.insert(tensor.values().name());
  for (const onnx::NodeProto& node : graph.node())
    names.insert(node.output().begin(), node.output().end());
  return names;
}

bool is_defined(const std::vector<Names>& scopes, const std::string& name) {
  for (const Names& scope : scopes)
    if (scope.contains(name)) return true;
  return false;
}

void read_body(const onnx::GraphProto& graph, std::vector<Names>& scopes,
               const std::function<void(const std::string&)>& read) {
  scopes.push_back(defined_in(graph));
  const auto visit = [&](const std::string& name) {
    if (!name.empty() && !is_defined(scopes, name)) read(name);
  };
  for (const onnx::NodeProto& node : graph.node()) {
    for (const std::string& name : node.input()) visit(name);
    for_each_body(node, [&](const onnx::GraphProto& body) { read_body(body, scopes, read); });
  }
  for (const onnx::ValueInfoProto& output : graph.output()) visit(output.name());
  scopes.pop_back();
}

void rename_body(onnx::GraphProto& graph, std::vector<Names>& scopes, const NewName& new_name) {
  scopes.push_back(defined_in(graph));
  const auto renamed = [&](const std::string& name) {
    return name.empty() || is_defined(scopes, name) ? nullptr : new_name(name);
  };
  for (onnx::NodeProto& node : *graph.mutable_node()) {
    for (std::string& name : *node.mutable_input())
      if (const std::string* const other = renamed(name)) name = *other;
    for_each_body(node, [&](onnx::GraphProto& body) { rename_body(body, scopes, new_name); });
  }
  for (onnx::ValueInfoProto& output : *graph.mutable_output())
    if (const std::string* const other = renamed(output.name())) output.set_name(*other);
  scopes.pop_back();
}

}  // namespace

void for_each_read(const onnx::NodeProto& node,
                   const std::function<void(const std::string&)>& read) {
  for (const std::string& name : node.input()) read(name);
  std::vector<Names> scopes;
  for_each_body(node, [&](const onnx::GraphProto& body) { read_body(body, scopes, read); });
}

void rename_tensors(onnx::NodeProto& node, const NewName& new_name) {
  for (auto* const list : {node.mutable_input(), node.mutable_output()})
    for (std::string& name : *list)
      if (const std::string* const other = name.empty() ? nullptr : new_name(name)) name = *other;
  std::vector<Names> scopes;
  for_each_body(node, [&](onnx::GraphProto& body) { rename_body(body, scopes, new_name); });
}

void FreshNames::take(const onnx::GraphProto& graph) {
  for (const onnx::ValueInfoProto& input : graph.input()) take(input.name());
  for (const onnx::ValueInfoProto& output : graph.output()) take(output.name());
  for (const onnx::TensorProto& tensor : graph.initializer()) take(tensor.name());
  for (const onnx::SparseTensorProto& tensor : graph.sparse_initializer())
    take(tensor.values().name());
  for (const onnx::NodeProto& node : graph.node()) take(node);
}

void FreshNames::take(const onnx::NodeProto& node) {
  for (const std::string& name : node.input()) take(name);
  for (const std::string& name : node.output()) take(name);
  for_each_body(node, [this](const onnx::GraphProto& body) { take(body); });
}

std::string FreshNames::make(const std::string& wish) {
  if (taken_.insert(wish).second) return wish;
  int& number = next_[wish];
  std::string name;
  do {
    name = wish + "#" + std::to_string(++number);
  } while (!taken_.insert(name).second);
  return name;
}

std::string name_prefix(const onnx::NodeProto& node) {
  constexpr std::size_t kMost = 200;
  std::string name = node.name();
  for (const std::string& output : node.output())
    if (name.empty()) name = output;
  return name.substr(0, kMost) + "/";
}

}  // namespace bf_aot
