#pragma once

#include <string>

#include "planner/plan/plan_fwd.h"

namespace bf_aot::emit {

// The lines at the top of a file: what it is, what it was made from, who may use it.
std::string emit_banner(const Plan& plan, const std::string& title, const std::string& comment);

// The version of this program, and the state of its sources where that is known: "0.2.0
// (1a2b3c4d)".
std::string version_text();

// The name in upper case, for macros: "DIGITS_64X2".
std::string upper_case(const std::string& name);

}  // namespace bf_aot::emit
