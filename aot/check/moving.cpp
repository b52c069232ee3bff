#include "aot/check/value.h"

// Operators that move data: element i of the result is element source[i] of the input.

namespace bf_check {

Value moved(const Value& from, const std::vector<i64>& shape, const std::vector<i64>& source,
            const Value* filler) {
  Value to{shape, from.constant, from.integral, {}, {}};
  expect_work(shape, 1);
  if (size_of(shape) != static_cast<i64>(source.size())) refuse("shapes do not fit");
  for (const i64 i : source) {
    const Value& of = i < 0 && filler != nullptr ? *filler : from;
    const i64 at = &of == filler ? 0 : i;
    if (at < 0 || at >= of.size()) refuse("an index lies outside of its tensor");
    if (from.constant) {
      to.data.push(of.data, static_cast<std::size_t>(at));
    } else {
      to.ids.push_back(of.ids[static_cast<std::size_t>(at)]);
    }
  }
  return to;
}

std::vector<i64> strided(const std::vector<i64>& shape, const std::vector<i64>& step) {
  std::vector<i64> places{0};
  for (std::size_t i = 0; i < shape.size(); ++i) {
    std::vector<i64> wider;
    for (const i64 place : places)
      for (i64 k = 0; k < shape[i]; ++k) wider.push_back(place + k * step[i]);
    places = std::move(wider);
  }
  return places;
}

namespace {

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

// Takes positions `indices` of an axis; -1: the filler.
Value taken(const Value& from, std::size_t axis, const std::vector<i64>& indices,
            const Value* filler = nullptr) {
  const i64 outer = extent_product(from.shape, 0, axis);
  const i64 inner = extent_product(from.shape, axis + 1, from.shape.size());
  std::vector<i64> shape = from.shape, source;
  shape[axis] = static_cast<i64>(indices.size());
  expect_work(shape, 1);
  for (i64 o = 0; o < outer; ++o)
    for (const i64 index : indices)
      for (i64 i = 0; i < inner; ++i)
        source.push_back(index < 0 ? -1 : (o * from.shape[axis] + index) * inner + i);
  return moved(from, shape, source, filler);
}

// Before operator set 7 a Dropout without is_test is that of training.
Value dropout(const Operands& o) {
  if (o.opset < 7) refuse("training mode is not in the checker's table");
  return o.in(0);
}

// Elements around a tensor, all of one value.
Value pad(const Operands& o) {
  Value x = o.in(0);
  const Attribute* const mode = o.attribute("mode", 3);
  if (mode != nullptr && mode->text != "constant")
    refuse("this mode of padding is not in the checker's table");
  const bool given = o.opset >= 11;
  if (given && o.node.attributes.size() > (mode != nullptr ? 1u : 0u))
    refuse("paddings are an input from operator set 11 on");
  const std::vector<i64> pads = given ? integers_of(o.constant(1)) : o.numbers("pads", {});
  if (pads.size() != 2 * x.shape.size()) refuse("shapes do not fit");
  Value filler;
  filler.data = std::vector<Rat>{given ? Rat(0) : o.real("value", 0)};
  if (given && o.optional(2) != nullptr) filler.data = o.constant(2).data;
  if (filler.data.size() != 1 || x.integral) refuse("a padding is not in the checker's table");
  if (!x.constant) filler.ids = o.builder.elements_of(filler);
  for (std::size_t axis = 0; axis < x.shape.size(); ++axis) {
    const i64 before = pads[axis], after = pads[axis + x.shape.size()];
    if (before < 0 || after < 0 || before > 1 << 20 || after > 1 << 20)
      refuse("a padding is not in the checker's table");
    std::vector<i64> indices(static_cast<std::size_t>(before), -1);
    for (i64 i = 0; i < x.shape[axis]; ++i) indices.push_back(i);
    indices.resize(indices.size() + static_cast<std::size_t>(after), -1);
    x = taken(x, axis, indices, &filler);
  }
  return x;
}

Value constant(const Operands& o) {
  const Attribute* const found = o.attribute("value", 4);
  if (found == nullptr ||
      static_cast<i64>(found->tensor.data.size()) != size_of(found->tensor.shape))
    refuse("a constant without attribute value is not in the checker's table");
  return value_of(found->tensor);
}

Value flatten(const Operands& o) {
  const Value& x = o.in(0);
  const i64 rank = static_cast<i64>(x.shape.size());
  const i64 axis = o.number("axis", 1);
  if (axis < -rank || axis > rank) refuse("an axis does not exist");
  const std::size_t at = static_cast<std::size_t>(axis < 0 ? axis + rank : axis);
  return reshaped(x, {extent_product(x.shape, 0, at), extent_product(x.shape, at, x.shape.size())});
}

Value reshape(const Operands& o) {
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
  return reshaped(x, shape);
}

// Leaves out axes of one position, or adds some. Axes are those of the longer shape.
Value other_axes(const Operands& o, bool adds) {
  const Value& x = o.in(0);
  std::vector<i64> axes, shape;
  for (std::size_t i = 0; i < x.shape.size() && !adds; ++i)
    if (x.shape[i] == 1) axes.push_back(static_cast<i64>(i));
  axes = o.optional(1) != nullptr ? integers_of(o.constant(1)) : o.numbers("axes", axes);
  const std::size_t rank = x.shape.size() + (adds ? axes.size() : 0);
  if (rank > 64) refuse("a tensor has too many axes");
  std::vector<bool> named(rank, false);
  for (const i64 axis : axes) {
    if (named[axis_of(axis, rank)]) refuse("an axis is given twice");
    named[axis_of(axis, rank)] = true;
  }
  std::size_t next = 0;
  for (std::size_t i = 0; i < rank; ++i) {
    if (!adds && named[i] && x.shape[i] != 1)
      refuse("an axis that is left out has more than one position");
    if (adds && named[i]) shape.push_back(1);
    if (!named[i]) shape.push_back(x.shape[adds ? next++ : i]);
  }
  return reshaped(x, shape);
}

Value transpose(const Operands& o) {
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
  return moved(x, shape, strided(shape, step));
}

Value concat(const Operands& o) {
  const std::vector<i64>& first = o.in(0).shape;
  const std::size_t axis = axis_of(o.number("axis", o.opset < 4 ? 1 : -100), first.size());
  Value all;  // the parts, one after the other
  std::vector<i64> shape = first, start(o.inputs.size()), source;
  shape[axis] = 0;
  for (std::size_t k = 0; k < o.inputs.size(); ++k)
    all.constant = o.in(k).constant && all.constant, all.integral |= o.in(k).integral;
  for (std::size_t k = 0; k < o.inputs.size(); ++k) {
    const Value& part = o.in(k);
    if (part.shape.size() != first.size()) refuse("shapes do not fit");
    for (std::size_t i = 0; i < first.size(); ++i)
      if (i != axis && part.shape[i] != first[i]) refuse("shapes do not fit");
    shape[axis] += part.shape[axis];
    start[k] = static_cast<i64>(all.constant ? all.data.size() : all.ids.size());
    const std::vector<u32> ids = all.constant ? part.ids : o.builder.elements_of(part);
    all.ids.insert(all.ids.end(), ids.begin(), ids.end());
    for (std::size_t i = 0; i < part.data.size() && all.constant; ++i) all.data.push(part.data, i);
  }
  all.shape = {size_of(shape)};
  for (i64 i = 0; i < extent_product(first, 0, axis); ++i)
    for (std::size_t k = 0; k < o.inputs.size(); ++k) {
      const i64 run = extent_product(o.in(k).shape, axis, first.size());
      for (i64 at = i * run; at < (i + 1) * run; ++at) source.push_back(start[k] + at);
    }
  return moved(all, shape, source);
}

Value slice(const Operands& o) {
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
  return x;
}

}  // namespace

const std::vector<Operator>& moving_operators() {
  static const std::vector<Operator> table = {
      {"Concat", 4096, " axis ", concat},
      {"Constant", 0, " value ", constant},
      {"Dropout", 2, " ratio seed ", dropout},
      {"Flatten", 1, " axis ", flatten},
      {"Identity", 1, " ", [](const Operands& o) { return o.in(0); }},
      {"Pad", 3, " mode pads value ", pad},
      {"Reshape", 2, " allowzero ", reshape},
      {"Slice", 5, " ", slice},
      {"Squeeze", 2, " axes ", [](const Operands& o) { return other_axes(o, false); }},
      {"Transpose", 1, " perm ", transpose},
      {"Unsqueeze", 2, " axes ", [](const Operands& o) { return other_axes(o, true); }},
  };
  return table;
}

}  // namespace bf_check
