#include "frontend/graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "frontend/diagnostic.h"
#include "frontend/shapes.h"

namespace bf {
namespace {

constexpr std::size_t kPrintedElements = 8;

std::string_view name_of(const Literal&) {
  return "literal";
}
std::string_view name_of(const MatMul&) {
  return "matmul";
}
std::string_view name_of(const Gemm&) {
  return "gemm";
}
std::string_view name_of(const Binary& op) {
  switch (op.kind) {
    case Binary::Kind::kAdd:
      return "add";
    case Binary::Kind::kSub:
      return "sub";
    case Binary::Kind::kMul:
      return "mul";
    case Binary::Kind::kDiv:
      return "div";
  }
  BF_CHECK(false);
  return {};
}
std::string_view name_of(const Relu&) {
  return "relu";
}
std::string_view name_of(const IndexMap&) {
  return "index_map";
}
std::string_view name_of(const Scale&) {
  return "scale";
}
std::string_view name_of(const Affine&) {
  return "affine";
}

std::string print_numbers(const std::vector<double>& numbers) {
  return fmt::format("{{{}}}", fmt::join(numbers, ", "));
}

// " name {1, 2} +- {0, 1e-17}"; without numbers when there are too many.
std::string print_constant(std::string_view name, const Constant& constant) {
  std::string text;
  if (constant.data.size() <= kPrintedElements) {
    text += fmt::format(" {} {}", name, print_numbers(constant.data));
    if (!constant.is_exact()) text += " +- " + print_numbers(constant.error);
  } else if (!constant.is_exact()) {
    text += fmt::format(" {} inexact", name);
  }
  return text;
}

bool is_identity(const std::vector<std::int64_t>& source) {
  for (std::size_t i = 0; i < source.size(); ++i)
    if (source[i] != static_cast<std::int64_t>(i)) return false;
  return true;
}

// What follows the operator's inputs.
std::string print_fields(const Literal& op) {
  return print_constant("value", op.value);
}
std::string print_fields(const MatMul&) {
  return {};
}
std::string print_fields(const Gemm& op) {
  std::string text;
  if (op.alpha != 1) text += fmt::format(" alpha={}", op.alpha);
  if (op.beta != 1) text += fmt::format(" beta={}", op.beta);
  if (op.trans_a) text += " trans_a";
  if (op.trans_b) text += " trans_b";
  return text;
}
std::string print_fields(const Binary&) {
  return {};
}
std::string print_fields(const Relu&) {
  return {};
}
std::string print_fields(const IndexMap& op) {
  if (is_identity(op.source)) return " identity";
  if (op.source.size() <= kPrintedElements) return fmt::format(" [{}]", fmt::join(op.source, ", "));
  return fmt::format(" [{} entries]", op.source.size());
}
std::string print_fields(const Scale& op) {
  return print_constant("factor", op.factor) + print_constant("offset", op.offset);
}
std::string print_fields(const Affine& op) {
  return fmt::format(" [{}]", fmt::join(op.weight.shape, " x ")) +
         print_constant("weight", op.weight) + print_constant("bias", op.bias);
}

std::string print_value(const Graph& graph, ValueId id) {
  const Value& value = graph.value(id);
  return fmt::format("%{} '{}' {}", index_of(id), value.name, to_string(value.shape));
}

void verify_constant(const Constant& constant) {
  BF_CHECK(checked_element_count(constant.shape).has_value());
  BF_CHECK(static_cast<std::int64_t>(constant.data.size()) == element_count(constant.shape));
  BF_CHECK(constant.error.empty() || constant.error.size() == constant.data.size());
  for (double x : constant.data) BF_CHECK(std::isfinite(x));
  for (double x : constant.error) BF_CHECK(std::isfinite(x) && x >= 0);
}

void verify_fields(const Literal& op, const std::vector<Shape>&) {
  verify_constant(op.value);
}
void verify_fields(const MatMul&, const std::vector<Shape>&) {}
void verify_fields(const Gemm& op, const std::vector<Shape>&) {
  BF_CHECK(std::isfinite(op.alpha) && std::isfinite(op.beta));
}
void verify_fields(const Binary&, const std::vector<Shape>&) {}
void verify_fields(const Relu&, const std::vector<Shape>&) {}
void verify_fields(const IndexMap& op, const std::vector<Shape>& inputs) {
  const std::int64_t count = element_count(inputs.at(0));
  for (std::int64_t entry : op.source) BF_CHECK(entry >= 0 && entry < count);
}
void verify_fields(const Scale& op, const std::vector<Shape>&) {
  verify_constant(op.factor);
  verify_constant(op.offset);
}
void verify_fields(const Affine& op, const std::vector<Shape>&) {
  verify_constant(op.weight);
  verify_constant(op.bias);
}

void verify_values(const Graph& graph) {
  std::set<std::string_view> names;
  for (const Value& value : graph.values) {
    const bool unique = names.insert(value.name).second;
    BF_CHECK(unique);
    const std::optional<std::int64_t> count = checked_element_count(value.shape);
    BF_CHECK(count.has_value() && *count > 0);
  }
}

// `defined`: values that a node may read. Adds the node's output.
void verify_node(const Graph& graph, const Node& node, std::vector<bool>& defined) {
  std::vector<Shape> inputs;
  for (ValueId id : node.inputs) {
    BF_CHECK(index_of(id) < graph.values.size());
    BF_CHECK(defined[index_of(id)]);
    inputs.push_back(graph.value(id).shape);
  }
  BF_CHECK(index_of(node.output) < graph.values.size());
  BF_CHECK(!defined[index_of(node.output)]);
  defined[index_of(node.output)] = true;

  Shape inferred;
  try {
    inferred = infer_shape(node.op, inputs);
  } catch (const CompileError&) {
    BF_CHECK(!"operand shapes agree");
  }
  const Shape& declared = graph.value(node.output).shape;
  if (works_on_flattened(node.op)) {
    BF_CHECK(element_count(inferred) == element_count(declared));
  } else {
    BF_CHECK(inferred == declared);
  }
  std::visit([&](const auto& op) { verify_fields(op, inputs); }, node.op);
}

}  // namespace

std::int64_t element_count(const Shape& shape) {
  const std::optional<std::int64_t> count = checked_element_count(shape);
  BF_CHECK(count.has_value());
  return *count;
}

std::string to_string(const Shape& shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

ValueId Graph::add_value(std::string wanted, Shape shape) {
  const auto taken = [this](const std::string& candidate) {
    return std::any_of(values.begin(), values.end(),
                       [&](const Value& value) { return value.name == candidate; });
  };
  std::string unique = wanted;
  for (int i = 2; taken(unique); ++i) unique = fmt::format("{}_{}", wanted, i);
  values.push_back({std::move(unique), std::move(shape)});
  return static_cast<ValueId>(values.size() - 1);
}

std::string_view op_name(const Op& op) {
  return std::visit([](const auto& each) { return name_of(each); }, op);
}

void verify(const Graph& graph) {
  verify_values(graph);
  std::vector<bool> defined(graph.values.size(), false);
  for (ValueId id : graph.inputs) {
    BF_CHECK(index_of(id) < graph.values.size());
    BF_CHECK(!defined[index_of(id)]);
    defined[index_of(id)] = true;
  }
  for (const Node& node : graph.nodes) verify_node(graph, node, defined);
  BF_CHECK(!graph.outputs.empty());
  for (ValueId id : graph.outputs) {
    BF_CHECK(index_of(id) < graph.values.size());
    BF_CHECK(defined[index_of(id)]);
  }
}

std::string to_string(const Graph& graph) {
  std::string text = fmt::format("graph '{}'\n", graph.name);
  for (ValueId id : graph.inputs) text += fmt::format("  input {}\n", print_value(graph, id));
  for (const Node& node : graph.nodes) {
    text += fmt::format("  {} = {}", print_value(graph, node.output), op_name(node.op));
    for (std::size_t i = 0; i < node.inputs.size(); ++i)
      text += fmt::format("{} %{}", i == 0 ? "" : ",", index_of(node.inputs[i]));
    text += std::visit([](const auto& op) { return print_fields(op); }, node.op);
    if (!node.origin.empty()) text += "   # " + node.origin;
    text += "\n";
  }
  for (ValueId id : graph.outputs) text += fmt::format("  output %{}\n", index_of(id));
  return text;
}

std::vector<int> count_uses(const Graph& graph) {
  std::vector<int> uses(graph.values.size(), 0);
  for (const Node& node : graph.nodes)
    for (ValueId id : node.inputs) ++uses.at(index_of(id));
  for (ValueId id : graph.outputs) ++uses.at(index_of(id));
  return uses;
}

std::vector<int> producers(const Graph& graph) {
  std::vector<int> makers(graph.values.size(), -1);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i)
    makers.at(index_of(graph.nodes[i].output)) = static_cast<int>(i);
  return makers;
}

}  // namespace bf
