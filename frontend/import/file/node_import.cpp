#include "frontend/import/file/node_import.h"

#include <fmt/format.h>

#include <cmath>
#include <numeric>
#include <utility>

#include "frontend/graph/model.h"
#include "frontend/graph/shapes.h"
#include "frontend/import/helpers/integer_types.h"

namespace bf_aot {
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
    case AttributeProto::STRINGS:
      return attribute.strings_size() > 0;
    case AttributeProto::STRING:
      return attribute.has_s();
    case AttributeProto::TENSOR:
      return attribute.has_t();
    case AttributeProto::GRAPH:
      return attribute.has_g();
    default:
      return false;
  }
}

}  // namespace

const std::string& NodeImport::input_name(std::size_t i) const {
  if (!has_input(i)) fail("BF1011", "", fmt::format("input {} is left out", i));
  return node_.input(static_cast<int>(i));
}

std::size_t NodeImport::input_count() const {
  auto count = static_cast<std::size_t>(node_.input_size());
  while (count > 0 && !has_input(count - 1)) --count;
  return count;
}

bool NodeImport::has_input(std::size_t i) const {
  return i < static_cast<std::size_t>(node_.input_size()) &&
         !node_.input(static_cast<int>(i)).empty();
}

bool NodeImport::has_output(std::size_t i) const {
  return i < static_cast<std::size_t>(node_.output_size()) &&
         !node_.output(static_cast<int>(i)).empty();
}

std::string NodeImport::output_name(std::size_t i) const {
  return printable(node_.output(static_cast<int>(i)));
}

const IntegerTensor* NodeImport::integers_if_any(std::size_t i) const {
  return std::get_if<IntegerTensor>(&input_symbol(i));
}

std::optional<ReadTokenIds> NodeImport::token_ids_if_any(std::size_t i) const {
  const auto* const id = std::get_if<ValueId>(&input_symbol(i));
  if (id == nullptr) return std::nullopt;
  std::vector<std::int64_t> element;
  const auto found = state_.token_ids.find(state_.moved_from(*id, element));
  if (found == state_.token_ids.end()) return std::nullopt;
  return ReadTokenIds{found->second, std::move(element)};
}

std::string NodeImport::integer_input_if_any(std::size_t i) const {
  const auto* const id = std::get_if<ValueId>(&input_symbol(i));
  if (id == nullptr) return {};
  std::vector<std::int64_t> element;
  const ValueId from = state_.moved_from(*id, element);
  const bool is_input = state_.makers[index_of(from)] < 0;
  return is_input && is_integer_type(state_.types[index_of(from)]) ? state_.graph.value(from).name
                                                                   : std::string();
}

std::string NodeImport::or_given(std::size_t i) const {
  const std::string name = has_input(i) ? integer_input_if_any(i) : std::string();
  if (name.empty()) return {};
  return fmt::format(
      ", or say what it is: --tokens FILE with {{\"tokens\": {{\"{}\": [3]}}}}, one number for "
      "each "
      "element",
      printable(name));
}

const IntegerTensor& NodeImport::integers(std::size_t i, std::string_view role) const {
  const IntegerTensor* const found = integers_if_any(i);
  if (found != nullptr) return *found;
  const auto* const id = std::get_if<ValueId>(&input_symbol(i));
  const std::string scores = id != nullptr ? state_.scores_before(*id) : std::string();
  const std::string way =
      scores.empty()
          ? "export with static shapes, simplify the model so that it is folded to a constant"
          : fmt::format("the inputs decide it by '{0}': ask about that tensor, --output-tensor {0}",
                        scores);
  fail("BF1018", "",
       fmt::format("the {} '{}' is not a constant integer tensor", role, printable(input_name(i))),
       fmt::format("{}{}, or begin behind this node: --input-tensor {}", way, or_given(i),
                   printable(name_)));
}

std::int64_t NodeImport::integer(std::size_t i, std::string_view role) const {
  const IntegerTensor& found = integers(i, role);
  if (found.data.size() != 1)
    fail("BF1014", "",
         fmt::format("the {} has shape {}, not one number", role, to_string(found.shape)));
  return found.data[0];
}

const std::vector<std::int64_t>& NodeImport::list(std::size_t i, std::string_view role) const {
  const IntegerTensor& found = integers(i, role);
  if (found.shape.size() != 1)
    fail("BF1014", "",
         fmt::format("the {} has shape {}, not one dimension", role, to_string(found.shape)));
  return found.data;
}

