#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "frontend/graph/graph.h"

namespace bf_aot {

// Everything here that can be wrong in a user's model throws CompileError BF1014 with an empty
// `where`, which the importer fills in.

// nullopt: a negative dimension, or more than 2^63 - 1 elements.
std::optional<std::int64_t> checked_element_count(const Shape& shape);

// Elements between neighbours along each dimension, row-major.
std::vector<std::int64_t> row_major_strides(const Shape& shape);

// numpy broadcasting of both shapes against each other.
Shape broadcast_shapes(const Shape& a, const Shape& b);

// Returns true if `from` broadcasts to exactly `to` (ONNX "unidirectional" broadcasting).
bool broadcasts_to(const Shape& from, const Shape& to);

// ---- Output shape of each operator.
//
// Literal, MatMul, Gemm and Binary define their output's shape. All others work on flattened
// tensors: their output may have any shape of as many elements as the result
// here; see works_on_flattened.
Shape infer_shape(const Literal& op, const std::vector<Shape>& inputs);
Shape infer_shape(const MatMul& op, const std::vector<Shape>& inputs);
Shape infer_shape(const Gemm& op, const std::vector<Shape>& inputs);
Shape infer_shape(const Binary& op, const std::vector<Shape>& inputs);
Shape infer_shape(const Relu& op, const std::vector<Shape>& inputs);
Shape infer_shape(const IndexMap& op, const std::vector<Shape>& inputs);
Shape infer_shape(const Scale& op, const std::vector<Shape>& inputs);
Shape infer_shape(const Affine& op, const std::vector<Shape>& inputs);
Shape infer_shape(const Unary& op, const std::vector<Shape>& inputs);
Shape infer_shape(const Conv& op, const std::vector<Shape>& inputs);
Shape infer_shape(const SparseAffine& op, const std::vector<Shape>& inputs);
Shape infer_shape(const GroupMax& op, const std::vector<Shape>& inputs);
Shape infer_shape(const LogSoftmax& op, const std::vector<Shape>& inputs);
Shape infer_shape(const Contraction& op, const std::vector<Shape>& inputs);

// Infers the shape of an operator's output by the overload for its kind.
Shape infer_shape(const Op& op, const std::vector<Shape>& inputs);

// Returns true if the operator sees its input and output as plain vectors.
bool works_on_flattened(const Op& op);

// ---- Data movement, as ONNX defines it.

// Reshape: -1 is what is left over; 0 copies the input's dimension unless allow_zero.
Shape reshape_shape(const Shape& input, const std::vector<std::int64_t>& target, bool allow_zero);

// Flatten to two dimensions; axis in [-rank, rank].
Shape flatten_shape(const Shape& input, std::int64_t axis);

// perm: a permutation of 0..rank-1; output dimension i is input dimension perm[i].
void check_permutation(const std::vector<std::int64_t>& perm, std::size_t rank);
Shape transpose_shape(const Shape& input, const std::vector<std::int64_t>& perm);
std::vector<std::int64_t> transpose_source(const Shape& input,
                                           const std::vector<std::int64_t>& perm);

// axes: nullopt removes every dimension of 1.
Shape squeeze_shape(const Shape& input, const std::optional<std::vector<std::int64_t>>& axes);

// axes count in the output's dimensions.
Shape unsqueeze_shape(const Shape& input, const std::vector<std::int64_t>& axes);

}  // namespace bf_aot
