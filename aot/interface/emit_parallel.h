#pragma once

#include <string>

#include "aot/interface/emit.h"

namespace bf_aot {

// Entry points whose work several workers share: docs/proofs/workers.md. Nothing for a plan
// without them. `property`: what NAME_verify decides, or null.

// Whether there are any, and whether a call for one box has rows to share.
bool has_workers(const Plan& plan);
bool shares_rows(const Plan& plan);

// The include of the runtime's part.
std::string parallel_includes(const Plan& plan);

// For <stem>.h. Those of batches come behind the other functions of batches.
std::string emit_parallel_declarations(const Plan& plan, const Property* property);
std::string emit_parallel_batch_declarations(const Plan& plan, const Property* property);

// The steps of an entry point as a function that all entry points for it call, and how they do.
// `team`: an expression.
std::string emit_steps_function(const Plan& plan, const Entry& entry, const std::string& steps);
std::string emit_steps_call(const Plan& plan, const Entry& entry, const std::string& team);

// NAME_bounds_parallel and the like; `checks`: what else is refused.
std::string emit_parallel_function(const Plan& plan, const Entry& entry, const std::string& checks);

// The same of batches and verdicts. emit_verify.cpp and emit_batch.cpp make the plain ones.
std::string emit_parallel_batch_functions(const Plan& plan, const Property* property);
std::string emit_parallel_verify(const Plan& plan);

}  // namespace bf_aot
