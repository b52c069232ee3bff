#pragma once

#include <string>

#include "aot/emit/interface/emit.h"
#include "aot/emit/interface/signature.h"

namespace bf_aot::emit {

// Functions that take several boxes per call.

// The comment before them in the header, and the include of the routines on boxes side by side.
std::string batch_section(const Plan& plan);
std::string batch_includes(const Plan& plan);

// Bodies of NAME_bounds_batch and NAME_verify_batch without an executor.
FunctionBody batch_bounds_body(const Plan& plan, const ExportedFunction& function,
                               const calls::Bodies& bodies);
FunctionBody batch_verify_body(const Plan& plan);

}  // namespace bf_aot::emit
