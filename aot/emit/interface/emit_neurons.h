#pragma once

#include <string>

#include "aot/emit/interface/emit_verify.h"
#include "frontend/property/property.h"
#include "planner/plan/plan.h"

namespace bf_aot::emit {

// NAME_decide by splits of neurons, and the bounds that give it neurons' intervals.
std::string neurons_comment(const Plan& plan, const Property& property);
std::string ranges_comment(const Plan& plan);
FunctionBody neurons_body(const Plan& plan);

}  // namespace bf_aot::emit
