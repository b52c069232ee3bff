#pragma once

#include <string>

#include "aot/emit/interface/emit.h"
#include "aot/emit/interface/signature.h"

namespace bf_aot::emit {

// The functions of several boxes per call.

// What stands before them in the header, and the include of the routines on boxes side by side.
std::string batch_section(const Plan& plan, const HeaderBytes& bytes);
std::string batch_includes(const Plan& plan);

// Of one worker.
FunctionBody batch_bounds_body(const Plan& plan, const ExportedFunction& function,
                               const calls::Bodies& bodies);
FunctionBody batch_verify_body(const Plan& plan);

}  // namespace bf_aot::emit
