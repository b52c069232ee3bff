#pragma once

#include "frontend/import/node_import.h"

namespace bf_aot {

// ln softmax of input 0 along one axis. Throws: BF1027 when the groups are too large.
ValueId add_log_softmax(NodeImport& node, std::size_t axis);

}  // namespace bf_aot
