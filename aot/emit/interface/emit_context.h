#pragma once

#include <string>

#include "aot/emit/interface/signature.h"
#include "frontend/property/property.h"
#include "planner/plan/plan.h"

namespace bf_aot::emit {

// Additions to a verifier whose plan has a context: NAME_context_init, the cached entry points,
// NAME_cache_counters, and NAME_context_save and _load when something is persistent.

// The comment in the header before a function, with the macros that it needs; empty: the function
// is like the one before.
std::string context_comment(const Plan& plan, const Signature& signature);

// Text for <stem>.cpp: headers, constants of the unnamed namespace, and bodies of functions other
// than the cached entry points.
std::string context_includes(const Plan& plan);
std::string emit_context_constants(const Plan& plan);
FunctionBody context_body(const Plan& plan, const Signature& signature);

// The lines of a cached entry point that decide what it may leave out, and those at its end.
std::string emit_begin_call(const Plan& plan, const Entry& entry);
std::string emit_end_call(const Entry& entry);

}  // namespace bf_aot::emit
