#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

#include "frontend/functions/function.h"
#include "frontend/graph/constant.h"
#include "frontend/graph/origin.h"

namespace bf_aot {

enum class ValueId : std::uint32_t {};

constexpr std::size_t index_of(ValueId id) {
  return static_cast<std::size_t>(id);
}

// ---- Operators. Import makes every kind; after normalisation only those marked (normal) remain.

// The value of an initializer or a Constant node.
struct Literal {
  Constant value;
  bool operator==(const Literal&) const = default;
};

// y = A B as ONNX MatMul defines it (batched, broadcast). Inputs: A, B.
struct MatMul {
  bool operator==(const MatMul&) const = default;
};

// y = alpha op(A) op(B) + beta C. Inputs: A, B and, when present, C.
struct Gemm {
  double alpha = 1;
  double beta = 1;
  bool trans_a = false;
  bool trans_b = false;
  bool operator==(const Gemm&) const = default;
};

// y = a (+ - * /) b with ONNX (numpy) broadcasting. Inputs: a, b. When a, b and y have equally many
// elements, broadcasting repeats none, and the operator works on flattened tensors of any shapes.
// (normal) Sums and products of two such tensors.
struct Binary {
  enum class Kind : std::uint8_t { kAdd, kSub, kMul, kDiv };
  Kind kind = Kind::kAdd;
  double most = 0;  // of products: |y_i| is at most so much, for all inputs; 0: nothing is known
  bool operator==(const Binary&) const = default;
};

// (normal) y = max(x, 0), elementwise.
struct Relu {
  bool operator==(const Relu&) const = default;
};

// (normal) y_i = f(x_i), elementwise.
struct Unary {
  Function function;
  bool operator==(const Unary&) const = default;
};

// (normal) Data movement: y_i = x_{source_i} on flattened tensors, one entry per output element.
// From Reshape, Flatten, Transpose, Squeeze, Unsqueeze, Identity, Dropout. A pure reshape has
// `source` = 0, 1, 2, ...
struct IndexMap {
  std::vector<std::int64_t> source;
  bool operator==(const IndexMap&) const = default;
};

// (normal) y_i = factor_i x_i + offset_i, elementwise. factor, offset: as many elements as x.
// From Add, Sub, Mul, Div with a constant operand, when no Affine is near enough to absorb it.
struct Scale {
  Constant factor;
  Constant offset;
  bool operator==(const Scale&) const = default;
};

// (normal) y = W x + b on flattened tensors. weight: [out, in], bias: [out].
// From Gemm, MatMul, and whatever was folded into them.
struct Affine {
  Constant weight;
  Constant bias;
  bool operator==(const Affine&) const = default;
};

// The places of an image's elements in a flat tensor: element (n, c, z, y, x) is at
//   offset + n batch + c channel + z spatial[0] + y spatial[1] + x spatial[2].
struct ImageLayout {
  std::int64_t offset = 0;
  std::int64_t batch = 0;
  std::int64_t channel = 0;
  std::array<std::int64_t, 3> spatial = {};

  std::int64_t at(std::int64_t n, std::int64_t c, const std::array<std::int64_t, 3>& p) const {
    return offset + n * batch + c * channel + p[0] * spatial[0] + p[1] * spatial[1] +
           p[2] * spatial[2];
  }
  bool operator==(const ImageLayout&) const = default;
};

// Three spatial dimensions; those that a convolution does not have are 1 with kernel 1.
using Extent = std::array<std::int64_t, 3>;

// The geometry of a convolution over the small side's positions p and kernel taps t:
//   Conv:           out(n, o, p) += weight[o][i][t] in(n, i, p stride - pad + t dilation)
//   transposed:     out(n, o, q stride - pad + t dilation) += weight[o][i][t] in(n, i, q)
// where the group of o holds i, and positions outside of the image are left out.
struct ConvGeometry {
  std::int64_t batch = 1;
  std::int64_t groups = 1;
  std::int64_t in_channels = 1;
  std::int64_t out_channels = 1;
  Extent in_size = {1, 1, 1};
  Extent out_size = {1, 1, 1};
  Extent kernel = {1, 1, 1};
  Extent stride = {1, 1, 1};
  Extent dilation = {1, 1, 1};
  Extent pad = {0, 0, 0};  // at the beginning of each dimension; sizes say the rest
  bool transposed = false;
  ImageLayout in, out;  // any strides: transposed images need no copies

