#include "frontend/import/helpers/softmax.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "frontend/algebra/affine_algebra.h"
#include "frontend/import/helpers/builder.h"
#include "frontend/import/helpers/grouping.h"
#include "frontend/import/helpers/importing.h"
#include "frontend/import/operators/operators.h"

namespace bf_aot {
namespace {

// Every pair of elements of a group needs a difference of its own.
constexpr std::int64_t kMostDifferences = std::int64_t{1} << 22;

Grouping checked_groups(NodeImport& node, const std::vector<bool>& along) {
  Grouping groups = group_along(node, node.input_shape(0), along);
  const std::int64_t each = groups.size() - 1;
  if (each > 0 && groups.elements() > kMostDifferences / each)
    fail("BF1027", "",
         fmt::format("{} along {} elements, {} times, needs {} differences, the limit is {}",
                     node.op_type(), groups.size(), groups.count(), groups.elements() * each,
                     kMostDifferences),
         "leave the operator out where the specification compares its inputs as well");
  return groups;
}

constexpr std::int64_t kOneAxis = 13;

// Exponents of Softmax are capped, and the result's error pays for that. Sums of all powers are
// floats, and so are their inverses.
//
// Proof. 2^b >= n; the cap is T = 87 - 0.7 b: n e^T <= e^87 (2 e^-0.7)^b < e^87 (1 - 0.006)^b,
// which is a float. e^-87 < 2^-125, as 87 > 125 ln 2, and e^(0.7 b) < 2^(1.01 b) < 2^(b + 1) for b
// < 100: e^-T < 2^(b - 124).
struct Cap {
  double exponent, error;
};
Cap cap_of(std::int64_t n) {
  int b = 0;
  while ((std::int64_t{1} << b) < n) ++b;
  return {87 - 0.7 * b, std::ldexp(1, b - 124)};
}

Grouping groups_of(NodeImport& node, std::int64_t axis, std::int64_t opset) {
  const Shape& shape = node.input_shape(0);
  std::vector<bool> along(shape.size(), false);
  if (opset >= kOneAxis) {
    along[checked_axis(axis, shape.size())] = true;
  } else {
    const auto first = static_cast<std::ptrdiff_t>(checked_axis(axis, shape.size()));
    std::fill(along.begin() + first, along.end(), true);
  }
  return checked_groups(node, along);
}

std::int64_t first_axis(const NodeImport& node) {
  return node.int_attribute("axis", node.opset() >= kOneAxis ? -1 : 1);
}

// Returns the elements that i is compared with, itself among them; none where it was left out.
std::span<const std::int64_t> group_of(const Grouping& groups, std::int64_t i) {
  const auto& members =
      groups.members[static_cast<std::size_t>(groups.group[static_cast<std::size_t>(i)])];
  if (!std::ranges::binary_search(members, i)) return {};
  return members;
}

// visit(i, j) for all pairs of different elements of one group, in the order of i, then j.
template <typename Visit>
void for_each_pair(const Grouping& groups, const Visit& visit) {
  for (std::int64_t i = 0; i < groups.elements(); ++i)
    for (std::int64_t j : group_of(groups, i))
      if (i != j) visit(i, j);
}

// Makes the Softmax of groups of one element each: 1 for that, and 0 for the hidden ones.
ValueId add_alone(NodeImport& node, ValueId x, const std::vector<bool>& hidden) {
  Constant one = filled(node.shape_of(x), 1);
  for (std::size_t i = 0; i < hidden.size(); ++i)
    if (hidden[i]) one.data[i] = 0;
  return add_scale(node, x, filled(node.shape_of(x), 0), std::move(one));
}

std::int64_t most_members(const Grouping& groups) {
  std::size_t most = 0;
  for (const auto& members : groups.members) most = std::max(most, members.size());
  return static_cast<std::int64_t>(most);
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

// x_j - x_i for all pairs.
ValueId add_differences(NodeImport& node, ValueId x, const Grouping& groups) {
  RowBuilder rows(node);
  for_each_pair(groups, [&](std::int64_t i, std::int64_t j) {
    rows.begin();
    rows.add(j);
    rows.add(i, {-1, 0});
  });
  const std::int64_t count = rows.rows();
  return std::move(rows).finish_sums(x, {count});
}

// Adds for each element the sum over its pairs, plus offset.
ValueId add_pair_sums(NodeImport& node, ValueId pairs, const Grouping& groups, double offset) {
  RowBuilder rows(node);
  std::int64_t pair = 0;
  for (std::int64_t i = 0; i < groups.elements(); ++i) {
    rows.begin({offset, 0});
    for (const std::int64_t j : group_of(groups, i))
      if (i != j) rows.add(pair++);
  }
  return std::move(rows).finish_sums(pairs, node.input_shape(0));
}

// sum over j of exp(x_j - x_i), or of another function of the differences; the term j = i is 1.
ValueId add_exponentials(NodeImport& node, ValueId x, const Grouping& groups,
                         const Function& exponential) {
  const ValueId differences = add_differences(node, x, groups);
  return add_pair_sums(node, add_unary(node, differences, exponential), groups, 1);
}

// x_i - x_j of groups of two.
ValueId add_leads(NodeImport& node, ValueId x, const Grouping& groups, double sign) {
  RowBuilder rows(node);
  for_each_pair(groups, [&](std::int64_t i, std::int64_t j) {
    rows.begin();
    rows.add(i, {sign, 0});
    rows.add(j, {-sign, 0});
  });
  return std::move(rows).finish_sums(x, node.input_shape(0));
}

// -ln sum_j exp(x_j - x_i); of two elements that is -softplus(x_j - x_i).
ValueId add_log_softmax(NodeImport& node, const Grouping& groups) {
  const ValueId x = node.input(0);
  if (groups.size() == 1) return add_scale(node, x, 0, 0);
  const ValueId sum =
      groups.size() == 2
          ? add_unary(node, add_leads(node, x, groups, -1), {FunctionKind::kSoftplus})
          : add_unary(node, add_exponentials(node, x, groups, {FunctionKind::kExp}),
                      {FunctionKind::kLog});
  return add_scale(node, sum, -1, 0);
}

void import_softmax(NodeImport& node) {
  node.emit(add_softmax(node, node.input(0), first_axis(node), node.opset()));
}

void import_log_softmax(NodeImport& node) {
  node.emit(add_log_softmax(node, groups_of(node, first_axis(node), node.opset())));
}

}  // namespace

// 1 / sum_j exp(x_j - x_i); of two elements that is sigmoid(x_i - x_j). The sum is at least 1 and
// the result between 0 and 1: saying so changes no value, but intervals lose it in wide boxes.
//
// Exponents are capped at T of cap_of(), as a masked element's are some 1e4: bounds stay finite and
// evaluation in exact arithmetic does not leave the range of exponents. Proof. s' <= s for the
// capped sum s', and they are equal unless some x_j - x_i > T; then s' > e^T and 0 < 1 / s <= 1 /
// s' < e^-T, which is at most the result's error.
//
// An element that is -inf takes no part, and its result is 0.
ValueId add_softmax(NodeImport& node, ValueId x, std::int64_t axis, std::int64_t opset) {
  Grouping groups = groups_of(node, axis, opset);
  const std::vector<bool>* const hidden = node.hidden();
  if (hidden != nullptr) {
    leave_out(*hidden, groups);
    if (std::ranges::all_of(groups.members, [](const auto& group) { return group.size() == 1; }))
      return add_alone(node, x, *hidden);
  }
  if (groups.size() == 1 && hidden == nullptr) return add_scale(node, x, 0, 1);
  if (groups.size() == 2 && hidden == nullptr)
    return add_unary(node, add_leads(node, x, groups, 1), {FunctionKind::kSigmoid});
  const double infinity = std::numeric_limits<double>::infinity();
  const Cap cap = cap_of(most_members(groups));
  const ValueId powers =
      add_exponentials(node, x, groups, {FunctionKind::kCappedExp, cap.exponent});
  const ValueId sum = add_unary(node, powers, {FunctionKind::kClip, 1, infinity});
  const ValueId inverse = add_unary(node, sum, {FunctionKind::kReciprocal});
  const Shape shape = node.shape_of(inverse);
  Constant factor = filled(shape, 1), offset = filled(shape, 0);
  offset.error.assign(offset.data.size(), cap.error);
  for (std::size_t i = 0; hidden != nullptr && i < hidden->size(); ++i)
    if ((*hidden)[i]) factor.data[i] = offset.error[i] = 0;
  const ValueId known = add_scale(node, inverse, std::move(factor), std::move(offset));
  return add_unary(node, known, {FunctionKind::kClip, 0, 1});
}

ValueId add_log_softmax(NodeImport& node, std::size_t axis) {
  std::vector<bool> along(node.input_shape(0).size(), false);
  along[axis] = true;
  return add_log_softmax(node, checked_groups(node, along));
}

OperatorRows softmax_operators() {
  static constexpr OperatorImporter kRows[] = {
      {"LogSoftmax", import_log_softmax, 1, 1, 1, {"axis"}},
      {"Softmax", import_softmax, 1, 1, 1, {"axis"}},
  };
  return kRows;
}

}  // namespace bf_aot
