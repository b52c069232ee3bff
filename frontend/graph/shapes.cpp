#include "frontend/graph/shapes.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "frontend/diagnostic.h"

namespace bf_aot {
namespace {

[[noreturn]] void bad_shape(std::string message, std::string hint = {}) {
  fail("BF1014", "", std::move(message), std::move(hint));
}

void expect_inputs(const std::vector<Shape>& inputs, std::size_t least, std::size_t most) {
  BF_CHECK(inputs.size() >= least && inputs.size() <= most);
}

// The axis counted from the front; `what` names the attribute in the message.
std::size_t normalize_axis(std::int64_t axis, std::size_t rank) {
  const auto signed_rank = static_cast<std::int64_t>(rank);
  if (axis < -signed_rank || axis >= signed_rank)
    bad_shape(fmt::format("axis {} is out of range for {} dimensions", axis, rank));
  return static_cast<std::size_t>(axis < 0 ? axis + signed_rank : axis);
}

// Flags by dimension, true where `axes` lists it.
std::vector<bool> mark_axes(const std::vector<std::int64_t>& axes, std::size_t rank) {
  std::vector<bool> marked(rank, false);
  for (std::int64_t axis : axes) {
    const std::size_t i = normalize_axis(axis, rank);
    if (marked[i]) bad_shape(fmt::format("axis {} is listed twice", axis));
    marked[i] = true;
  }
  return marked;
}

}  // namespace

std::optional<std::int64_t> checked_element_count(const Shape& shape) {
  std::int64_t count = 1;
  bool empty = false;
  for (std::int64_t dim : shape) {
    if (dim < 0) return std::nullopt;
    if (dim == 0) {
      empty = true;  // not a factor: what follows must not hide an overflow before it
    } else if (__builtin_mul_overflow(count, dim, &count)) {
      return std::nullopt;
    }
  }
  return empty ? 0 : count;
}

std::vector<std::int64_t> row_major_strides(const Shape& shape) {
  std::vector<std::int64_t> strides(shape.size(), 1);
  for (std::size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * shape[i];
  return strides;
}

Shape broadcast_shapes(const Shape& a, const Shape& b) {
  Shape result(std::max(a.size(), b.size()));
  for (std::size_t i = 0; i < result.size(); ++i) {  // i counts from the last dimension
    const std::int64_t dim_a = i < a.size() ? a[a.size() - 1 - i] : 1;
    const std::int64_t dim_b = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (dim_a != dim_b && dim_a != 1 && dim_b != 1)
      bad_shape(
          fmt::format("operands of shape {} and {} do not broadcast", to_string(a), to_string(b)));
    result[result.size() - 1 - i] = dim_a == 1 ? dim_b : dim_a;
  }
  return result;
}

bool broadcasts_to(const Shape& from, const Shape& to) {
  if (from.size() > to.size()) return false;
  const std::size_t skip = to.size() - from.size();
  for (std::size_t i = 0; i < from.size(); ++i)
    if (from[i] != 1 && from[i] != to[skip + i]) return false;
  return true;
}

Shape infer_shape(const Literal& op, const std::vector<Shape>& inputs) {
  expect_inputs(inputs, 0, 0);
  return op.value.shape;
}

Shape infer_shape(const MatMul&, const std::vector<Shape>& inputs) {
  expect_inputs(inputs, 2, 2);
  Shape a = inputs[0];
  Shape b = inputs[1];
  if (a.empty() || b.empty())
    bad_shape(
        fmt::format("MatMul needs tensors, not scalars: {} x {}", to_string(a), to_string(b)));
  const bool vector_a = a.size() == 1;
  const bool vector_b = b.size() == 1;
  if (vector_a) a.insert(a.begin(), 1);
  if (vector_b) b.push_back(1);
  if (a.back() != b[b.size() - 2])
    bad_shape(fmt::format("inner dimensions differ: {} x {}", to_string(inputs[0]),
                          to_string(inputs[1])));
  Shape result = broadcast_shapes(Shape(a.begin(), a.end() - 2), Shape(b.begin(), b.end() - 2));
  if (!vector_a) result.push_back(a[a.size() - 2]);
  if (!vector_b) result.push_back(b.back());
  return result;
}

Shape infer_shape(const Gemm& op, const std::vector<Shape>& inputs) {
  expect_inputs(inputs, 2, 3);
  Shape a = inputs[0];
  Shape b = inputs[1];
  if (a.size() != 2 || b.size() != 2)
    bad_shape(fmt::format("Gemm multiplies matrices, but A is {} and B is {}", to_string(a),
                          to_string(b)),
              "add a Flatten before it");
  if (op.trans_a) std::swap(a[0], a[1]);
  if (op.trans_b) std::swap(b[0], b[1]);
  if (a[1] != b[0])
    bad_shape(fmt::format("inner dimensions differ: op(A) is {}, op(B) is {}", to_string(a),
                          to_string(b)));
  Shape result = {a[0], b[1]};
  if (inputs.size() == 3 && !broadcasts_to(inputs[2], result))
    bad_shape(fmt::format("C of shape {} does not broadcast to {}", to_string(inputs[2]),
                          to_string(result)));
  return result;
}

Shape infer_shape(const Binary&, const std::vector<Shape>& inputs) {
  expect_inputs(inputs, 2, 2);
  return broadcast_shapes(inputs[0], inputs[1]);
}

Shape infer_shape(const Relu&, const std::vector<Shape>& inputs) {
  expect_inputs(inputs, 1, 1);
  return inputs[0];
}

Shape infer_shape(const IndexMap& op, const std::vector<Shape>& inputs) {
  expect_inputs(inputs, 1, 1);
  return {static_cast<std::int64_t>(op.source.size())};
}

Shape infer_shape(const Scale& op, const std::vector<Shape>& inputs) {
  expect_inputs(inputs, 1, 1);
  const auto count = static_cast<std::size_t>(element_count(inputs[0]));
  BF_CHECK(op.factor.data.size() == count && op.offset.data.size() == count);
  return inputs[0];
}

Shape infer_shape(const Affine& op, const std::vector<Shape>& inputs) {
  expect_inputs(inputs, 1, 1);
  BF_CHECK(op.weight.shape.size() == 2);
  BF_CHECK(op.bias.shape == Shape{op.weight.shape[0]});
  BF_CHECK(element_count(inputs[0]) == op.weight.shape[1]);
  return op.bias.shape;
}

Shape infer_shape(const Unary&, const std::vector<Shape>& inputs) {
  expect_inputs(inputs, 1, 1);
  return inputs[0];
}

Shape infer_shape(const Conv& op, const std::vector<Shape>& inputs) {
  expect_inputs(inputs, 1, 1);
  const ConvGeometry& g = op.geometry;
  BF_CHECK(element_count(inputs[0]) == g.in_count());
  return {g.batch, g.out_channels, g.out_size[0], g.out_size[1], g.out_size[2]};
}

Shape infer_shape(const SparseAffine& op, const std::vector<Shape>& inputs) {
  expect_inputs(inputs, 1, 1);
  return {op.rows()};
}

Shape infer_shape(const GroupMax& op, const std::vector<Shape>& inputs) {
  expect_inputs(inputs, 1, 1);
  return {op.rows()};
}

Shape infer_shape(const LogSoftmax& op, const std::vector<Shape>& inputs) {
  expect_inputs(inputs, 1, 1);
  return {static_cast<std::int64_t>(op.source.size())};
}

Shape infer_shape(const Contraction& op, const std::vector<Shape>& inputs) {
  expect_inputs(inputs, 2, 2);
  return {op.batch, op.rows, op.columns};
}

Shape infer_shape(const Op& op, const std::vector<Shape>& inputs) {
  return std::visit([&](const auto& each) { return infer_shape(each, inputs); }, op);
}

bool works_on_flattened(const Op& op) {
  return !(std::holds_alternative<Literal>(op) || std::holds_alternative<MatMul>(op) ||
           std::holds_alternative<Gemm>(op) || std::holds_alternative<Binary>(op));
}

Shape reshape_shape(const Shape& input, const std::vector<std::int64_t>& target, bool allow_zero) {
  const auto mismatch = [&](const std::string& why) {
    bad_shape(fmt::format("cannot reshape {} to {}: {}", to_string(input), to_string(target), why),
              "a shape that fixes a batch size other than 1 must be exported with -1 in its place");
  };
  Shape result = target;
  std::optional<std::size_t> inferred;
  for (std::size_t i = 0; i < result.size(); ++i) {
    if (result[i] == -1) {
      if (inferred) mismatch("only one dimension may be -1");
      inferred = i;
      result[i] = 1;
    } else if (result[i] == 0 && !allow_zero) {
      if (i >= input.size()) mismatch("a 0 copies a dimension that the input does not have");
      result[i] = input[i];
    } else if (result[i] < 0) {
      mismatch("negative dimension");
    }
  }
  const std::int64_t total = element_count(input);
  const std::optional<std::int64_t> known = checked_element_count(result);
  if (!known) mismatch("too many elements");
  if (inferred) {
    if (*known == 0 || total % *known != 0)
      mismatch(fmt::format("{} elements do not divide by {}", total, known.value_or(0)));
    result[*inferred] = total / *known;
  } else if (*known != total) {
    mismatch(fmt::format("{} elements against {}", total, known.value_or(0)));
  }
  return result;
}

Shape flatten_shape(const Shape& input, std::int64_t axis) {
  const auto rank = static_cast<std::int64_t>(input.size());
  if (axis < -rank || axis > rank)
    bad_shape(fmt::format("axis {} is out of range for {} dimensions", axis, rank));
  const auto split = input.begin() + (axis < 0 ? axis + rank : axis);
  return {element_count(Shape(input.begin(), split)), element_count(Shape(split, input.end()))};
}

void check_permutation(const std::vector<std::int64_t>& perm, std::size_t rank) {
  std::vector<bool> seen(rank, false);
  bool valid = perm.size() == rank;
  for (std::size_t i = 0; valid && i < rank; ++i) {
    valid = perm[i] >= 0 && perm[i] < static_cast<std::int64_t>(rank) &&
            !seen[static_cast<std::size_t>(perm[i])];
    if (valid) seen[static_cast<std::size_t>(perm[i])] = true;
  }
  if (!valid)
    bad_shape(fmt::format("perm {} is not a permutation of {} dimensions", to_string(perm), rank));
}

Shape transpose_shape(const Shape& input, const std::vector<std::int64_t>& perm) {
  check_permutation(perm, input.size());
  Shape result;
  for (std::int64_t i : perm) result.push_back(input[static_cast<std::size_t>(i)]);
  return result;
}

std::vector<std::int64_t> transpose_source(const Shape& input,
                                           const std::vector<std::int64_t>& perm) {
  const Shape output = transpose_shape(input, perm);
  const std::vector<std::int64_t> input_strides = row_major_strides(input);
  std::vector<std::int64_t> source(static_cast<std::size_t>(element_count(output)));
  std::vector<std::int64_t> index(output.size(), 0);
  std::int64_t from = 0;
  for (std::int64_t& entry : source) {
    entry = from;
    for (std::size_t d = output.size(); d-- > 0;) {  // next index, last dimension fastest
      const std::int64_t stride = input_strides[static_cast<std::size_t>(perm[d])];
      from += stride;
      if (++index[d] < output[d]) break;
      from -= stride * output[d];
      index[d] = 0;
    }
  }
  return source;
}

Shape squeeze_shape(const Shape& input, const std::optional<std::vector<std::int64_t>>& axes) {
  const std::vector<bool> removed =
      axes ? mark_axes(*axes, input.size()) : std::vector<bool>(input.size(), false);
  Shape result;
  for (std::size_t i = 0; i < input.size(); ++i) {
    if (removed[i] && input[i] != 1)
      bad_shape(
          fmt::format("axis {} of {} is not 1, so it cannot be squeezed", i, to_string(input)));
    if (axes ? !removed[i] : input[i] != 1) result.push_back(input[i]);
  }
  return result;
}

Shape unsqueeze_shape(const Shape& input, const std::vector<std::int64_t>& axes) {
  const std::vector<bool> added = mark_axes(axes, input.size() + axes.size());
  Shape result;
  auto next = input.begin();
  for (bool is_new : added) result.push_back(is_new ? 1 : *next++);
  return result;
}

}  // namespace bf_aot
