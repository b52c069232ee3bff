#pragma once

#include <string>

#include "frontend/property.h"
#include "planner/plan/plan.h"

namespace bf_aot {

// What --decide adds to a verifier with a compiled-in property: NAME_decide, branch and bound.
// Empty without it.

// For <stem>.h; the first with rows of a specification alone, too.
std::string emit_coefficients_declaration(const Plan& plan);
std::string emit_decide_declarations(const Plan& plan, const Property& property);

// For <stem>.cpp: constants of the unnamed namespace, and the entry point.
std::string decide_includes(const Plan& plan);
std::string emit_split_weights(const Plan& plan);
std::string emit_decide_function(const Plan& plan);

}  // namespace bf_aot
