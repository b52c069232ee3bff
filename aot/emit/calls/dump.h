#pragma once

#include <string>

#include "planner/lowering/lowered.h"

namespace bf_aot::calls {

// Prints the call programs of all entries: a call a line with its arguments, loops indented.
std::string dump_calls(const Lowered& lowered);

}  // namespace bf_aot::calls
