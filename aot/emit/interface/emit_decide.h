#pragma once

#include <string>

#include "aot/emit/interface/signature.h"
#include "frontend/property/property.h"
#include "planner/plan/plan.h"

namespace bf_aot::emit {

// Additions by --decide to a verifier with a compiled-in property: NAME_decide, branch and bound.

// Comments in the header before the functions, with the macros that they need.
std::string coefficients_comment(const Plan& plan);
std::string decide_comment(const Plan& plan, const Property& property);

// Text for <stem>.cpp: constants of the unnamed namespace, and the body.
std::string decide_includes(const Plan& plan);
std::string emit_split_weights(const Plan& plan);
FunctionBody decide_body(const Plan& plan);

}  // namespace bf_aot::emit
