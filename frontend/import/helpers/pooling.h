#pragma once

#include "frontend/import/file/node_import.h"

namespace bf_aot {

// Pool x, [batch, channels, ...], with the attributes of the node.
ValueId add_average_pool(NodeImport& node, ValueId x);
ValueId add_global_average_pool(NodeImport& node, ValueId x);
ValueId add_max_pool(NodeImport& node, ValueId x);

// x, which has the shape of input 0, divided by its norm along an axis; p: 1 or 2.
ValueId add_normalized(NodeImport& node, ValueId x, std::int64_t p, std::int64_t axis);

}  // namespace bf_aot
