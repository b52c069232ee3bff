#pragma once

#include <cstdint>
#include <vector>

#include "frontend/import/helpers/builder.h"

namespace bf_aot {

// A partition of a tensor's elements: group_i of element i, 0 to count - 1, and the members of each
// group in rising order. What normalisations and Softmax work along.
struct Grouping {
  std::vector<std::int64_t> group;
  std::vector<std::vector<std::int64_t>> members;

  std::int64_t count() const { return static_cast<std::int64_t>(members.size()); }
  std::int64_t elements() const { return static_cast<std::int64_t>(group.size()); }
  // Members of each group; all groups are of one size.
  std::int64_t size() const { return static_cast<std::int64_t>(members.front().size()); }
};

// Elements that differ in the marked dimensions alone are in one group; groups in row-major order
// of the other dimensions. The tensor must have elements. Throws: BF1005.
Grouping group_along(NodeImport& node, const Shape& shape, const std::vector<bool>& along);

// One number per group: factor times the sum of its members, plus offset.
ValueId add_group_sums(NodeImport& node, ValueId x, const Grouping& groups, Bounded factor,
                       double offset = 0);
// Repeats each group's number for all of its elements; the result has `shape`.
ValueId add_ungroup(NodeImport& node, ValueId per_group, const Grouping& groups,
                    const Shape& shape);
// Subtracts from each element the mean of its group; the result has the shape of x.
ValueId add_centered(NodeImport& node, ValueId x, const Grouping& groups);

// 1 / count.
Bounded one_over(std::int64_t count);

}  // namespace bf_aot
