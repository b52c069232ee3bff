#include "frontend/import/node_import.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "frontend/model.h"
#include "frontend/shapes.h"

namespace bf {
namespace {

using onnx::AttributeProto;

// Files older than IR version 2 have no type field; then the value's presence tells.
bool has_type(const AttributeProto& attribute, AttributeProto::AttributeType type) {
  if (attribute.has_type()) return attribute.type() == type;
  switch (type) {
    case AttributeProto::FLOAT:
      return attribute.has_f();
    case AttributeProto::INT:
      return attribute.has_i();
    case AttributeProto::INTS:
      return attribute.ints_size() > 0;
    case AttributeProto::FLOATS:
      return attribute.floats_size() > 0;
    case AttributeProto::TENSOR:
      return attribute.has_t();
    default:
      return false;
  }
}

}  // namespace

const std::string& NodeImport::input_name(std::size_t i) const {
  BF_CHECK(has_input(i));
  return node_.input(static_cast<int>(i));
}

bool NodeImport::has_input(std::size_t i) const {
  return i < static_cast<std::size_t>(node_.input_size()) &&
         !node_.input(static_cast<int>(i)).empty();
}

bool NodeImport::has_output(std::size_t i) const {
  return i < static_cast<std::size_t>(node_.output_size()) &&
         !node_.output(static_cast<int>(i)).empty();
}

const IntegerTensor* NodeImport::integers_if_any(std::size_t i) const {
  return std::get_if<IntegerTensor>(&state_.symbols.at(input_name(i)));
}

const IntegerTensor& NodeImport::integers(std::size_t i, std::string_view role) const {
  const IntegerTensor* const found = integers_if_any(i);
  if (found == nullptr)
    fail(
        "BF1018", "",
        fmt::format("the {} '{}' is not a constant integer tensor", role, printable(input_name(i))),
        "export with static shapes, or simplify the model so that it is folded to a constant");
  return *found;
}

const Shape& NodeImport::input_shape(std::size_t i) const {
  const Symbol& symbol = state_.symbols.at(input_name(i));
  if (const auto* integers = std::get_if<IntegerTensor>(&symbol)) return integers->shape;
  return state_.graph.value(state_.real_value(input_name(i))).shape;
}

const AttributeProto* NodeImport::find_attribute(std::string_view name) const {
  for (const AttributeProto& each : node_.attribute())
    if (each.name() == name) return &each;
  return nullptr;
}

const AttributeProto& NodeImport::attribute(std::string_view name,
                                            AttributeProto::AttributeType type) const {
  const AttributeProto* const found = find_attribute(name);
  if (found == nullptr) fail("BF1012", "", fmt::format("attribute '{}' is missing", name));
  if (!has_type(*found, type))
    fail("BF1012", "",
         fmt::format("attribute '{}' must be of type {}", name,
                     AttributeProto::AttributeType_Name(type)));
  return *found;
}

double NodeImport::float_attribute(std::string_view name, double otherwise) const {
  if (!has_attribute(name)) return otherwise;
  const double value = attribute(name, AttributeProto::FLOAT).f();
  if (!std::isfinite(value)) fail("BF1012", "", fmt::format("attribute '{}' is {}", name, value));
  return value;
}

std::int64_t NodeImport::int_attribute(std::string_view name, std::int64_t otherwise) const {
  return has_attribute(name) ? attribute(name, AttributeProto::INT).i() : otherwise;
}

std::optional<std::vector<std::int64_t>> NodeImport::ints_attribute(std::string_view name) const {
  if (!has_attribute(name)) return std::nullopt;
  const auto& ints = attribute(name, AttributeProto::INTS).ints();
  return std::vector<std::int64_t>(ints.begin(), ints.end());
}

void NodeImport::emit(Op op, const std::vector<ValueId>& inputs) {
  std::vector<Shape> shapes;
  shapes.reserve(inputs.size());
  for (ValueId id : inputs) shapes.push_back(state_.graph.value(id).shape);
  const Shape shape = infer_shape(op, shapes);
  emit(std::move(op), inputs, shape);
}

void NodeImport::emit(Op op, const std::vector<ValueId>& inputs, const Shape& shape) {
  const ValueId id = state_.add_value(node_.output(0), shape);
  state_.graph.nodes.push_back({std::move(op), inputs, id, origin_});
  define(0, id);
}

void NodeImport::emit(Tensor constant) {
  if (auto* integers = std::get_if<IntegerTensor>(&constant)) {
    define(0, std::move(*integers));
  } else {
    define(0, PendingLiteral{std::get<Constant>(std::move(constant)), origin_});
  }
}

void NodeImport::define(std::size_t output, Symbol symbol) {
  BF_CHECK(has_output(output));
  state_.symbols[node_.output(static_cast<int>(output))] = std::move(symbol);
}

}  // namespace bf
