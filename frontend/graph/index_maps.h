#pragma once

#include <cstdint>
#include <vector>

#include "frontend/graph/graph.h"

namespace bf_aot {

// Flat index into a tensor of shape `from` of each element of `to`, by ONNX (numpy) broadcasting:
// trailing dimensions are aligned, a dimension of 1 repeats.
std::vector<std::int64_t> broadcast_map(const Shape& from, const Shape& to);

// y_i = x_i for all elements of x: a pure reshape.
bool is_identity(const std::vector<std::int64_t>& source, std::int64_t input_count);

// Every element of x is read exactly once.
bool is_permutation(const std::vector<std::int64_t>& source, std::int64_t input_count);

// Every element of x is read at least once.
bool reads_all(const std::vector<std::int64_t>& source, std::int64_t input_count);

// The elements of the largest row.
std::int64_t most_in_row(const LogSoftmax& op);

// The matrix products of MatMul and Gemm on flattened tensors:
//   y[(b m + i) n + j] = sum_k A[a(b, i, k)] B[b(b, k, j)]
struct ProductLayout {
  std::int64_t m = 1, k = 1, n = 1;
  std::vector<std::int64_t> a_offset, b_offset;                   // of each batch entry b
  std::int64_t a_row = 0, a_column = 0, b_row = 0, b_column = 0;  // strides

  std::int64_t batch() const { return static_cast<std::int64_t>(a_offset.size()); }
  std::int64_t a(std::int64_t batch_index, std::int64_t i, std::int64_t l) const {
    return a_offset[static_cast<std::size_t>(batch_index)] + i * a_row + l * a_column;
  }
  std::int64_t b(std::int64_t batch_index, std::int64_t l, std::int64_t j) const {
    return b_offset[static_cast<std::size_t>(batch_index)] + l * b_row + j * b_column;
  }
};

ProductLayout product_layout(const MatMul& op, Shape a, Shape b);
ProductLayout product_layout(const Gemm& op, const Shape& a, const Shape& b);

}  // namespace bf_aot
