#pragma once

#include "frontend/import/file/node_import.h"

// Elements of a tensor compared along one axis.

namespace bf_aot {

// Row r, element i of a tensor is at(r, i).
struct Rows {
  std::int64_t outer = 1, length = 1, inner = 1;
  std::int64_t rows() const { return outer * inner; }
  std::int64_t at(std::int64_t row, std::int64_t i) const {
    return (row / inner * length + i) * inner + row % inner;
  }
};

Rows rows_along(const Shape& shape, std::size_t axis);

// Throws: BF1026 when comparing all pairs of each row is too much.
void check_comparisons(const NodeImport& node, const Rows& rows);

// [row][i][j], j != i, flattened: 1 when x_i beats x_j, else 0. Of equals the first wins, or the
// last. `sign` -1 prefers the smallest.
ValueId add_wins(NodeImport& node, ValueId x, const Rows& rows, bool last_wins, double sign);

// [row][i]: 1 when x_i is its row's winner, which beats all others: the least of its comparisons.
ValueId add_winner(NodeImport& node, ValueId x, const Rows& rows, bool last_wins, double sign);

}  // namespace bf_aot
