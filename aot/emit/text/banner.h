#pragma once

#include <string>

#include "planner/plan/plan_fwd.h"

namespace bf_aot::emit {

// The lines at the top of a file: what it is, what it was made from, who may use it.
std::string emit_banner(const Plan& plan, const std::string& title, const std::string& comment);

// The name in upper case, for macros: "DIGITS_64X2".
std::string upper_case(const std::string& name);

}  // namespace bf_aot::emit
