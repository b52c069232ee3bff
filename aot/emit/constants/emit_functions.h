#pragma once

#include <string>

#include "planner/functions/function_table.h"

namespace bf_aot::emit {

// C++17 that defines `constexpr bf::FunctionView NAME` and the arrays that it points to, for a file
// that includes runtime/bf/functions/functions.h. The arrays are named NAME + "Starts" and the
// like. Deterministic.
std::string emit_function_table(const FunctionTable& table, const std::string& name);

}  // namespace bf_aot::emit
