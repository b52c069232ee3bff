#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "frontend/graph/index_maps.h"
#include "frontend/graph/model.h"
#include "frontend/graph/shapes.h"
#include "frontend/import/helpers/builder.h"
#include "frontend/import/helpers/importing.h"
#include "frontend/import/operators/operators.h"

// Branches and loops. A condition that is known chooses; loops are unrolled. Tensors are names of
// symbols, as bodies have them.

namespace bf_aot {
namespace {

using onnx::TensorProto;
using Tensors = std::vector<std::string>;

// The single truth value that a tensor is known to hold; nullopt: the inputs decide.
std::optional<bool> truth_of(const NodeImport& node, const std::string& tensor,
                             std::string_view role) {
  if (node.type_of(tensor) != TensorProto::BOOL)
    fail("BF1019", "", fmt::format("the {} is not a truth value", role));
  if (element_count(node.shape_of(tensor)) != 1)
    fail("BF1014", "",
         fmt::format("the {} has shape {}, not one truth value", role,
                     to_string(node.shape_of(tensor))));
  const IntegerTensor* const known = node.integers_if_any(tensor);
  if (known == nullptr) return std::nullopt;
  return known->data[0] != 0;
}

// ---- If

// c a + (1 - c) b, where the condition c is 0 or 1. The branch that is not taken is bounded, too.
void emit_joined(NodeImport& node, std::size_t output, ValueId condition, const std::string& a,
                 const std::string& b) {
  const Shape shape = node.shape_of(a);
  if (node.shape_of(b) != shape)
    fail("BF1014", "",
         fmt::format("its condition is computed, and output {} has shape {} or {}", output,
                     to_string(shape), to_string(node.shape_of(b))),
         "branches of one shape are bounded together; make the condition a constant");
  const ElementType type = node.type_of(a);
  if (node.type_of(b) != type)
    fail("BF1019", "", fmt::format("the branches differ in the type of output {}", output));
  node.set_output_type(type);
  const ValueId then_part = add_binary(node, Binary::Kind::kMul, condition, node.value(a));
  const ValueId else_part =
      add_binary(node, Binary::Kind::kMul, add_scale(node, condition, -1, 1), node.value(b));
  node.emit(output, add_binary(node, Binary::Kind::kAdd, then_part, else_part));
}

void import_if(NodeImport& node) {
  Body then_body = node.body("then_branch");
  Body else_body = node.body("else_branch");
  const std::size_t outputs = node.output_count();
  node.check_body(then_body, 0, outputs);
  node.check_body(else_body, 0, outputs);
  const std::optional<bool> known = truth_of(node, node.tensor(0), "condition");
  if (known) {
    const Tensors results = node.import_body(*known ? then_body : else_body, {}, -1);
    for (std::size_t i = 0; i < outputs; ++i)
      if (node.has_output(i)) node.emit_tensor(i, results[i]);
    return;
  }
  const Tensors a = node.import_body(then_body, {}, -1);
  const Tensors b = node.import_body(else_body, {}, -1);
  node.set_output_type(TensorProto::BOOL);
  const ValueId condition = add_reshape(node, node.input(0), {});
  for (std::size_t i = 0; i < outputs; ++i)
    if (node.has_output(i)) emit_joined(node, i, condition, a[i], b[i]);
}

// ---- Slices of tensors and stacks of them, for steps

// The elements [.., index, ..] of an axis, which the result lacks.
std::string slice(NodeImport& node, const std::string& tensor, std::size_t axis,
                  std::int64_t index) {
  Shape shape = node.shape_of(tensor);
  const std::int64_t stride = row_major_strides(shape)[axis];
  const std::int64_t length = shape[axis];
  shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(axis));
  node.reader().charge(shape, "");
  std::vector<std::int64_t> source;
  for (std::int64_t i = 0; i < element_count(shape); ++i)
    source.push_back(i / stride * stride * length + index * stride + i % stride);
  if (const IntegerTensor* const whole = node.integers_if_any(tensor)) {
    IntegerTensor part{shape, {}, whole->type};
    for (const std::int64_t i : source)
      part.data.push_back(whole->data[static_cast<std::size_t>(i)]);
    return node.add_tensor("slice", std::move(part));
  }
  node.set_output_type(node.type_of(tensor));
  const ValueId value = node.value(tensor);
  return node.add_tensor("slice", node.add(IndexMap{std::move(source)}, {value}, shape));
}

// The tensors side by side along a new axis.
std::string stack(NodeImport& node, const Tensors& parts, std::int64_t axis_given) {
  if (parts.empty()) fail("BF1014", "", "a loop of no steps makes an output without elements");
  const Shape part = node.shape_of(parts[0]);
  const ElementType type = node.type_of(parts[0]);
  const std::size_t axis = checked_axis(axis_given, part.size() + 1);
  bool all_integers = true;
  for (const std::string& each : parts) {
    if (node.shape_of(each) != part)
      fail("BF1014", "",
           fmt::format("steps of a loop make an output of shapes {} and {}", to_string(part),
                       to_string(node.shape_of(each))));
    all_integers = all_integers && node.integers_if_any(each) != nullptr;
  }
  Shape shape = part;
  const auto count = static_cast<std::int64_t>(parts.size());
  shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(axis), count);
  node.reader().charge(shape, "");
  const std::int64_t stride = row_major_strides(shape)[axis];
  const std::int64_t size = element_count(part);
  std::vector<std::int64_t> source;  // in the parts, one after the other
  for (std::int64_t i = 0; i < element_count(shape); ++i)
    source.push_back(i / stride % count * size + i / (stride * count) * stride + i % stride);
  node.set_output_type(type);
  if (all_integers) {
    IntegerTensor all{shape, {}, type};
    for (const std::int64_t i : source)
      all.data.push_back(node.integers_if_any(parts[static_cast<std::size_t>(i / size)])
                             ->data[static_cast<std::size_t>(i % size)]);
    return node.add_tensor("stack", std::move(all));
  }
  std::vector<ValueId> values;
  for (const std::string& each : parts) values.push_back(node.value(each));
  return node.add_tensor("stack", add_selection(node, values, source, shape));
}