const Shape& NodeImport::shape_of(const std::string& tensor) const {
  const Symbol& symbol = state_.symbols.at(tensor);
  if (const auto* integers = std::get_if<IntegerTensor>(&symbol)) return integers->shape;
  if (const auto* pending = std::get_if<PendingLiteral>(&symbol)) return pending->value.shape;
  if (const auto* masked = std::get_if<Masked>(&symbol))
    return state_.graph.value(masked->value).shape;
  return state_.graph.value(state_.value(tensor)).shape;
}

ElementType NodeImport::type_of(const std::string& tensor) const {
  const Symbol& symbol = state_.symbols.at(tensor);
  if (const auto* integers = std::get_if<IntegerTensor>(&symbol)) return integers->type;
  if (const auto* pending = std::get_if<PendingLiteral>(&symbol)) return pending->type;
  if (const auto* masked = std::get_if<Masked>(&symbol))
    return state_.types[index_of(masked->value)];
  return state_.types[index_of(state_.value(tensor))];
}

void NodeImport::check_same_types(std::size_t count) const {
  std::optional<std::size_t> real;
  std::optional<std::size_t> integer;
  for (std::size_t i = 0; i < count; ++i)
    if (has_input(i)) (is_integer_type(input_type(i)) ? integer : real) = i;
  if (real && integer)
    fail("BF1019", "",
         fmt::format("'{}' is an integer tensor where a real one is needed",
                     printable(input_name(*integer))),
         "store it as float");
}

const Constant* NodeImport::constant_if_any(std::size_t i) {
  const Symbol& symbol = input_symbol(i);
  if (const auto* pending = std::get_if<PendingLiteral>(&symbol)) return &pending->value;
  if (const auto* integers = std::get_if<IntegerTensor>(&symbol))
    return &converted_.emplace_back(to_constant(*integers));
  return state_.constant(state_.value(input_name(i)));
}

const Constant& NodeImport::constant(std::size_t i, std::string_view role) {
  const Constant* const found = constant_if_any(i);
  if (found == nullptr)
    fail("BF1018", "", fmt::format("the {} '{}' is not a constant", role, printable(input_name(i))),
         "export with constant parameters, or simplify the model so that they are folded" +
             or_given(i));
  return *found;
}

