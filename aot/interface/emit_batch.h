#pragma once

#include <string>

#include "aot/interface/emit.h"

namespace bf_aot {

// The entry points of several boxes per call; nothing for a plan without them.
// `property`: what NAME_verify decides, or null.
std::string emit_batch_declarations(const Plan& plan, const Property* property);
std::string emit_batch_functions(const Plan& plan, const Property* property,
                                 const Instruments& instruments);

// The include of the routines on boxes side by side; nothing where there are none.
std::string batch_includes(const Plan& plan);

}  // namespace bf_aot
