#include "planner/tuning/dealt_tile.h"

#include <algorithm>
#include <limits>

namespace bf_aot {
namespace {

// Sums of an item: those in float32 have accumulators of a chunk besides, those in double take two
// registers.
constexpr int kMostSums = 20;
constexpr int kMostRows = 8;  // of a tile
// The most weights in the memory of a group, 24 KiB of it: devices of OpenCL 3.0 have at least
// 32 KiB (4.2, table 5), and 9 groups fit into the 228 KB of a processor of an H100.
constexpr int kMostStaged = 6144;

int turns_for(int count, int at_once) {
  return (count + at_once - 1) / at_once;
}

// Coefficients and weights that an item loads for each term. Columns that no tile has are those of
// another pass.
int loads_of(const DealtTile& tile, int rows, int columns, int items) {
  const int row_tiles = rows / tile.rows, of_rows = row_items(row_tiles, items);
  const int left = columns % tile.columns;
  const int turns = turns_for(columns / tile.columns, items / of_rows);
  const int loads = turns * (tile.rows + tile.columns) + (left > 0 ? tile.rows + left : 0);
  return turns_for(row_tiles, of_rows) * loads;
}

}  // namespace

int row_items(int row_tiles, int items) {
  int made = 1;
  while (2 * made <= row_tiles && items % (2 * made) == 0) made *= 2;
  return made;
}

DealtTile dealt_tile(int rows, int columns, int items) {
  DealtTile best;
  int least = std::numeric_limits<int>::max();
  for (int of_rows = 1; of_rows <= kMostRows; ++of_rows)
    for (int of_columns = 1; of_columns <= columns && of_rows * of_columns <= kMostSums;
         ++of_columns) {
      const DealtTile tile{of_rows, of_columns};
      if (rows % of_rows != 0) continue;
      if (const int loads = loads_of(tile, rows, columns, items); loads < least) {
        least = loads;
        best = tile;
      }
    }
  return best;
}

int staged_columns(const DealtTile& tile, int rows, int columns, int chunk, int items) {
  const int of_rows = row_items(rows / tile.rows, items);
  const int staged = tile.columns * (items / of_rows);
  const int row = std::min(staged, columns / tile.columns * tile.columns) | 1;
  return of_rows > 1 && row * chunk <= kMostStaged ? staged : 0;
}

}  // namespace bf_aot
