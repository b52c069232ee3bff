#pragma once

#include <vector>

#include "frontend/import/file/node_import.h"
#include "frontend/import/helpers/grouping.h"

namespace bf_aot {

// The rows of Softmax in a tensor: before opset 13 everything from the axis on is one row, later
// the axis alone. Throws: BF1014, BF1005.
Grouping softmax_rows(NodeImport& node, const Shape& shape, std::int64_t axis, std::int64_t opset);

// Leaves out of each row the elements that are hidden, which are -inf. Rows of none stay.
void leave_out(const std::vector<bool>& hidden, Grouping& rows);

// Softmax of each row of x. An element of no row is 0. Rows have members; there may be none.
ValueId add_softmax(NodeImport& node, ValueId x, const Grouping& rows);

// ln softmax of each row, likewise.
ValueId add_log_softmax(NodeImport& node, ValueId x, const Grouping& rows);

}  // namespace bf_aot
