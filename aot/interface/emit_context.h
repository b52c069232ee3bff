#pragma once

#include <string>

#include "frontend/property.h"
#include "planner/plan/plan.h"

namespace bf_aot {

// What a plan with a context adds to a verifier: NAME_context_init, the cached entry points,
// NAME_cache_counters, and NAME_context_save and _load when something is persistent.

// For <stem>.h; empty for a plan without a context.
std::string emit_context_declarations(const Plan& plan, const Property* property);

// For <stem>.cpp: headers, constants of the unnamed namespace, and functions besides the cached
// entry points.
std::string context_includes(const Plan& plan);
std::string emit_context_constants(const Plan& plan);
std::string emit_context_functions(const Plan& plan);

// The lines of a cached entry point that decide what it may leave out, and those at its end.
std::string emit_begin_call(const Plan& plan, const Entry& entry);
std::string emit_end_call(const Entry& entry);

}  // namespace bf_aot
