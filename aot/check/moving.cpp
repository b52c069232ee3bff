#include "aot/check/value.h"

// Operators that move data: element i of the result is element source[i] of the input.

namespace bf_check {
namespace {

Value moved(const Value& from, std::vector<i64> shape, const std::vector<i64>& source) {
  Value to;
  to.shape = std::move(shape);
  to.constant = from.constant;
  to.integral = from.integral;
  if (size_of(to.shape) != static_cast<i64>(source.size())) refuse("shapes do not fit");
  for (const i64 i : source) {
    if (i < 0 || i >= from.size()) refuse("an index lies outside of its tensor");
    if (from.constant) {
      to.data.push_back(from.data[static_cast<std::size_t>(i)]);
    } else {
      to.ids.push_back(from.ids[static_cast<std::size_t>(i)]);
    }
  }
  return to;
}

Value reshaped(const Value& from, std::vector<i64> shape) {
  if (size_of(shape) != from.size()) refuse("the shapes have different numbers of elements");
  Value to = from;
  to.shape = std::move(shape);
  return to;
}

i64 extent_product(const std::vector<i64>& shape, std::size_t begin, std::size_t end) {
  i64 product = 1;
  for (std::size_t i = begin; i < end; ++i) product *= shape[i];
  return product;
}

// Takes positions `indices` of an axis.
Value taken(const Value& from, std::size_t axis, const std::vector<i64>& indices) {
  const i64 outer = extent_product(from.shape, 0, axis);
  const i64 inner = extent_product(from.shape, axis + 1, from.shape.size());
  std::vector<i64> shape = from.shape, source;
  shape[axis] = static_cast<i64>(indices.size());
  size_of(shape);
  for (i64 o = 0; o < outer; ++o)
    for (const i64 index : indices)
      for (i64 i = 0; i < inner; ++i) source.push_back((o * from.shape[axis] + index) * inner + i);
  return moved(from, shape, source);
}

std::vector<Value> identity(const Operands& o) {
  if (o.inputs.size() > 2) refuse("training mode is not in the checker's table");
  return {o.in(0)};
}

std::vector<Value> constant(const Operands& o) {
  const auto found = o.node.attributes.find("value");
  if (found == o.node.attributes.end() || found->second.type != 4)
    refuse("a constant without attribute value is not in the checker's table");
  Value value;
  value.shape = found->second.tensor.shape;
  value.data = found->second.tensor.data;
  value.integral = found->second.tensor.integral;
  if (static_cast<i64>(value.data.size()) != value.size()) refuse("a constant has no data");
  return {value};
}

std::vector<Value> flatten(const Operands& o) {
  const Value& x = o.in(0);
  const i64 rank = static_cast<i64>(x.shape.size());
  const i64 axis = o.number("axis", 1);
  if (axis < -rank || axis > rank) refuse("an axis does not exist");
  const std::size_t at = static_cast<std::size_t>(axis < 0 ? axis + rank : axis);
  return {
      reshaped(x, {extent_product(x.shape, 0, at), extent_product(x.shape, at, x.shape.size())})};
}

std::vector<Value> reshape(const Operands& o) {
  const Value& x = o.in(0);
  if (o.number("allowzero", 0) != 0) refuse("allowzero is not in the checker's table");
  std::vector<i64> shape = integers_of(o.constant(1));
  i64 known = 1;
  std::size_t open = shape.size();
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 0) {
      if (i >= x.shape.size()) refuse("shapes do not fit");
      shape[i] = x.shape[i];
    }
    if (shape[i] == -1) {
      if (open != shape.size()) refuse("two extents are to be inferred");
      open = i;
    } else {
      known = size_of({known, shape[i]});
    }
  }
  if (open != shape.size()) {
    if (known == 0 || x.size() % known != 0) refuse("shapes do not fit");
    shape[open] = x.size() / known;
  }
  return {reshaped(x, shape)};
}

std::vector<i64> axes_of(const Operands& o, std::vector<i64> otherwise) {
  return o.optional(1) != nullptr ? integers_of(o.constant(1)) : o.numbers("axes", otherwise);
}

std::vector<Value> squeeze(const Operands& o) {
  const Value& x = o.in(0);
  std::vector<i64> all;
  for (std::size_t i = 0; i < x.shape.size(); ++i)
    if (x.shape[i] == 1) all.push_back(static_cast<i64>(i));
  std::vector<bool> gone(x.shape.size(), false);
  for (const i64 axis : axes_of(o, all)) {
    const std::size_t at = axis_of(axis, x.shape.size());
    if (x.shape[at] != 1) refuse("an axis that is left out has more than one position");
    gone[at] = true;
  }
  std::vector<i64> shape;
  for (std::size_t i = 0; i < x.shape.size(); ++i)
    if (!gone[i]) shape.push_back(x.shape[i]);
  return {reshaped(x, shape)};
}

