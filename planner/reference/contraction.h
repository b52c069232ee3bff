#pragma once

#include "planner/plan/layers.h"
#include "planner/reference/linear.h"

namespace bf_aot::reference {

// visit(output, element of x, element of y, place in the left factor, place in the right one,
// whether it is the output's first) for all products of a contraction, output by output.
template <typename Visit>
void for_each_contracted(const Layer& layer, const Visit& visit) {
  const ContractionShape& shape = layer.contraction;
  const GatherMap& x = std::get<GatherMap>(layer.term(0).map);
  const GatherMap& y = std::get<GatherMap>(layer.term(1).map);
  for (Eigen::Index row = 0; row < Eigen::Index{shape.batch} * shape.rows; ++row)
    for (Eigen::Index j = 0; j < shape.columns; ++j) {
      const Eigen::Index column = row / shape.rows * shape.columns + j;
      for (Eigen::Index l = 0; l < shape.sums; ++l) {
        const Eigen::Index at_x = row * shape.sums + l, at_y = column * shape.sums + l;
        visit(row * shape.columns + j, source_of(x, at_x), source_of(y, at_y), at_x, at_y, l == 0);
      }
    }
}

}  // namespace bf_aot::reference