double NodeImport::number(std::size_t i, std::string_view role) {
  const Constant& found = constant(i, role);
  if (found.data.size() != 1)
    fail(
        "BF1014", "",
        fmt::format("the {} has shape {}, but one number is needed", role, to_string(found.shape)));
  if (found.error_at(0) != 0)
    fail("BF1025", "",
         fmt::format("the {} is computed and no exact number: about {}", role, found.data[0]),
         "store it as a constant in the model");
  return found.data[0];
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

bool NodeImport::flag(std::string_view name, bool otherwise) const {
  const std::int64_t value = int_attribute(name, otherwise ? 1 : 0);
  if (value != 0 && value != 1)
    fail("BF1012", "", fmt::format("attribute '{}' is {}, neither 0 nor 1", name, value));
  return value == 1;
}

ElementType NodeImport::type_attribute(std::string_view name, ElementType otherwise) const {
  const std::int64_t value = int_attribute(name, otherwise);
  if (value < 0 || value > onnx::TensorProto::DataType_MAX)
    fail("BF1012", "", fmt::format("attribute '{}' is {}, no element type", name, value));
  return static_cast<ElementType>(value);
}

std::string NodeImport::string_attribute(std::string_view name, std::string_view otherwise) const {
  return has_attribute(name) ? attribute(name, AttributeProto::STRING).s() : std::string(otherwise);
}

std::optional<std::vector<double>> NodeImport::floats_attribute(std::string_view name) const {
  if (!has_attribute(name)) return std::nullopt;
  std::vector<double> values;
  for (float value : attribute(name, AttributeProto::FLOATS).floats()) {
    if (!std::isfinite(value))
      fail("BF1012", "", fmt::format("attribute '{}' holds {}", name, value));
    values.push_back(value);
  }
  return values;
}

std::optional<std::vector<std::string>> NodeImport::strings_attribute(std::string_view name) const {
  if (!has_attribute(name)) return std::nullopt;
  const auto& strings = attribute(name, AttributeProto::STRINGS).strings();
  return std::vector<std::string>(strings.begin(), strings.end());
}

std::optional<std::vector<std::int64_t>> NodeImport::ints_attribute(std::string_view name) const {
  if (!has_attribute(name)) return std::nullopt;
  const auto& ints = attribute(name, AttributeProto::INTS).ints();
  return std::vector<std::int64_t>(ints.begin(), ints.end());
}

const std::vector<bool>* NodeImport::hidden(std::size_t i) const {
  if (!has_input(i)) return nullptr;
  const auto found = state_.hidden.find(input_name(i));
  return found == state_.hidden.end() ? nullptr : &found->second;
}

Body NodeImport::body(std::string_view name) const {
  return {&attribute(name, AttributeProto::GRAPH).g(), false, {}, {}};
}

const Sequence* NodeImport::sequence_if_any(std::size_t i) const {
  return std::get_if<Sequence>(&input_symbol(i));
}

bool NodeImport::is_unavailable(std::size_t i) const {
  return std::holds_alternative<Unavailable>(input_symbol(i));
}

const Sequence& NodeImport::sequence(std::size_t i) const {
  const Sequence* const found = sequence_if_any(i);
  if (found == nullptr)
    fail("BF1019", "", fmt::format("'{}' is no sequence", printable(input_name(i))));
  return *found;
}

void NodeImport::check_body(const Body& body, std::size_t inputs, std::size_t outputs) const {
  const auto check = [](int actual, std::size_t expected, std::string_view what) {
    if (static_cast<std::size_t>(actual) != expected)
      fail("BF1011", "", fmt::format("its body has {} {}, not {}", actual, what, expected));
  };
  check(body.graph->input_size(), inputs, "inputs");
  check(body.graph->output_size(), outputs, "outputs");
}

std::string NodeImport::add_tensor(const std::string& word, Symbol symbol) {
  std::string name = state_.bodies->fresh_name(word);
  state_.symbols.insert_or_assign(name, std::move(symbol));
  return name;
}

void NodeImport::emit_tensor(std::size_t output, const std::string& tensor) {
  const Symbol& symbol = state_.symbols.at(tensor);
  if (const auto* value = std::get_if<ValueId>(&symbol)) {
    set_output_type(type_of(tensor));
    emit(output, *value);
  } else {
    define(output, Symbol(symbol));
  }
}

ElementType NodeImport::output_type() const {
  if (output_type_) return *output_type_;
  return has_input(0) ? input_type(0) : ElementType{onnx::TensorProto::FLOAT};
}

Shape NodeImport::inferred_shape(const Op& op, const std::vector<ValueId>& inputs) const {
  std::vector<Shape> shapes;
  shapes.reserve(inputs.size());
  for (ValueId id : inputs) shapes.push_back(shape_of(id));
  return infer_shape(op, shapes);
}

ValueId NodeImport::add(Op op, const std::vector<ValueId>& inputs) {
  const Shape shape = inferred_shape(op, inputs);
  return add(std::move(op), inputs, shape);
}

ValueId NodeImport::add(Op op, const std::vector<ValueId>& inputs, const Shape& shape) {
  return state_.add_node(std::move(op), inputs, fmt::format("{}/{}", name_, op_name(op)), shape,
                         output_type(), origin_);
}

bool NodeImport::fits_output_type(ValueId id) {
  return holds(reach_of_type(output_type()), integer_reach(state_, id));
}

void NodeImport::emit(Op op, const std::vector<ValueId>& inputs) {
  const Shape shape = inferred_shape(op, inputs);
  emit(std::move(op), inputs, shape);
}

void NodeImport::emit(Op op, const std::vector<ValueId>& inputs, const Shape& shape) {
  define(0, state_.add_node(std::move(op), inputs, node_.output(0), shape, output_type(), origin_));
}

// A value made for this node takes the output's name; one that was there before is copied.
void NodeImport::emit(std::size_t output, ValueId value) {
  const std::string& name = node_.output(static_cast<int>(output));
  if (index_of(value) < first_value_) {
    const Shape shape = shape_of(value);
    IndexMap copy;
    reader().charge(shape, "");
    copy.source.resize(static_cast<std::size_t>(element_count(shape)));
    std::iota(copy.source.begin(), copy.source.end(), 0);
    value = state_.add_node(std::move(copy), {value}, name, shape, output_type(), origin_);
  } else {
    state_.rename(value, name);
    state_.types[index_of(value)] = output_type();
  }
  define(output, value);
}

void NodeImport::emit(Tensor constant) {
  emit(0, std::move(constant));
}

void NodeImport::emit(std::size_t output, Tensor constant) {
  if (auto* integers = std::get_if<IntegerTensor>(&constant)) {
    define(output, std::move(*integers));
  } else {
    const ElementType type =
        is_integer_type(output_type()) ? ElementType{onnx::TensorProto::FLOAT} : output_type();
    define(output, state_.constant_symbol(node_.output(static_cast<int>(output)),
                                          std::get<Constant>(std::move(constant)), type, origin_));
  }
}

void NodeImport::define(std::size_t output, Symbol symbol) {
  BF_CHECK(has_output(output));
  state_.symbols[node_.output(static_cast<int>(output))] = std::move(symbol);
}

}  // namespace bf_aot
