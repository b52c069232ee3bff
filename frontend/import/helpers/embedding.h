#pragma once

#include <cstddef>

#include "frontend/import/file/node_import.h"

namespace bf_aot {

// Rows of the table in input `table` by the indices in input `indices`, which are constant or token
// ids: [indices, row]. Throws: BF1014, BF1018.
ValueId add_looked_up(NodeImport& node, std::size_t table, std::size_t indices);

}  // namespace bf_aot