// ---- Loop

// Says what to do where input i of the node decides how often it runs.
std::string fixed_steps(const NodeImport& node, std::size_t i) {
  return "export with a fixed number of steps, so that the loop can be unrolled" + node.or_given(i);
}

void import_loop(NodeImport& node) {
  Body body = node.body("body");
  const std::size_t carried = std::max<std::size_t>(node.input_count(), 2) - 2;
  const auto outputs = static_cast<std::size_t>(body.graph->output_size());
  node.check_body(body, carried + 2, std::max(outputs, carried + 1));
  if (node.output_count() > outputs - 1)
    fail("BF1011", "",
         fmt::format("{} outputs, but its body makes {}", node.output_count(), outputs - 1));
  std::int64_t most = std::numeric_limits<std::int64_t>::max();
  if (node.has_input(0)) {
    if (node.integers_if_any(0) == nullptr)
      fail("BF1018", "",
           fmt::format("its trip count '{}' is not a constant", printable(node.tensor(0))),
           fixed_steps(node, 0));
    most = node.integer(0, "trip count");
  }
  bool goes_on = true;
  if (node.has_input(1)) {
    const std::optional<bool> known = truth_of(node, node.tensor(1), "condition");
    if (!known)
      fail("BF1018", "", "the inputs decide whether it runs at all", fixed_steps(node, 1));
    goes_on = *known;
  }
  const std::string yes = node.add_tensor("true", IntegerTensor{{}, {1}, TensorProto::BOOL});
  Tensors state;
  for (std::size_t i = 0; i < carried; ++i) state.push_back(node.tensor(i + 2));
  std::vector<Tensors> scanned(outputs - 1 - carried);
  for (std::int64_t step = 0; step < most && goes_on; ++step) {
    Tensors inputs = {node.add_tensor("step", IntegerTensor{{}, {step}, TensorProto::INT64}), yes};
    inputs.insert(inputs.end(), state.begin(), state.end());
    const Tensors results = node.import_body(body, inputs, step);
    for (std::size_t i = 0; i < carried; ++i) state[i] = results[i + 1];
    for (std::size_t i = 0; i < scanned.size(); ++i) scanned[i].push_back(results[i + 1 + carried]);
    const std::optional<bool> known = truth_of(node, results[0], "condition");
    if (!known && step + 1 < most)
      fail("BF1018", "", fmt::format("the inputs decide whether it goes on after step {}", step),
           fixed_steps(node, 1));
    goes_on = known.value_or(true);
  }
  for (std::size_t i = 0; i < node.output_count(); ++i)
    if (node.has_output(i))
      node.emit_tensor(i, i < carried ? state[i] : stack(node, scanned[i - carried], 0));
}

// ---- Scan

// Numbers of an attribute for each of `count` tensors; 0 where it is not given.
std::vector<std::int64_t> for_each_tensor(const NodeImport& node, std::string_view attribute,
                                          std::size_t count) {
  const auto given = node.ints_attribute(attribute);
  if (given && given->size() != count)
    fail("BF1012", "",
         fmt::format("attribute '{}' has {} numbers, not {}", attribute, given->size(), count));
  return given.value_or(std::vector<std::int64_t>(count, 0));
}

// A Scan's numbers of tensors, and how it goes along them. Of operator set 8 it has a batch, whose
// elements are scanned one after the other.
struct ScanForm {
  std::size_t states = 0, scanned = 0, made = 0;
  std::vector<std::int64_t> axes, backward, made_axes, made_backward;
};

