#include <algorithm>

#include "aot/check/operators/rows.h"

// Affine sums of whole tensors and along axes, and what ReLUs make of them.

namespace bf_check {

// Both sums are of what is compared alone, so that nothing is rounded.
Value extreme(Builder& builder, std::vector<Value> left, int sign) {
  const Rounding exact{Rounded::kExact};
  while (left.size() > 1) {
    std::vector<Value> pairs;
    for (std::size_t i = 0; i + 1 < left.size(); i += 2) {
      const Value &a = left[i + (sign > 0 ? 0 : 1)], &b = left[i + (sign > 0 ? 1 : 0)];
      pairs.push_back(
          sum(builder, left[i], positive(builder, sum(builder, b, a, -1, exact)), sign, exact));
    }
    if (left.size() % 2 == 1) pairs.push_back(left.back());
    left = std::move(pairs);
  }
  return left.at(0);
}

namespace {

// The sum, or the mean, of all inputs.
Value joint_sum(const Operands& o, bool mean) {
  std::vector<i64> shape = o.in(0).shape;
  bool constant = true;
  for (std::size_t k = 0; k < o.inputs.size(); ++k) {
    shape = joined(shape, o.in(k).shape);
    constant = constant && o.in(k).constant;
  }
  std::vector<std::vector<std::size_t>> at;
  for (std::size_t k = 0; k < o.inputs.size(); ++k) at.push_back(spread(o.in(k).shape, shape));
  Rows rows(o.builder, constant, {Rounded::kMerged, mean ? kOfMeans : 0});
  const Weight weight = rows.weight(mean ? Rat(1, o.inputs.size()) : Rat(1));
  for (std::size_t i = 0; i < at[0].size(); ++i) {
    for (std::size_t k = 0; k < at.size(); ++k) rows.add(o.in(k), at[k][i], weight);
    rows.end(0);
  }
  return rows.finish(shape);
}

// The elements that each result gathers along axes, and the shape of all results.
struct Groups {
  std::vector<i64> shape, starts, members;
};

Groups groups_of(const Operands& o, i64 axes_are_input) {
  const Value& x = o.in(0);
  const std::size_t rank = x.shape.size();
  const char* const other = o.opset < axes_are_input ? "noop_with_empty_axes" : "axes";
  if (o.node.attributes.count(other) != 0 || (o.opset < axes_are_input && o.optional(1) != nullptr))
    refuse("axes are given in another operator set's way");
  std::vector<i64> axes =
      o.optional(1) != nullptr ? integers_of(o.constant(1)) : o.numbers("axes", {});
  std::vector<bool> named(rank, axes.empty() && o.number("noop_with_empty_axes", 0) == 0);
  for (const i64 axis : axes) {
    if (named[axis_of(axis, rank)]) refuse("an axis is given twice");
    named[axis_of(axis, rank)] = true;
  }
  std::vector<i64> kept(rank), gone(rank), step(rank, 1);
  Groups groups;
  for (std::size_t i = rank; i-- > 0;) {
    if (i + 1 < rank) step[i] = step[i + 1] * x.shape[i + 1];
    kept[i] = named[i] ? 1 : x.shape[i], gone[i] = named[i] ? x.shape[i] : 1;
    if (!named[i] || o.number("keepdims", 1) != 0)
      groups.shape.insert(groups.shape.begin(), kept[i]);
  }
  groups.starts = strided(kept, step), groups.members = strided(gone, step);
  if (groups.members.empty()) refuse("a reduction of nothing is not in the checker's table");
  return groups;
}

Value reduced_sum(const Operands& o, bool mean) {
  const Groups groups = groups_of(o, mean ? 18 : 13);
  Rows rows(o.builder, o.in(0).constant, {Rounded::kSum, mean ? kOfMeans : 0});
  const Weight weight = rows.weight(mean ? Rat(1, groups.members.size()) : Rat(1));
  for (const i64 start : groups.starts) {
    for (const i64 member : groups.members)
      rows.add(o.in(0), static_cast<std::size_t>(start + member), weight);
    rows.end(0);
  }
  return rows.finish(groups.shape);
}

Value reduced_extreme(const Operands& o, int sign) {
  const Groups groups = groups_of(o, 18);
  std::vector<Value> members;
  for (const i64 member : groups.members) {
    std::vector<i64> source;
    for (const i64 start : groups.starts) source.push_back(start + member);
    members.push_back(moved(o.in(0), groups.shape, source));
  }
  return extreme(o.builder, std::move(members), sign);
}

Value extreme_of(const Operands& o, int sign) {
  std::vector<Value> values;
  if (o.opset < 8) refuse("broadcasting came with operator set 8");
  for (std::size_t k = 0; k < o.inputs.size(); ++k) values.push_back(o.in(k));
  return extreme(o.builder, std::move(values), sign);
}

// slope x + (1 - slope) max(x, 0), where slopes have the shape of x, or are spread to it.
Value leaky(const Operands& o, const Value& slope, const Rounding& rounding) {
  const Value& x = o.in(0);
  if (joined(x.shape, slope.shape) != x.shape || o.opset < 7) refuse("shapes do not fit");
  const Value above = positive(o.builder, x);
  const std::vector<std::size_t> at = spread(slope.shape, x.shape);
  Rows rows(o.builder, x.constant, rounding);
  for (std::size_t i = 0; i < at.size(); ++i) {
    rows.add(x, i, rows.weight(slope.data[at[i]]));
    rows.add(above, i, rows.weight(1 - slope.data[at[i]]));
    rows.end(0);
  }
  return rows.finish(x.shape);
}

}  // namespace

const std::vector<Operator>& sum_operators() {
  using O = const Operands&;
  static const std::vector<Operator> table = {
      {"Abs", 1, " ", [](O o) { return leaky(o, constant_of({}, {-1}), {Rounded::kExact}); }},
      {"LeakyRelu", 1, " alpha ",
       [](O o) {
         const Rat alpha = o.real("alpha", from_ieee(0x3c23d70a, 8, 23));
         return leaky(o, constant_of({}, {alpha}), {Rounded::kMerged});
       }},
      {"Max", kMostOperands, " ", [](O o) { return extreme_of(o, 1); }},
      {"Mean", kMostOperands, " ", [](O o) { return joint_sum(o, true); }},
      {"Min", kMostOperands, " ", [](O o) { return extreme_of(o, -1); }},
      {"Neg", 1, " ",
       [](O o) { return scaled(o.builder, o.in(0), constant_of({}, {-1}), {Rounded::kMerged}); }},
      {"PRelu", 2, " ", [](O o) { return leaky(o, o.constant(1), {Rounded::kMerged}); }},
      {"ReduceMax", 2, " axes keepdims noop_with_empty_axes ",
       [](O o) { return reduced_extreme(o, 1); }, 1, true},
      {"ReduceMean", 2, " axes keepdims noop_with_empty_axes ",
       [](O o) { return reduced_sum(o, true); }, 1, true},
      {"ReduceMin", 2, " axes keepdims noop_with_empty_axes ",
       [](O o) { return reduced_extreme(o, -1); }, 1, true},
      {"ReduceSum", 2, " axes keepdims noop_with_empty_axes ",
       [](O o) { return reduced_sum(o, false); }, 1, true},
      {"Sum", kMostOperands, " ", [](O o) { return joint_sum(o, false); }},
  };
  return table;
}

}  // namespace bf_check
