#pragma once

#include <string>

#include "aot/emit/text/dialect.h"
#include "planner/functions/float_table.h"
#include "planner/functions/function_table.h"

namespace bf_aot::emit {

// Code that defines the constant NAME of type bf::FunctionView or, in C, bf_function, and the
// arrays that it points to, for a file that includes runtime/bf/functions/functions.h or
// runtime/bf/c/functions.h. The arrays are named NAME + "Starts" and the like. Deterministic.
std::string emit_function_table(const FunctionTable& table, const std::string& name,
                                const Dialect& dialect = Dialect());

// Defines the constant NAME of type bf::FloatFunction or, in C, bf_float_function in the same way,
// for a file that includes runtime/bf/functions/float_functions.h or
// runtime/bf/c/float_functions.h.
std::string emit_float_table(const FloatTable& table, const std::string& name,
                             const Dialect& dialect = Dialect());

}  // namespace bf_aot::emit