// Returns the last states and what the steps made, stacked.
Tensors scan(NodeImport& node, Body& body, const ScanForm& form, Tensors state,
             const Tensors& scanned) {
  std::int64_t steps = 0;
  std::vector<std::size_t> axes;
  for (std::size_t i = 0; i < form.scanned; ++i) {
    const Shape shape = node.shape_of(scanned[i]);
    axes.push_back(checked_axis(form.axes[i], shape.size()));
    const std::int64_t length = shape[axes[i]];
    if (i > 0 && length != steps)
      fail("BF1014", "", fmt::format("its inputs have {} and {} steps", steps, length));
    steps = length;
  }
  std::vector<Tensors> made(form.made);
  for (std::int64_t step = 0; step < steps; ++step) {
    Tensors inputs = state;
    for (std::size_t i = 0; i < form.scanned; ++i)
      inputs.push_back(
          slice(node, scanned[i], axes[i], form.backward[i] != 0 ? steps - 1 - step : step));
    const Tensors results = node.import_body(body, inputs, step);
    for (std::size_t i = 0; i < form.states; ++i) state[i] = results[i];
    for (std::size_t i = 0; i < form.made; ++i) made[i].push_back(results[form.states + i]);
  }
  for (std::size_t i = 0; i < form.made; ++i) {
    if (form.made_backward[i] != 0) std::reverse(made[i].begin(), made[i].end());
    state.push_back(stack(node, made[i], form.made_axes[i]));
  }
  return state;
}

void import_scan(NodeImport& node) {
  constexpr std::int64_t kWithoutBatch = 9;
  const bool batched = node.opset() < kWithoutBatch;
  const std::size_t first = batched ? 1 : 0;
  if (batched && node.has_input(0))
    fail("BF1026", "", "sequence lengths of Scan are not supported", "pad the sequences instead");
  Body body = node.body("body");
  const std::size_t inputs = node.input_count() - std::min(node.input_count(), first);
  const std::int64_t scanned = node.int_attribute("num_scan_inputs", 0);
  if (scanned < 1 || static_cast<std::size_t>(scanned) > inputs)
    fail("BF1012", "", fmt::format("attribute 'num_scan_inputs' is {} of {}", scanned, inputs));
  ScanForm form;
  form.scanned = static_cast<std::size_t>(scanned);
  form.states = inputs - form.scanned;
  const std::size_t outputs = std::max(node.output_count(), form.states);
  node.check_body(body, inputs, outputs);
  form.made = outputs - form.states;
  form.axes = for_each_tensor(node, "scan_input_axes", form.scanned);
  form.backward =
      for_each_tensor(node, batched ? "directions" : "scan_input_directions", form.scanned);
  form.made_axes = for_each_tensor(node, "scan_output_axes", form.made);
  form.made_backward = for_each_tensor(node, "scan_output_directions", form.made);
  Tensors given;
  for (std::size_t i = 0; i < inputs; ++i) given.push_back(node.tensor(first + i));
  Tensors results;
  if (!batched) {
    const auto begin = given.begin() + static_cast<std::ptrdiff_t>(form.states);
    results = scan(node, body, form, {given.begin(), begin}, {begin, given.end()});
  } else {
    std::vector<Tensors> by_output(outputs);
    const Shape shape = node.shape_of(given[0]);
    const std::int64_t batch = shape.empty() ? 0 : shape[0];
    for (const std::string& each : given)
      if (node.shape_of(each).empty() || node.shape_of(each)[0] != batch)
        fail("BF1014", "", "its inputs differ in the size of the batch");
    for (std::int64_t b = 0; b < batch; ++b) {
      Tensors of_batch;
      for (const std::string& each : given) of_batch.push_back(slice(node, each, 0, b));
      const auto begin = of_batch.begin() + static_cast<std::ptrdiff_t>(form.states);
      const Tensors made =
          scan(node, body, form, {of_batch.begin(), begin}, {begin, of_batch.end()});
      for (std::size_t i = 0; i < made.size(); ++i) by_output[i].push_back(made[i]);
    }
    for (const Tensors& parts : by_output) results.push_back(stack(node, parts, 0));
  }
  for (std::size_t i = 0; i < node.output_count(); ++i)
    if (node.has_output(i)) node.emit_tensor(i, results[i]);
}

}  // namespace

OperatorRows control_operators() {
  static constexpr OperatorImporter kRows[] = {
      {"If", import_if, 1, 1, kVariadic, {"then_branch", "else_branch"}, {}, true},
      {"Loop", import_loop, 0, kVariadicOptional, kVariadic, {"body"}, {}, true},
      {"Scan",
       import_scan,
       0,
       kVariadicOptional,
       kVariadic,
       {"body", "directions", "num_scan_inputs", "scan_input_axes", "scan_input_directions",
        "scan_output_axes", "scan_output_directions"},
       {},
       true},
  };
  return kRows;
}

}  // namespace bf_aot
