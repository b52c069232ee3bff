#include "frontend/graph/graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

#include "frontend/check_scope.h"
#include "frontend/diagnostic.h"
#include "frontend/graph/checked_data.h"
#include "frontend/graph/shapes.h"

namespace bf_aot {
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
std::string_view name_of(const Unary& op) {
  return name_of(op.function.kind);
}
std::string_view name_of(const Conv& op) {
  return op.geometry.transposed ? "conv_transpose" : "conv";
}
std::string_view name_of(const SparseAffine&) {
  return "sparse_affine";
}
std::string_view name_of(const GroupMax&) {
  return "group_max";
}

std::string_view name_of(const LogSoftmax&) {
  return "log_softmax";
}

std::string_view name_of(const Contraction&) {
  return "contraction";
}

template <class... Constants>
bool are_exact(const Constants&... constants) {
  return (constants.is_exact() && ...);
}

bool has_exact(const Literal& op) {
  return are_exact(op.value);
}
bool has_exact(const MatMul&) {
  return true;
}
bool has_exact(const Gemm&) {
  return true;
}
bool has_exact(const Binary&) {
  return true;
}
bool has_exact(const Relu&) {
  return true;
}
bool has_exact(const IndexMap&) {
  return true;
}
bool has_exact(const Scale& op) {
  return are_exact(op.factor, op.offset);
}
bool has_exact(const Affine& op) {
  return are_exact(op.weight, op.bias);
}
bool has_exact(const Unary&) {
  return true;
}
bool has_exact(const Conv& op) {
  return are_exact(op.weight, op.bias);
}
bool has_exact(const SparseAffine& op) {
  return are_exact(op.value, op.bias);
}
bool has_exact(const GroupMax&) {
  return true;
}
bool has_exact(const LogSoftmax&) {
  return true;
}
bool has_exact(const Contraction&) {
  return true;
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

// y_i = x_i: all of x, or the first elements of it.
bool is_prefix(const std::vector<std::int64_t>& source) {
  for (std::size_t i = 0; i < source.size(); ++i)
    if (source[i] != static_cast<std::int64_t>(i)) return false;
  return true;
}

// print_fields() makes the text that follows an operator's inputs: its attributes.
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
std::string print_fields(const Binary& op) {
  return op.most > 0 ? fmt::format(" at most {}", op.most) : std::string();
}
std::string print_fields(const Relu&) {
  return {};
}
std::string print_fields(const IndexMap& op) {
  if (is_prefix(op.source)) return " identity";
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
std::string print_fields(const Unary& op) {
  std::string text = to_string(op.function);
  text.erase(0, std::min(text.find('('), text.size()));
  return text.empty() ? text : " " + text;
}
std::string print_layout(const ImageLayout& layout, const ImageLayout& usual) {
  if (layout == usual) return {};
  return fmt::format(" strides {} {} {}", layout.batch, layout.channel,
                     fmt::join(layout.spatial, " "));
}
std::string print_fields(const Conv& op) {
  const ConvGeometry& g = op.geometry;
  std::string text =
      fmt::format(" [{} x {}] -> [{} x {}] kernel {}", g.in_channels, fmt::join(g.in_size, " x "),
                  g.out_channels, fmt::join(g.out_size, " x "), fmt::join(g.kernel, " x "));
  if (g.batch != 1) text += fmt::format(" batch {}", g.batch);
  if (g.stride != Extent{1, 1, 1}) text += fmt::format(" stride {}", fmt::join(g.stride, " x "));
  if (g.dilation != Extent{1, 1, 1})
    text += fmt::format(" dilation {}", fmt::join(g.dilation, " x "));
  if (g.pad != Extent{0, 0, 0}) text += fmt::format(" pad {}", fmt::join(g.pad, " x "));
  if (g.groups != 1) text += fmt::format(" groups {}", g.groups);
  const std::string in = print_layout(g.in, dense_layout(g.in_channels, g.in_size));
  const std::string out = print_layout(g.out, dense_layout(g.out_channels, g.out_size));
  if (!in.empty()) text += " in" + in;
  if (!out.empty()) text += " out" + out;
  return text + print_constant("weight", op.weight) + print_constant("bias", op.bias);
}
std::string print_rows(const std::vector<std::int64_t>& row_start,
                       const std::vector<std::int64_t>& elements) {
  const std::size_t rows = row_start.size() - 1;
  if (elements.size() > 2 * kPrintedElements)
    return fmt::format(" [{} rows, {} entries]", rows, elements.size());
  std::string text = " [";
  for (std::size_t i = 0; i < rows; ++i)
    text += fmt::format(
        "{}{{{}}}", i == 0 ? "" : " ",
        fmt::join(elements.begin() + row_start[i], elements.begin() + row_start[i + 1], " "));
  return text + "]";
}
std::string print_fields(const SparseAffine& op) {
  return print_rows(op.row_start, op.column) + print_constant("value", op.value) +
         print_constant("bias", op.bias);
}
std::string print_fields(const GroupMax& op) {
  return print_rows(op.row_start, op.source);
}

std::string print_fields(const LogSoftmax& op) {
  return print_rows(op.row_start, op.source);
}

std::string print_fields(const Contraction& op) {
  return fmt::format(" [{} x {} x {} x {}]", op.batch, op.rows, op.columns, op.sums);
}

std::string print_value(const Graph& graph, ValueId id) {
  const Value& value = graph.value(id);
  return fmt::format("%{} '{}' {}", index_of(id), value.name, to_string(value.shape));
}

void verify_constant(const Constant& constant, CheckedData& data) {
  BF_CHECK(checked_element_count(constant.shape).has_value());
  BF_CHECK(static_cast<std::int64_t>(constant.data.size()) == element_count(constant.shape));
  BF_CHECK(constant.error.empty() || constant.error.size() == constant.data.size());
  if (!data.knows(constant.data))
    for (double x : constant.data) BF_CHECK(std::isfinite(x));
  if (!data.knows(constant.error))
    for (double x : constant.error) BF_CHECK(std::isfinite(x) && x >= 0);
}

void verify_fields(const Literal& op, const std::vector<Shape>&, CheckedData& data) {
  verify_constant(op.value, data);
}
void verify_fields(const MatMul&, const std::vector<Shape>&, CheckedData&) {}
void verify_fields(const Gemm& op, const std::vector<Shape>&, CheckedData&) {
  BF_CHECK(std::isfinite(op.alpha) && std::isfinite(op.beta));
}
void verify_fields(const Binary& op, const std::vector<Shape>&, CheckedData&) {
  BF_CHECK(std::isfinite(op.most) && op.most >= 0);
  BF_CHECK(op.most == 0 || op.kind == Binary::Kind::kMul);
}
void verify_fields(const Relu&, const std::vector<Shape>&, CheckedData&) {}
void verify_fields(const IndexMap& op, const std::vector<Shape>& inputs, CheckedData&) {
  const std::int64_t count = element_count(inputs.at(0));
  for (std::int64_t entry : op.source) BF_CHECK(entry >= 0 && entry < count);
}
void verify_fields(const Scale& op, const std::vector<Shape>&, CheckedData& data) {
  verify_constant(op.factor, data);
  verify_constant(op.offset, data);
}
void verify_fields(const Affine& op, const std::vector<Shape>&, CheckedData& data) {
  verify_constant(op.weight, data);
  verify_constant(op.bias, data);
}
void verify_fields(const Unary& op, const std::vector<Shape>&, CheckedData&) {
  BF_CHECK(!std::isnan(op.function.a) && !std::isnan(op.function.b));
}

// Every element of a tensor of `count` elements is an image element, once.
void verify_layout(const ImageLayout& layout, std::int64_t batch, std::int64_t channels,
                   const Extent& size, std::int64_t count) {
  std::vector<bool> seen(static_cast<std::size_t>(count), false);
  Extent p;
  for (std::int64_t n = 0; n < batch; ++n)
    for (std::int64_t c = 0; c < channels; ++c)
      for (p[0] = 0; p[0] < size[0]; ++p[0])
        for (p[1] = 0; p[1] < size[1]; ++p[1])
          for (p[2] = 0; p[2] < size[2]; ++p[2]) {
            const std::int64_t at = layout.at(n, c, p);
            BF_CHECK(at >= 0 && at < count && !seen[static_cast<std::size_t>(at)]);
            seen[static_cast<std::size_t>(at)] = true;
          }
}
void verify_fields(const Conv& op, const std::vector<Shape>&, CheckedData& data) {
  const ConvGeometry& g = op.geometry;
  for (std::size_t d = 0; d < 3; ++d)
    BF_CHECK(g.in_size[d] > 0 && g.out_size[d] > 0 && g.kernel[d] > 0 && g.stride[d] > 0 &&
             g.dilation[d] > 0);
  BF_CHECK(g.groups > 0 && g.in_channels % g.groups == 0 && g.out_channels % g.groups == 0);
  verify_layout(g.in, g.batch, g.in_channels, g.in_size, g.in_count());
  verify_layout(g.out, g.batch, g.out_channels, g.out_size, g.out_count());
  verify_constant(op.weight, data);
  verify_constant(op.bias, data);
  BF_CHECK(op.weight.shape == (Shape{g.out_channels, g.in_group(), g.taps()}));
  BF_CHECK(op.bias.shape == Shape{g.out_channels});
}

void verify_rows(const std::vector<std::int64_t>& row_start,
                 const std::vector<std::int64_t>& elements, std::int64_t count) {
  BF_CHECK(row_start.size() >= 2 && row_start.front() == 0);
  BF_CHECK(row_start.back() == static_cast<std::int64_t>(elements.size()));
  for (std::size_t i = 1; i < row_start.size(); ++i) BF_CHECK(row_start[i - 1] <= row_start[i]);
  for (std::int64_t element : elements) BF_CHECK(element >= 0 && element < count);
}
void verify_fields(const SparseAffine& op, const std::vector<Shape>& inputs, CheckedData& data) {
  verify_rows(op.row_start, op.column, element_count(inputs.at(0)));
  for (std::size_t i = 0; i + 1 < op.row_start.size(); ++i)
    for (std::int64_t k = op.row_start[i] + 1; k < op.row_start[i + 1]; ++k)
      BF_CHECK(op.column[static_cast<std::size_t>(k) - 1] < op.column[static_cast<std::size_t>(k)]);
  verify_constant(op.value, data);
  verify_constant(op.bias, data);
  BF_CHECK(op.value.data.size() == op.column.size());
  BF_CHECK(op.bias.shape == Shape{op.rows()});
}
void verify_fields(const GroupMax& op, const std::vector<Shape>& inputs, CheckedData&) {
  verify_rows(op.row_start, op.source, element_count(inputs.at(0)));
  for (std::size_t i = 1; i < op.row_start.size(); ++i)
    BF_CHECK(op.row_start[i - 1] < op.row_start[i]);
}

void verify_fields(const LogSoftmax& op, const std::vector<Shape>& inputs, CheckedData&) {
  verify_rows(op.row_start, op.source, element_count(inputs.at(0)));
  std::vector<std::int64_t> last(static_cast<std::size_t>(element_count(inputs.at(0))), -1);
  for (std::int64_t i = 0; i < op.rows(); ++i) {
    const auto row = static_cast<std::size_t>(i);
    BF_CHECK(op.row_start[row] < op.row_start[row + 1]);
    for (std::int64_t k = op.row_start[row]; k < op.row_start[row + 1]; ++k) {
      std::int64_t& seen = last[static_cast<std::size_t>(op.source[static_cast<std::size_t>(k)])];
      BF_CHECK(seen != i);
      seen = i;
    }
  }
}

void verify_fields(const Contraction& op, const std::vector<Shape>& inputs, CheckedData&) {
  BF_CHECK(op.batch > 0 && op.rows > 0 && op.columns > 0 && op.sums > 0);
  const auto check = [&](const std::vector<std::int64_t>& source, std::int64_t rows,
                         std::size_t input) {
    BF_CHECK(static_cast<std::int64_t>(source.size()) == op.batch * rows * op.sums);
    const std::int64_t count = element_count(inputs.at(input));
    for (const std::int64_t i : source) BF_CHECK(i >= 0 && i < count);
  };
  check(op.left, op.rows, 0);
  check(op.right, op.columns, 1);
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

void verify_shape(const Graph& graph, const Node& node, const std::vector<Shape>& inputs) {
  if (std::holds_alternative<Binary>(node.op) && works_on_flattened(graph, node)) return;
  Shape inferred;
  try {
    inferred = infer_shape(node.op, inputs);
  } catch (const CompileError&) {
    BF_CHECK(!"operand shapes agree");
  }
  const Shape& declared = graph.value(node.output).shape;
  if (works_on_flattened(graph, node)) {
    BF_CHECK(element_count(inferred) == element_count(declared));
  } else {
    BF_CHECK(inferred == declared);
  }
}

// `defined`: values that a node may read. Adds the node's output.
void verify_node(const Graph& graph, const Node& node, std::vector<bool>& defined,
                 CheckedData& data) {
  std::vector<Shape> inputs;
  for (ValueId id : node.inputs) {
    BF_CHECK(index_of(id) < graph.values.size());
    BF_CHECK(defined[index_of(id)]);
    inputs.push_back(graph.value(id).shape);
  }
  BF_CHECK(index_of(node.output) < graph.values.size());
  BF_CHECK(!defined[index_of(node.output)]);
  defined[index_of(node.output)] = true;

  verify_shape(graph, node, inputs);
  std::visit([&](const auto& op) { verify_fields(op, inputs, data); }, node.op);
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
  for (; names.values_seen < values.size(); ++names.values_seen)
    names.next_suffix.emplace(values[names.values_seen].name, 2);
  std::string unique = wanted;
  while (!names.next_suffix.emplace(unique, 2).second)
    unique = fmt::format("{}_{}", wanted, names.next_suffix[wanted]++);
  values.push_back({std::move(unique), std::move(shape)});
  ++names.values_seen;
  return static_cast<ValueId>(values.size() - 1);
}

bool works_on_flattened(const Graph& graph, const Node& node) {
  if (works_on_flattened(node.op)) return true;
  if (!std::holds_alternative<Binary>(node.op)) return false;
  const std::int64_t count = element_count(graph.value(node.output).shape);
  return std::all_of(node.inputs.begin(), node.inputs.end(),
                     [&](ValueId id) { return element_count(graph.value(id).shape) == count; });
}

// Importers lay out images before their size is checked: what does not fit 64 bits is the most that
// does, and the tensor is refused.
static std::int64_t saturating_product(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? std::numeric_limits<std::int64_t>::max()
                                                : product;
}

ImageLayout dense_layout(std::int64_t channels, const Extent& size) {
  ImageLayout layout;
  layout.spatial = {saturating_product(size[1], size[2]), size[2], 1};
  layout.channel = saturating_product(size[0], layout.spatial[0]);
  layout.batch = saturating_product(channels, layout.channel);
  return layout;
}

std::string_view op_name(const Op& op) {
  return std::visit([](const auto& each) { return name_of(each); }, op);
}

bool has_exact_constants(const Op& op) {
  return std::visit([](const auto& each) { return has_exact(each); }, op);
}

void verify(const Graph& graph) {
  CheckedData none;
  verify(graph, none);
}

void verify(const Graph& graph, CheckedData& data) {
  verify_values(graph);
  std::vector<bool> defined(graph.values.size(), false);
  for (ValueId id : graph.inputs) {
    BF_CHECK(index_of(id) < graph.values.size());
    BF_CHECK(!defined[index_of(id)]);
    defined[index_of(id)] = true;
  }
  for (const Node& node : graph.nodes) {
    const CheckScope scope("node " + node.origin.text);
    verify_node(graph, node, defined, data);
  }
  if (graph.one_hot.size > 0) {
    std::int64_t elements = 0;
    for (ValueId id : graph.inputs) elements += element_count(graph.value(id).shape);
    BF_CHECK(elements == graph.one_hot.size * static_cast<std::int64_t>(graph.one_hot.ids.size()));
  }
  std::int64_t parts = 0;
  for (const Value& part : graph.input_parts) parts += element_count(part.shape);
  BF_CHECK(
      graph.input_parts.empty() ||
      (graph.inputs.size() == 1 && parts == element_count(graph.value(graph.inputs[0]).shape)));
  BF_CHECK(!graph.outputs.empty());
  for (ValueId id : graph.outputs) {
    BF_CHECK(index_of(id) < graph.values.size());
    BF_CHECK(defined[index_of(id)]);
  }
}

std::string to_string(const Graph& graph) {
  std::string text = fmt::format("graph '{}'\n", graph.name);
  for (ValueId id : graph.inputs) text += fmt::format("  input {}\n", print_value(graph, id));
  if (graph.input_parts.size() > 1)
    for (const Value& part : graph.input_parts)
      text += fmt::format("    of '{}' {}\n", part.name, to_string(part.shape));
  if (graph.one_hot.size > 0)
    text += fmt::format("    one-hot in groups of {}\n", graph.one_hot.size);
  for (const Node& node : graph.nodes) {
    text += fmt::format("  {} = {}", print_value(graph, node.output), op_name(node.op));
    for (std::size_t i = 0; i < node.inputs.size(); ++i)
      text += fmt::format("{} %{}", i == 0 ? "" : ",", index_of(node.inputs[i]));
    const auto* map = std::get_if<IndexMap>(&node.op);
    if (map != nullptr && is_prefix(map->source) &&
        static_cast<std::int64_t>(map->source.size()) !=
            element_count(graph.value(node.inputs[0]).shape)) {
      text += fmt::format(" first {}", map->source.size());
    } else {
      text += std::visit([](const auto& op) { return print_fields(op); }, node.op);
    }
    if (!node.origin.text.empty()) text += "   # " + node.origin.text;
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

}  // namespace bf_aot
