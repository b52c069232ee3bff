#include <algorithm>

#include "aot/check/value.h"

// Operators that move data: element i of the result is element source[i] of the input.

namespace bf_check {

Value moved(const Value& from, const std::vector<i64>& shape, const std::vector<i64>& source,
            const Value* filler) {
  Value to{shape, from.constant, from.type, {}, {}};
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

std::vector<i64> joined(const std::vector<i64>& a, const std::vector<i64>& b) {
  std::vector<i64> shape(std::max(a.size(), b.size()), 1);
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const i64 x = i < a.size() ? a[a.size() - 1 - i] : 1;
    const i64 y = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (x != y && x != 1 && y != 1) refuse("shapes do not fit");
    shape[shape.size() - 1 - i] = x == 1 ? y : x;
  }
  expect_work(shape, 1);
  return shape;
}

std::vector<std::size_t> spread(const std::vector<i64>& shape, const std::vector<i64>& to) {
  std::vector<i64> step(to.size(), 0);
  i64 next = 1;
  for (std::size_t i = 1; i <= std::min(shape.size(), to.size()); ++i) {
    const i64 extent = shape[shape.size() - i];
    step[to.size() - i] = extent == 1 ? 0 : next;
    next *= extent;
  }
  const std::vector<i64> places = strided(to, step);
  return {places.begin(), places.end()};
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

// For `before` positions before an axis, its own, and `after` behind it, the positions that they
// take. Negative: that many are left out.
std::vector<i64> padded(const std::string& mode, i64 extent, i64 before, i64 after) {
  std::vector<i64> indices;
  if (std::max(before, after) > 1 << 20 ||
      std::min(before, after) < (mode == "constant" ? -extent : 0))
    refuse("a padding is not in the checker's table");
  for (i64 i = -before; i < extent + after; ++i) {
    const bool inside = i >= 0 && i < extent;
    if (!inside && mode == "edge" && extent > 0) {
      indices.push_back(i < 0 ? 0 : extent - 1);
    } else if (!inside && mode == "reflect" && std::max(before, after) < extent) {
      indices.push_back(i < 0 ? -i : 2 * (extent - 1) - i);
    } else if (!inside && mode != "constant") {
      refuse("this mode of padding is not in the checker's table");
    } else {
      indices.push_back(inside ? i : -1);
    }
  }
  return indices;
}

// Elements around a tensor.
Value pad(const Operands& o) {
  Value x = o.in(0);
  const std::string mode = o.text("mode", "constant");
  const bool given = o.opset >= 11;
  if (given && o.node.attributes.size() > o.node.attributes.count("mode"))
    refuse("paddings are an input from operator set 11 on");
  const std::vector<i64> pads = given ? integers_of(o.constant(1)) : o.numbers("pads", {});
  std::vector<i64> axes;
  for (std::size_t i = 0; i < x.shape.size(); ++i) axes.push_back(static_cast<i64>(i));
  if (o.optional(3) != nullptr) axes = integers_of(o.constant(3));
  if (pads.size() != 2 * axes.size()) refuse("shapes do not fit");
  Value filler;
  filler.data = std::vector<Rat>{given ? Rat(0) : o.real("value", 0)};
  if (given && o.optional(2) != nullptr) filler.data = o.constant(2).data;
  if (filler.data.size() != 1 || x.type != 0) refuse("a padding is not in the checker's table");
  if (!x.constant) filler.ids = o.builder.elements_of(filler);
  std::vector<bool> named(x.shape.size(), false);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::size_t axis = axis_of(axes[i], x.shape.size());
    if (named[axis]) refuse("an axis is given twice");
    named[axis] = true;
    x = taken(x, axis, padded(mode, x.shape[axis], pads[i], pads[i + axes.size()]), &filler);
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
  std::vector<i64> shape = integers_of(o.constant(1));
  const bool zero = std::find(shape.begin(), shape.end(), 0) != shape.end();
  if (zero && o.number("allowzero", 0) != 0) refuse("allowzero is not in the checker's table");
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

// The inputs from `first` on, one after the other, and where each starts. Constants beside computed
// tensors become elements.
Value strung(const Operands& o, std::size_t first, std::vector<i64>& start) {
  Value all;
  all.type = o.in(first).type;
  for (std::size_t k = first; k < o.inputs.size(); ++k) {
    all.constant = o.in(k).constant && all.constant;
    if (o.in(k).type != all.type) refuse("tensors of different types");
  }
  for (std::size_t k = first; k < o.inputs.size(); ++k) {
    const Value& part = o.in(k);
    start.push_back(static_cast<i64>(all.constant ? all.data.size() : all.ids.size()));
    const std::vector<u32> ids = all.constant ? part.ids : o.builder.elements_of(part);
    all.ids.insert(all.ids.end(), ids.begin(), ids.end());
    for (std::size_t i = 0; i < part.data.size() && all.constant; ++i) all.data.push(part.data, i);
  }
  all.shape = {static_cast<i64>(all.constant ? all.data.size() : all.ids.size())};
  return all;
}

// Elements of the second input where the constant first one is true, else of the third.
Value where(const Operands& o) {
  const Value& condition = o.constant(0);
  if (condition.type != kTruth) refuse("a condition is no truth value");
  const std::vector<i64> shape = joined(condition.shape, joined(o.in(1).shape, o.in(2).shape));
  std::vector<i64> start, source;
  const Value all = strung(o, 1, start);
  const std::vector<std::size_t> at = spread(condition.shape, shape);
  const std::vector<std::size_t> places[] = {spread(o.in(1).shape, shape),
                                             spread(o.in(2).shape, shape)};
  for (std::size_t i = 0; i < at.size(); ++i) {
    const std::size_t k = condition.data[at[i]] != 0 ? 0 : 1;
    source.push_back(start[k] + static_cast<i64>(places[k][i]));
  }
  return moved(all, shape, source);
}

Value expand(const Operands& o) {
  const std::vector<i64> shape = joined(o.in(0).shape, integers_of(o.constant(1)));
  const std::vector<std::size_t> at = spread(o.in(0).shape, shape);
  return moved(o.in(0), shape, {at.begin(), at.end()});
}

// The tensor itself, so many times along each axis.
Value tile(const Operands& o) {
  Value x = o.in(0);
  const std::vector<i64> repeats = integers_of(o.constant(1));
  if (repeats.size() != x.shape.size() || o.opset < 6) refuse("shapes do not fit");
  for (std::size_t axis = 0; axis < repeats.size(); ++axis) {
    std::vector<i64> indices;
    expect_work({repeats[axis], x.shape[axis]}, 1);
    for (i64 i = 0; i < repeats[axis] * x.shape[axis]; ++i) indices.push_back(i % x.shape[axis]);
    x = taken(x, axis, indices);
  }
  return x;
}

// Positions of an axis, which constants name; negative ones count from its end.
Value gather(const Operands& o) {
  const Value &x = o.in(0), &places = o.constant(1);
  const std::size_t axis = axis_of(o.number("axis", 0), x.shape.size());
  std::vector<i64> indices = integers_of(places), shape = x.shape;
  for (i64& index : indices) {
    if (index < (o.opset < 11 ? 0 : -shape[axis]) || index >= shape[axis])
      refuse("an index lies outside of its tensor");
    index += index < 0 ? shape[axis] : 0;
  }
  const auto at = shape.begin() + static_cast<std::ptrdiff_t>(axis);
  shape.insert(shape.erase(at), places.shape.begin(), places.shape.end());
  return reshaped(taken(x, axis, indices), shape);
}

// Part number `output` of an axis. Without lengths parts are equal; by num_outputs the last may be
// shorter.
Value split(const Operands& o) {
  const Value& x = o.in(0);
  const std::size_t axis = axis_of(o.number("axis", 0), x.shape.size());
  const i64 parts = static_cast<i64>(o.node.outputs.size()), extent = x.shape[axis];
  if (o.opset < 2 || (o.opset >= 13 && o.node.attributes.count("split") != 0))
    refuse("this form is not in the checker's table");
  const i64 named = o.number("num_outputs", parts), length = (extent + parts - 1) / parts;
  std::vector<i64> lengths(o.node.outputs.size(), length);
  lengths.back() = extent - (parts - 1) * length;
  if (named != parts || lengths.back() < 1 || (o.opset < 18 && lengths.back() != length))
    lengths.clear();
  lengths = o.optional(1) != nullptr ? integers_of(o.constant(1)) : o.numbers("split", lengths);
  i64 start = 0, all = 0;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    start += i < o.output ? lengths[i] : 0;
    all += size_of({lengths[i]});
  }
  if (all != extent || lengths.size() != o.node.outputs.size()) refuse("shapes do not fit");
  std::vector<i64> indices;
  for (i64 i = 0; i < lengths[o.output]; ++i) indices.push_back(start + i);
  return taken(x, axis, indices);
}

Value permuted(const Value& x, const std::vector<i64>& perm) {
  const std::size_t rank = x.shape.size();
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

Value transpose(const Operands& o) {
  std::vector<i64> perm;
  for (std::size_t i = o.in(0).shape.size(); i > 0; --i) perm.push_back(static_cast<i64>(i - 1));
  return permuted(o.in(0), o.numbers("perm", perm));
}

// Blocks of channels become blocks of places (DepthToSpace), or the other way.
Value blocks(const Operands& o, bool to_space) {
  const Value& x = o.in(0);
  const i64 b = o.number("blocksize", 0);
  const std::string mode = o.text("mode", "DCR");
  if (x.shape.size() != 4 || b < 1 || b > 4096 || (mode != "DCR" && mode != "CRD"))
    refuse("this form is not in the checker's table");
  const i64 n = x.shape[0], c = x.shape[1], h = x.shape[2], w = x.shape[3];
  if (to_space ? c % (b * b) != 0 : h % b != 0 || w % b != 0) refuse("shapes do not fit");
  if (!to_space)
    return reshaped(permuted(reshaped(x, {n, c, h / b, b, w / b, b}), {0, 3, 5, 1, 2, 4}),
                    {n, c * b * b, h / b, w / b});
  const i64 depth = c / (b * b);
  const Value moved = mode == "DCR"
                          ? permuted(reshaped(x, {n, b, b, depth, h, w}), {0, 3, 4, 1, 5, 2})
                          : permuted(reshaped(x, {n, depth, b, b, h, w}), {0, 1, 4, 2, 5, 3});
  return reshaped(moved, {n, depth, h * b, w * b});
}

// Each element repeated along each axis. For whole factors that is what Upsample's nearest, and the
// forms of Resize that are taken here, choose.
Value enlarged(const Operands& o) {
  Value x = o.in(0);
  const bool resize = o.node.op == "Resize", wide = resize && o.opset >= 11;
  const std::string places = o.text("coordinate_transformation_mode", "half_pixel");
  const std::string nearest = o.text("nearest_mode", "round_prefer_floor");
  const bool centred = places == "half_pixel" || places == "pytorch_half_pixel";
  const bool first = places == "asymmetric" && nearest == "floor";
  const bool nearer = nearest == "round_prefer_floor" || nearest == "round_prefer_ceil";
  if (o.text("mode", "nearest") != "nearest" || (wide && !first && !(centred && nearer)) ||
      o.opset < 9 || (!resize && o.opset > 9))
    refuse("this form is not in the checker's table");
  const bool sizes = wide && o.optional(3) != nullptr;
  const std::vector<i64> factors = integers_of(o.constant(sizes ? 3 : wide ? 2 : 1));
  if (factors.size() != x.shape.size()) refuse("shapes do not fit");
  for (std::size_t axis = 0; axis < factors.size(); ++axis) {
    const i64 extent = x.shape[axis], size = size_of({sizes ? 1 : extent, factors[axis]});
    const i64 factor = extent == 0 ? 0 : size / extent;
    // Other positions are rounded in float32 before they are cut.
    const bool rounds = o.builder.grid().float32 && (factor & (factor - 1)) != 0;
    if (factor == 0 || size % extent != 0 || rounds)
      refuse("this form is not in the checker's table");
    std::vector<i64> indices;
    for (i64 i = 0; i < size; ++i) indices.push_back(i / factor);
    x = taken(x, axis, indices);
  }
  return x;
}

Value concat(const Operands& o) {
  const std::vector<i64>& first = o.in(0).shape;
  const std::size_t axis = axis_of(o.number("axis", o.opset < 4 ? 1 : -100), first.size());
  std::vector<i64> shape = first, start, source;
  shape[axis] = 0;
  for (std::size_t k = 0; k < o.inputs.size(); ++k) {
    const Value& part = o.in(k);
    if (part.shape.size() != first.size()) refuse("shapes do not fit");
    for (std::size_t i = 0; i < first.size(); ++i)
      if (i != axis && part.shape[i] != first[i]) refuse("shapes do not fit");
    shape[axis] += part.shape[axis];
  }
  const Value all = strung(o, 0, start);
  for (i64 i = 0; i < extent_product(first, 0, axis); ++i)
    for (std::size_t k = 0; k < o.inputs.size(); ++k) {
      const i64 run = extent_product(o.in(k).shape, axis, first.size());
      for (i64 at = i * run; at < (i + 1) * run; ++at) source.push_back(start[k] + at);
    }
  return moved(all, shape, source);
}

Value slice(const Operands& o) {
  Value x = o.in(0);
  const bool given = o.opset >= 10;
  if (given != o.node.attributes.empty())
    refuse("starts and ends are inputs from operator set 10 on");
  const std::vector<i64> starts = given ? integers_of(o.constant(1)) : o.numbers("starts", {});
  const std::vector<i64> ends = given ? integers_of(o.constant(2)) : o.numbers("ends", {});
  std::vector<i64> axes, steps(starts.size(), 1);
  for (std::size_t i = 0; i < starts.size(); ++i) axes.push_back(static_cast<i64>(i));
  axes = o.optional(3) != nullptr ? integers_of(o.constant(3)) : o.numbers("axes", axes);
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
      {"Concat", kMostOperands, " axis ", concat},
      {"Constant", 0, " value ", constant},
      {"DepthToSpace", 1, " blocksize mode ", [](const Operands& o) { return blocks(o, true); }},
      {"Dropout", 2, " ratio seed ", dropout},
      {"Expand", 2, " ", expand},
      {"Flatten", 1, " axis ", flatten},
      {"Gather", 2, " axis ", gather},
      {"Identity", 1, " ", [](const Operands& o) { return o.in(0); }},
      {"Pad", 4, " mode pads value ", pad},
      {"Reshape", 2, " allowzero ", reshape},
      {"Resize", 4,
       " antialias coordinate_transformation_mode cubic_coeff_a exclude_outside"
       " extrapolation_value mode nearest_mode ",
       enlarged},
      {"Slice", 5, " axes ends starts ", slice},
      {"SpaceToDepth", 1, " blocksize ", [](const Operands& o) { return blocks(o, false); }},
      {"Split", 2, " axis num_outputs split ", split, kMostOperands},
      {"Squeeze", 2, " axes ", [](const Operands& o) { return other_axes(o, false); }},
      {"Tile", 2, " ", tile},
      {"Transpose", 1, " perm ", transpose},
      {"Unsqueeze", 2, " axes ", [](const Operands& o) { return other_axes(o, true); }},
      {"Upsample", 2, " mode ", enlarged},
      {"Where", 3, " ", where},
  };
  return table;
}

}  // namespace bf_check
