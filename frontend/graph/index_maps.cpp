#include "frontend/graph/index_maps.h"

#include <algorithm>

#include "frontend/diagnostic.h"
#include "frontend/graph/shapes.h"

namespace bf_aot {
namespace {

std::vector<bool> elements_read(const std::vector<std::int64_t>& source, std::int64_t input_count) {
  std::vector<bool> read(static_cast<std::size_t>(input_count), false);
  for (std::int64_t i : source) read.at(static_cast<std::size_t>(i)) = true;
  return read;
}

std::vector<std::int64_t> scaled(std::vector<std::int64_t> values, std::int64_t factor) {
  for (std::int64_t& value : values) value *= factor;
  return values;
}

}  // namespace

std::vector<std::int64_t> broadcast_map(const Shape& from, const Shape& to) {
  BF_CHECK(from.size() <= to.size());
  const std::size_t shift = to.size() - from.size();
  std::vector<std::int64_t> stride(to.size(), 0);
  std::int64_t step = 1;
  for (std::size_t d = from.size(); d-- > 0;) {
    BF_CHECK(from[d] == 1 || from[d] == to[shift + d]);
    if (from[d] != 1) stride[shift + d] = step;
    step *= from[d];
  }
  std::vector<std::int64_t> source(static_cast<std::size_t>(element_count(to)));
  std::vector<std::int64_t> position(to.size(), 0);
  std::int64_t at = 0;
  for (std::int64_t& entry : source) {
    entry = at;
    for (std::size_t d = to.size(); d-- > 0;) {  // the next position, odometer-wise
      at += stride[d];
      if (++position[d] < to[d]) break;
      at -= stride[d] * to[d];
      position[d] = 0;
    }
  }
  return source;
}

bool is_identity(const std::vector<std::int64_t>& source, std::int64_t input_count) {
  if (static_cast<std::int64_t>(source.size()) != input_count) return false;
  for (std::size_t i = 0; i < source.size(); ++i)
    if (source[i] != static_cast<std::int64_t>(i)) return false;
  return true;
}

bool reads_all(const std::vector<std::int64_t>& source, std::int64_t input_count) {
  const std::vector<bool> read = elements_read(source, input_count);
  return std::find(read.begin(), read.end(), false) == read.end();
}

bool is_permutation(const std::vector<std::int64_t>& source, std::int64_t input_count) {
  return static_cast<std::int64_t>(source.size()) == input_count && reads_all(source, input_count);
}

std::int64_t most_in_row(const LogSoftmax& op) {
  std::int64_t most = 0;
  for (std::size_t i = 0; i + 1 < op.row_start.size(); ++i)
    most = std::max(most, op.row_start[i + 1] - op.row_start[i]);
  return most;
}

ProductLayout product_layout(const MatMul&, Shape a, Shape b) {
  if (a.size() == 1) a.insert(a.begin(), 1);  // a row
  if (b.size() == 1) b.push_back(1);          // a column
  BF_CHECK(a.size() >= 2 && b.size() >= 2);
  ProductLayout layout;
  layout.m = a[a.size() - 2];
  layout.k = a.back();
  layout.n = b.back();
  BF_CHECK(b[b.size() - 2] == layout.k);
  const Shape a_batch(a.begin(), a.end() - 2);
  const Shape b_batch(b.begin(), b.end() - 2);
  const Shape batch = broadcast_shapes(a_batch, b_batch);
  layout.a_offset = scaled(broadcast_map(a_batch, batch), layout.m * layout.k);
  layout.b_offset = scaled(broadcast_map(b_batch, batch), layout.k * layout.n);
  layout.a_row = layout.k;
  layout.a_column = 1;
  layout.b_row = layout.n;
  layout.b_column = 1;
  return layout;
}

ProductLayout product_layout(const Gemm& op, const Shape& a, const Shape& b) {
  BF_CHECK(a.size() == 2 && b.size() == 2);
  ProductLayout layout;
  layout.m = op.trans_a ? a[1] : a[0];
  layout.k = op.trans_a ? a[0] : a[1];
  layout.n = op.trans_b ? b[0] : b[1];
  BF_CHECK((op.trans_b ? b[1] : b[0]) == layout.k);
  layout.a_offset = layout.b_offset = {0};
  layout.a_row = op.trans_a ? 1 : a[1];
  layout.a_column = op.trans_a ? a[1] : 1;
  layout.b_row = op.trans_b ? 1 : b[1];
  layout.b_column = op.trans_b ? b[1] : 1;
  return layout;
}

}  // namespace bf_aot