  std::int64_t in_group() const { return in_channels / groups; }
  std::int64_t out_group() const { return out_channels / groups; }
  std::int64_t taps() const { return kernel[0] * kernel[1] * kernel[2]; }
  std::int64_t in_count() const {
    return batch * in_channels * in_size[0] * in_size[1] * in_size[2];
  }
  std::int64_t out_count() const {
    return batch * out_channels * out_size[0] * out_size[1] * out_size[2];
  }
  bool operator==(const ConvGeometry&) const = default;
};

// Row-major layouts [n][c][z][y][x] for the geometry's sizes.
ImageLayout dense_layout(std::int64_t channels, const Extent& size);

// (normal) Convolution or transposed convolution. The layouts cover all elements of both tensors,
// each once. weight: [out_channels][in_group][taps], whatever the direction; bias: [out_channels].
struct Conv {
  ConvGeometry geometry;
  Constant weight;
  Constant bias;
  bool operator==(const Conv&) const = default;
};

// (normal) y_i = sum of value_k x_{column_k} for row_start_i <= k < row_start_{i + 1}, + bias_i.
// Columns rise within a row. From pooling, reductions, Resize, Concat, Pad, Slice, differences.
struct SparseAffine {
  std::vector<std::int64_t> row_start;  // one more than rows
  std::vector<std::int64_t> column;
  Constant value;  // [column.size()]
  Constant bias;   // [rows]
  std::int64_t rows() const { return static_cast<std::int64_t>(row_start.size()) - 1; }
  bool operator==(const SparseAffine&) const = default;
};

// (normal) y_i = the largest x_{source_k}, row_start_i <= k < row_start_{i + 1}; no row is empty.
struct GroupMax {
  std::vector<std::int64_t> row_start;
  std::vector<std::int64_t> source;
  std::int64_t rows() const { return static_cast<std::int64_t>(row_start.size()) - 1; }
  bool operator==(const GroupMax&) const = default;
};

// (normal) y_k = x_{source_k} - ln sum_j exp(x_{source_j}), row_start_i <= j, k < row_start_{i +
// 1}: the logarithm of the softmax of each row, one row after the other. No row is empty, and none
// has an element twice.
struct LogSoftmax {
  std::vector<std::int64_t> row_start;
  std::vector<std::int64_t> source;
  std::int64_t rows() const { return static_cast<std::int64_t>(row_start.size()) - 1; }
  bool operator==(const LogSoftmax&) const = default;
};

// (normal) Products of matrices of two computed tensors, in batches:
//   y[(b rows + i) columns + j] = sum_l A[left_(b rows + i, l)] B[right_(b columns + j, l)]
// where left: [batch rows][sums], right: [batch columns][sums].
struct Contraction {
  std::int64_t batch = 1, rows = 1, columns = 1, sums = 1;
  std::vector<std::int64_t> left, right;
  std::int64_t count() const { return batch * rows * columns; }
  bool operator==(const Contraction&) const = default;
};

using Op = std::variant<Literal, MatMul, Gemm, Binary, Relu, IndexMap, Scale, Affine, Unary, Conv,
                        SparseAffine, GroupMax, LogSoftmax, Contraction>;

struct Value {
  std::string name;  // the ONNX tensor's name; unique within a graph
  Shape shape;
  bool operator==(const Value&) const = default;
};

struct Node {
  Op op;
  std::vector<ValueId> inputs;
  ValueId output;
  Origin origin;
  bool operator==(const Node&) const = default;
};

// The inputs of a graph that reads token ids: one of the ids stands at each position.
struct OneHot {
  // The inputs' elements are groups of so many, one group a position: the element of the id that
  // stands there is 1, the others of the group are 0. No other inputs count. 0: the inputs are not
  // one-hot, each element varies by itself.
  std::int64_t size = 0;
  // Holds the ids of each group's elements, of which the last ones may have none.
  std::vector<std::vector<std::int64_t>> ids;
  bool operator==(const OneHot&) const = default;
};

// The names of a graph's values, for add_value alone: no part of what a graph is.
struct NameIndex {
  std::unordered_map<std::string, int> next_suffix;  // of each name that is taken
  std::size_t values_seen = 0;
  bool operator==(const NameIndex&) const { return true; }
};

// A network: nodes in topological order, each value made by one node or an input.
// Values that nobody makes or reads may linger after a pass until remove_dead_nodes.
struct Graph {
  std::string name;              // of the ONNX graph; may be empty
  std::vector<Value> values;     // indexed by ValueId
  std::vector<Node> nodes;       // topological order
  std::vector<ValueId> inputs;   // without initializers
  std::vector<ValueId> outputs;  // order and count never change
  // (normal) The model's inputs, one after the other in inputs[0], which join_inputs made of them;
  // their values may no longer be read. Empty before.
  std::vector<Value> input_parts;
  OneHot one_hot;
  int networks = 1;  // that merge_graphs() made it of
  // The last output holds values that a specification reads alone: fold_output_spec() leaves it
  // out.
  bool derived_output = false;
  NameIndex names;
  // No evaluation in float32 overflows for inputs of at most this magnitude; infinite in real
  // arithmetic. See find_float32_reach().
  double float32_reach = std::numeric_limits<double>::infinity();

  const Value& value(ValueId id) const { return values.at(index_of(id)); }
  ValueId add_value(std::string name, Shape shape);  // makes the name unique

  bool operator==(const Graph&) const = default;
};

// Facts about the file that a graph came from.
struct ModelInfo {
  std::string file_name;  // without folders
  std::string sha256;     // of the file's bytes, hex
  std::string producer;   // "pytorch 1.13.1"; may be empty
  std::int64_t ir_version = 0;
  std::int64_t opset = 0;
  std::map<std::string, std::string> operators = {};  // type -> the first node of it: "Gemm 'fc1'"
  bool narrow = false;                                // some tensor is float16 or bfloat16
  bool operator==(const ModelInfo&) const = default;
};

// Returns true if the node sees its tensors as plain vectors: only their element counts matter.
bool works_on_flattened(const Graph& graph, const Node& node);

// The operator's name as printed in dumps: "affine", "relu", ...
std::string_view op_name(const Op& op);

// Returns whether all constants of the operator are known exactly.
bool has_exact_constants(const Op& op);

// Aborts when the graph is malformed (our bug): single assignment, topological order, shapes that
// agree with infer_shape, finite constants, maps in range, outputs made. Run after every pass.
void verify(const Graph& graph);

// Compact text, one node a line: "%2 'h1' [1, 50] = affine %1 [50 x 5]   # Gemm 'fc1'"
// Constants of up to 8 elements are printed in full.
std::string to_string(const Graph& graph);

// Number of readers of each value, graph outputs counted as readers; indexed by ValueId.
std::vector<int> count_uses(const Graph& graph);

// index into graph.nodes of the node that makes each value; -1 for inputs and unmade values.
std::vector<int> producers(const Graph& graph);

}  // namespace bf_aot
