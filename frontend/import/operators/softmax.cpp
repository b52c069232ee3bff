#include "frontend/import/helpers/softmax.h"

#include <algorithm>
#include <vector>

#include "frontend/algebra/affine_algebra.h"
#include "frontend/import/helpers/builder.h"
#include "frontend/import/helpers/grouping.h"
#include "frontend/import/helpers/importing.h"
#include "frontend/import/operators/operators.h"

namespace bf_aot {
namespace {

constexpr std::int64_t kOneAxis = 13;

Grouping groups_of(NodeImport& node, const Shape& shape, std::int64_t axis, std::int64_t opset) {
  std::vector<bool> along(shape.size(), false);
  if (opset >= kOneAxis) {
    along[checked_axis(axis, shape.size())] = true;
  } else {
    const auto first = static_cast<std::ptrdiff_t>(checked_axis(axis, shape.size()));
    std::fill(along.begin() + first, along.end(), true);
  }
  return group_along(node, shape, along);
}

std::int64_t first_axis(const NodeImport& node) {
  return node.int_attribute("axis", node.opset() >= kOneAxis ? -1 : 1);
}

// Makes the Softmax of groups of one element each: 1 for that, and 0 for the hidden ones.
ValueId add_alone(NodeImport& node, ValueId x, const std::vector<bool>& hidden) {
  Constant one = filled(node.shape_of(x), 1);
  for (std::size_t i = 0; i < hidden.size(); ++i)
    if (hidden[i]) one.data[i] = 0;
  return add_scale(node, x, filled(node.shape_of(x), 0), std::move(one));
}

// Leaves out of each group the elements that are -inf. Throws: BF1023 when none is left.
void leave_out(const std::vector<bool>& hidden, Grouping& groups) {
  for (std::vector<std::int64_t>& members : groups.members) {
    std::erase_if(members, [&](std::int64_t i) { return hidden[static_cast<std::size_t>(i)]; });
    if (members.empty())
      fail("BF1023", "", "a row of its input is -inf throughout, so that its result is NaN",
           "leave such rows out, or mask them with a large number, as -1e4");
  }
}

// x_i - x_j of groups of two.
ValueId add_leads(NodeImport& node, ValueId x, const Grouping& groups, double sign) {
  RowBuilder rows(node);
  for (std::int64_t i = 0; i < groups.elements(); ++i) {
    const auto& pair =
        groups.members[static_cast<std::size_t>(groups.group[static_cast<std::size_t>(i)])];
    rows.begin();
    rows.add(i, {sign, 0});
    rows.add(pair[pair[0] == i ? 1 : 0], {-sign, 0});
  }
  return std::move(rows).finish_sums(x, Shape(node.shape_of(x)));
}

// ln softmax of each group, one group after the other.
ValueId add_groups(NodeImport& node, ValueId x, const Grouping& groups) {
  LogSoftmax op{{0}, {}};
  for (const auto& members : groups.members) {
    op.source.insert(op.source.end(), members.begin(), members.end());
    op.row_start.push_back(static_cast<std::int64_t>(op.source.size()));
  }
  const Shape shape = {op.row_start.back()};
  node.reader().charge(shape, "");
  return node.add(std::move(op), {x}, shape);
}

// Returns what add_groups() made, or a function of it, in the order of the elements. Those of no
// group are 0.
ValueId add_in_order(NodeImport& node, ValueId grouped, const Shape& shape,
                     const Grouping& groups) {
  std::vector<std::int64_t> place(groups.group.size(), -1);
  std::int64_t next = 0;
  for (const auto& members : groups.members)
    for (const std::int64_t i : members) place[static_cast<std::size_t>(i)] = next++;
  if (next == groups.elements()) return add_index_map(node, grouped, shape, [&] { return place; });
  RowBuilder rows(node);
  for (const std::int64_t from : place) {
    rows.begin();
    if (from >= 0) rows.add(from);
  }
  return std::move(rows).finish_sums(grouped, shape);
}

// Of two elements that is -softplus(x_j - x_i).
ValueId add_log_softmax(NodeImport& node, const Grouping& groups) {
  const ValueId x = node.input(0);
  if (groups.size() == 1) return add_scale(node, x, 0, 0);
  if (groups.size() > 2)
    return add_in_order(node, add_groups(node, x, groups), Shape(node.shape_of(x)), groups);
  const ValueId of_lead =
      add_unary(node, add_leads(node, x, groups, -1), {FunctionKind::kSoftplus});
  return add_scale(node, of_lead, -1, 0);
}

void import_softmax(NodeImport& node) {
  node.emit(add_softmax(node, node.input(0), first_axis(node), node.opset()));
}

void import_log_softmax(NodeImport& node) {
  node.emit(
      add_log_softmax(node, groups_of(node, node.input_shape(0), first_axis(node), node.opset())));
}

}  // namespace

// The powers of LogSoftmax; of two elements that is sigmoid(x_i - x_j). An element that is -inf
// takes no part, and its result is 0.
ValueId add_softmax(NodeImport& node, ValueId x, std::int64_t axis, std::int64_t opset) {
  const Shape shape = node.shape_of(x);
  Grouping groups = groups_of(node, shape, axis, opset);
  const std::vector<bool>* const hidden = node.hidden();
  if (hidden != nullptr) {
    leave_out(*hidden, groups);
    if (std::ranges::all_of(groups.members, [](const auto& group) { return group.size() == 1; }))
      return add_alone(node, x, *hidden);
  }
  if (groups.size() == 1 && hidden == nullptr) return add_scale(node, x, 0, 1);
  if (groups.size() == 2 && hidden == nullptr)
    return add_unary(node, add_leads(node, x, groups, 1), {FunctionKind::kSigmoid});
  const ValueId logarithms = add_groups(node, x, groups);
  return add_in_order(node, add_unary(node, logarithms, {FunctionKind::kExp}), shape, groups);
}

ValueId add_log_softmax(NodeImport& node, std::size_t axis) {
  std::vector<bool> along(node.input_shape(0).size(), false);
  along[axis] = true;
  return add_log_softmax(node, group_along(node, node.input_shape(0), along));
}

OperatorRows softmax_operators() {
  static constexpr OperatorImporter kRows[] = {
      {"LogSoftmax", import_log_softmax, 1, 1, 1, {"axis"}},
      {"Softmax", import_softmax, 1, 1, 1, {"axis"}},
  };
  return kRows;
}

}  // namespace bf_aot
