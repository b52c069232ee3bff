#pragma once

#include <cstddef>
#include <cstdint>

#include "planner/plan/layers.h"

// The loops over what the layers that are not affine read, element by element.

namespace bf_aot {

// The element that element i of a gathered tensor is, or -1 for none.
inline std::int64_t source_of(const GatherMap& map, std::int64_t i) {
  return map.source.empty() ? i : map.source[static_cast<std::size_t>(i)];
}

// visit(output, element of x, element of y, place in the left factor, place in the right one,
// whether it is the output's first) for all products of a contraction, output by output.
template <typename Visit>
void for_each_contracted(const Layer& layer, const Visit& visit) {
  const ContractionShape& shape = layer.contraction;
  const GatherMap& x = std::get<GatherMap>(layer.term(0).map);
  const GatherMap& y = std::get<GatherMap>(layer.term(1).map);
  for (std::int64_t row = 0; row < std::int64_t{shape.batch} * shape.rows; ++row)
    for (std::int64_t j = 0; j < shape.columns; ++j) {
      const std::int64_t column = row / shape.rows * shape.columns + j;
      for (std::int64_t l = 0; l < shape.sums; ++l) {
        const std::int64_t at_x = row * shape.sums + l, at_y = column * shape.sums + l;
        visit(row * shape.columns + j, source_of(x, at_x), source_of(y, at_y), at_x, at_y, l == 0);
      }
    }
}

// visit(begin, end) for the entries of each row, which are the groups of a log-softmax layer.
template <typename Visit>
void for_each_group(const SparseMap& map, const Visit& visit) {
  for (std::size_t i = 0; i + 1 < map.row_start.size(); ++i)
    visit(std::int64_t{map.row_start[i]}, std::int64_t{map.row_start[i + 1]});
}

}  // namespace bf_aot
