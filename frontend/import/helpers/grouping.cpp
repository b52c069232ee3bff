#include "frontend/import/helpers/grouping.h"

#include "frontend/graph/shapes.h"

namespace bf_aot {

Bounded one_over(std::int64_t count) {
  return divide({1, 0}, {static_cast<double>(count), 0});
}

Grouping group_along(NodeImport& node, const Shape& shape, const std::vector<bool>& along) {
  constexpr std::int64_t kElements = 8;  // what one element of a grouping takes, list and all
  node.check_size(shape);
  node.reader().charge({kElements * element_count(shape)}, "");
  Grouping result;
  Shape kept = shape;
  for (std::size_t d = 0; d < shape.size(); ++d)
    if (along[d]) kept[d] = 1;
  const std::vector<std::int64_t> strides = row_major_strides(kept);
  result.members.resize(static_cast<std::size_t>(element_count(kept)));
  result.group.resize(static_cast<std::size_t>(element_count(shape)));
  std::vector<std::int64_t> index(shape.size(), 0);
  for (std::size_t i = 0; i < result.group.size(); ++i) {
    std::int64_t group = 0;
    for (std::size_t d = 0; d < shape.size(); ++d)
      if (!along[d]) group += index[d] * strides[d];
    result.group[i] = group;
    result.members[static_cast<std::size_t>(group)].push_back(static_cast<std::int64_t>(i));
    for (std::size_t d = shape.size(); d-- > 0;) {
      if (++index[d] < shape[d]) break;
      index[d] = 0;
    }
  }
  if (result.group.empty())
    fail("BF1014", "", "a tensor of shape " + to_string(shape) + " has no elements");
  return result;
}

ValueId add_group_sums(NodeImport& node, ValueId x, const Grouping& groups, Bounded factor,
                       double offset) {
  RowBuilder rows(node);
  for (const std::vector<std::int64_t>& members : groups.members) {
    rows.begin({offset, 0});
    for (std::int64_t member : members) rows.add(member, factor);
  }
  return std::move(rows).finish_sums(x, {groups.count()});
}

ValueId add_ungroup(NodeImport& node, ValueId per_group, const Grouping& groups,
                    const Shape& shape) {
  return add_index_map(node, per_group, shape, [&] { return groups.group; });
}

// A small difference is one sparse map, so that intervals know that both of its terms are the same
// x; a large one is a subtraction of the mean.
ValueId add_centered(NodeImport& node, ValueId x, const Grouping& groups) {
  constexpr std::int64_t kMostEntries = std::int64_t{1} << 20;
  const Shape shape = node.shape_of(x);
  const Bounded share = one_over(groups.size());
  if (groups.elements() > kMostEntries / groups.size()) {
    const ValueId mean = add_group_sums(node, x, groups, share);
    return add_binary(node, Binary::Kind::kSub, x, add_ungroup(node, mean, groups, shape));
  }
  const Bounded own = bf_aot::add({1, 0}, negate(share));
  RowBuilder rows(node);
  for (std::int64_t i = 0; i < groups.elements(); ++i) {
    rows.begin();
    const std::int64_t group = groups.group[static_cast<std::size_t>(i)];
    for (std::int64_t member : groups.members[static_cast<std::size_t>(group)])
      rows.add(member, member == i ? own : negate(share));
  }
  return std::move(rows).finish_sums(x, shape);
}

}  // namespace bf_aot
