#pragma once

// How the items of a device's group share a product: sets of items have tiles of rows, and the
// items of a set have tiles of columns of these rows.
namespace bf_aot {

// Rows and columns that an item sums at a time.
struct DealtTile {
  int rows = 1, columns = 1;
};

// The items of a group that have rows of their own where there are so many tiles of rows: a power
// of two that divides the group, so that the others are whole sets of as many.
int row_items(int row_tiles, int items);

// The tile with which an item loads least for each term of the sums, of those whose sums fit an
// item's registers. Rows of a tile divide `rows`.
DealtTile dealt_tile(int rows, int columns, int items);

// The columns whose weights, for a chunk of terms, items copy to memory of the group: those that
// they sum at once. 0 where no two items read a weight, or where that memory would leave room for
// few groups.
int staged_columns(const DealtTile& tile, int rows, int columns, int chunk, int items);

}  // namespace bf_aot
