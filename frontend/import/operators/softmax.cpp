#include "frontend/import/helpers/softmax.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "frontend/algebra/affine_algebra.h"
#include "frontend/import/helpers/builder.h"
#include "frontend/import/helpers/importing.h"
#include "frontend/import/operators/operators.h"

namespace bf_aot {
namespace {

constexpr std::int64_t kOneAxis = 13;

std::int64_t first_axis(const NodeImport& node) {
  return node.int_attribute("axis", node.opset() >= kOneAxis ? -1 : 1);
}

// All rows have n members, and every element is in a row.
bool all_of(const Grouping& rows, std::size_t n) {
  return rows.members.size() * n == rows.group.size() &&
         std::ranges::all_of(rows.members, [&](const auto& row) { return row.size() == n; });
}

// The rows of input 0 without what is -inf. Throws: BF1023 when nothing is left of one.
Grouping rows_of_input(NodeImport& node) {
  Grouping rows = softmax_rows(node, node.input_shape(0), first_axis(node), node.opset());
  if (const std::vector<bool>* const hidden = node.hidden(0)) leave_out(*hidden, rows);
  for (const auto& members : rows.members)
    if (members.empty())
      fail("BF1023", "", "a row of its input is -inf throughout, so that its result is NaN",
           "leave such rows out, or mask them with a large number, as -1e4");
  return rows;
}

// `inside` for each element of a row, and 0 for the others.
ValueId add_constant_rows(NodeImport& node, ValueId x, const Grouping& rows, double inside) {
  const Shape shape = node.shape_of(x);
  Constant value = filled(shape, 0);
  for (const auto& members : rows.members)
    for (const std::int64_t i : members) value.data[static_cast<std::size_t>(i)] = inside;
  return add_scale(node, x, filled(shape, 0), std::move(value));
}

// x_i - x_j of rows of two.
ValueId add_leads(NodeImport& node, ValueId x, const Grouping& rows, double sign) {
  const Shape shape = node.shape_of(x);
  RowBuilder leads(node);
  for (std::int64_t i = 0; i < rows.elements(); ++i) {
    const auto& pair =
        rows.members[static_cast<std::size_t>(rows.group[static_cast<std::size_t>(i)])];
    leads.begin();
    leads.add(i, {sign, 0});
    leads.add(pair[pair[0] == i ? 1 : 0], {-sign, 0});
  }
  return std::move(leads).finish_sums(x, shape);
}

// ln softmax of each row, one row after the other.
ValueId add_rows(NodeImport& node, ValueId x, const Grouping& rows) {
  LogSoftmax op{{0}, {}};
  for (const auto& members : rows.members) {
    op.source.insert(op.source.end(), members.begin(), members.end());
    op.row_start.push_back(static_cast<std::int64_t>(op.source.size()));
  }
  const Shape shape = {op.row_start.back()};
  node.reader().charge(shape, "");
  return node.add(std::move(op), {x}, shape);
}

// Returns what add_rows() made, or a function of it, in the order of the elements of `shape`. Those
// of no row are 0.
ValueId add_in_order(NodeImport& node, ValueId by_rows, const Grouping& rows, const Shape& shape) {
  std::vector<std::int64_t> place(rows.group.size(), -1);
  std::int64_t next = 0;
  for (const auto& members : rows.members)
    for (const std::int64_t i : members) place[static_cast<std::size_t>(i)] = next++;
  if (next == rows.elements()) return add_index_map(node, by_rows, shape, [&] { return place; });
  RowBuilder placed(node);
  for (const std::int64_t from : place) {
    placed.begin();
    if (from >= 0) placed.add(from);
  }
  return std::move(placed).finish_sums(by_rows, shape);
}

void import_softmax(NodeImport& node) {
  node.emit(add_softmax(node, node.input(0), rows_of_input(node)));
}

// What is -inf stays so.
void import_log_softmax(NodeImport& node) {
  const ValueId y = add_log_softmax(node, node.input(0), rows_of_input(node));
  if (const std::vector<bool>* const hidden = node.hidden(0))
    node.define(0, Masked{y, *hidden});
  else
    node.emit(y);
}

}  // namespace

Grouping softmax_rows(NodeImport& node, const Shape& shape, std::int64_t axis, std::int64_t opset) {
  const std::size_t first = checked_axis(axis, shape.size());
  std::vector<bool> along(shape.size(), false);
  along[first] = true;
  if (opset < kOneAxis)
    std::fill(along.begin() + static_cast<std::ptrdiff_t>(first), along.end(), true);
  return group_along(node, shape, along);
}

void leave_out(const std::vector<bool>& hidden, Grouping& rows) {
  for (std::vector<std::int64_t>& members : rows.members)
    std::erase_if(members, [&](std::int64_t i) { return hidden[static_cast<std::size_t>(i)]; });
}

// The powers of LogSoftmax; of two elements that is sigmoid(x_i - x_j).
ValueId add_softmax(NodeImport& node, ValueId x, const Grouping& rows) {
  if (std::ranges::all_of(rows.members, [](const auto& row) { return row.size() == 1; }))
    return add_constant_rows(node, x, rows, 1);
  if (all_of(rows, 2))
    return add_unary(node, add_leads(node, x, rows, 1), {FunctionKind::kSigmoid});
  const Shape shape = node.shape_of(x);
  const ValueId logarithms = add_rows(node, x, rows);
  return add_in_order(node, add_unary(node, logarithms, {FunctionKind::kExp}), rows, shape);
}

// Of two elements that is -softplus(x_j - x_i).
ValueId add_log_softmax(NodeImport& node, ValueId x, const Grouping& rows) {
  if (std::ranges::all_of(rows.members, [](const auto& row) { return row.size() == 1; }))
    return add_constant_rows(node, x, rows, 0);
  const Shape shape = node.shape_of(x);
  if (!all_of(rows, 2)) return add_in_order(node, add_rows(node, x, rows), rows, shape);
  const ValueId of_lead = add_unary(node, add_leads(node, x, rows, -1), {FunctionKind::kSoftplus});
  return add_scale(node, of_lead, -1, 0);
}

OperatorRows softmax_operators() {
  static constexpr OperatorImporter kRows[] = {
      {"LogSoftmax", import_log_softmax, 1, 1, 1, {"axis"}},
      {"Softmax", import_softmax, 1, 1, 1, {"axis"}},
  };
  return kRows;
}

}  // namespace bf_aot