std::vector<Value> unsqueeze(const Operands& o) {
  const Value& x = o.in(0);
  const std::vector<i64> axes = axes_of(o, {});
  const std::size_t rank = x.shape.size() + axes.size();
  if (rank > 64) refuse("a tensor has too many axes");
  std::vector<bool> added(rank, false);
  for (const i64 axis : axes) {
    const std::size_t at = axis_of(axis, rank);
    if (added[at]) refuse("an axis is given twice");
    added[at] = true;
  }
  std::vector<i64> shape;
  std::size_t next = 0;
  for (std::size_t i = 0; i < rank; ++i) shape.push_back(added[i] ? 1 : x.shape[next++]);
  return {reshaped(x, shape)};
}

std::vector<Value> transpose(const Operands& o) {
  const Value& x = o.in(0);
  const std::size_t rank = x.shape.size();
  std::vector<i64> perm;
  for (std::size_t i = rank; i > 0; --i) perm.push_back(static_cast<i64>(i - 1));
  perm = o.numbers("perm", perm);
  if (perm.size() != rank) refuse("perm has another number of axes");
  std::vector<i64> strides(rank, 1), shape(rank), step(rank);
  for (std::size_t i = rank; i > 1; --i) strides[i - 2] = strides[i - 1] * x.shape[i - 1];
  std::vector<bool> seen(rank, false);
  for (std::size_t i = 0; i < rank; ++i) {
    const std::size_t from = axis_of(perm[i], rank);
    if (seen[from]) refuse("perm is no permutation");
    seen[from] = true;
    shape[i] = x.shape[from];
    step[i] = strides[from];
  }
  std::vector<i64> source, index(rank, 0);
  const i64 size = x.size();
  for (i64 k = 0; k < size; ++k) {
    i64 at = 0;
    for (std::size_t i = 0; i < rank; ++i) at += index[i] * step[i];
    source.push_back(at);
    for (std::size_t i = rank; i > 0; --i) {
      if (++index[i - 1] < shape[i - 1]) break;
      index[i - 1] = 0;
    }
  }
  return {moved(x, shape, source)};
}

std::vector<Value> concat(const Operands& o) {
  const Value& first = o.in(0);
  const std::size_t axis = axis_of(o.number("axis", o.opset < 4 ? 1 : -100), first.shape.size());
  Value all = first;
  bool constant = true;
  for (const Value* each : o.inputs) constant = constant && each != nullptr && each->constant;
  all.constant = constant;
  all.shape[axis] = 0;
  std::vector<std::vector<u32>> ids;
  for (std::size_t k = 0; k < o.inputs.size(); ++k) {
    const Value& part = o.in(k);
    if (part.shape.size() != first.shape.size()) refuse("shapes do not fit");
    for (std::size_t i = 0; i < part.shape.size(); ++i)
      if (i != axis && part.shape[i] != first.shape[i]) refuse("shapes do not fit");
    all.shape[axis] += part.shape[axis];
    ids.push_back(constant ? std::vector<u32>() : o.builder.elements_of(part));
  }
  size_of(all.shape);
  all.data.clear();
  all.ids.clear();
  const i64 outer = extent_product(first.shape, 0, axis);
  for (i64 i = 0; i < outer; ++i)
    for (std::size_t k = 0; k < o.inputs.size(); ++k) {
      const i64 run = extent_product(o.in(k).shape, axis, first.shape.size());
      for (i64 at = i * run; at < (i + 1) * run; ++at) {
        if (constant) {
          all.data.push_back(o.in(k).data[static_cast<std::size_t>(at)]);
        } else {
          all.ids.push_back(ids[k][static_cast<std::size_t>(at)]);
        }
      }
    }
  return {all};
}

std::vector<Value> slice(const Operands& o) {
  Value x = o.in(0);
  const std::vector<i64> starts = integers_of(o.constant(1)), ends = integers_of(o.constant(2));
  std::vector<i64> axes, steps(starts.size(), 1);
  for (std::size_t i = 0; i < starts.size(); ++i) axes.push_back(static_cast<i64>(i));
  if (o.optional(3) != nullptr) axes = integers_of(o.constant(3));
  if (o.optional(4) != nullptr) steps = integers_of(o.constant(4));
  if (ends.size() != starts.size() || axes.size() != starts.size() || steps.size() != starts.size())
    refuse("starts, ends, axes and steps have different lengths");
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const std::size_t axis = axis_of(axes[i], x.shape.size());
    const i64 extent = x.shape[axis], step = steps[i];
    if (step < 1) refuse("a step that is not positive is not in the checker's table");
    const auto clamped = [extent](i64 at) {
      if (at < 0) at = at < -extent ? 0 : at + extent;
      return at > extent ? extent : at;
    };
    std::vector<i64> indices;
    const i64 end = clamped(ends[i]);
    for (i64 at = clamped(starts[i]); at<end; at += step> extent ? extent : step)
      indices.push_back(at);
    x = taken(x, axis, indices);
  }
  return {x};
}

}  // namespace

const std::vector<Operator>& moving_operators() {
  static const std::vector<Operator> table = {
      {"Concat", " axis ", concat},          {"Constant", " value ", constant},
      {"Dropout", " ratio seed ", identity}, {"Flatten", " axis ", flatten},
      {"Reshape", " allowzero ", reshape},   {"Slice", " ", slice},
      {"Squeeze", " axes ", squeeze},        {"Transpose", " perm ", transpose},
      {"Unsqueeze", " axes ", unsqueeze},
  };
  return table;
}

}  // namespace bf_check
