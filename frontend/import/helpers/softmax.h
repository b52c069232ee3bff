#pragma once

#include "frontend/import/file/node_import.h"

namespace bf_aot {

// Softmax of x. Before opset 13 everything from the axis on is one
// group, later the axis alone.
ValueId add_softmax(NodeImport& node, ValueId x, std::int64_t axis, std::int64_t opset);

// ln softmax of input 0 along one axis.
ValueId add_log_softmax(NodeImport& node, std::size_t axis);

}  // namespace bf_aot
