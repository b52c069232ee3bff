#pragma once

#include <string>

#include "frontend/property/property.h"
#include "planner/plan/plan.h"

namespace bf_aot::emit {

// The text of <stem>.cpp for a plan of arithmetic integer; property: null, or that of the plan. It
// has no operation on floats, and calls no function of a library that has one.
std::string emit_integer_source(const Plan& plan, const std::string& stem, const Property* property,
                                bool marks);

}  // namespace bf_aot::emit
