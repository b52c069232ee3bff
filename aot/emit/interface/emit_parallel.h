#pragma once

#include <string>

#include "aot/emit/interface/emit.h"
#include "aot/emit/interface/signature.h"

namespace bf_aot::emit {

// Functions whose work is shared among several workers: docs/proofs/workers.md.

// Returns whether the plan has such functions, and whether a call for one box has rows to share.
bool has_workers(const Plan& plan);
bool shares_rows(const Plan& plan);

// The include of the runtime's functions for workers.
std::string parallel_includes(const Plan& plan);

// The comment before them in the header, and a sentence that says what workers of batches share.
std::string parallel_section(const Plan& plan);
std::string what_is_shared(const Plan& plan);

// The steps of an entry as a function, which all entry points for it call, and the text of such a
// call. `team`: an expression.
std::string emit_steps_function(const Plan& plan, const Entry& entry, const std::string& steps);
std::string emit_steps_call(const Plan& plan, const Entry& entry, const std::string& team);

FunctionBody parallel_verify_body(const Plan& plan);
FunctionBody parallel_batch_body(const Plan& plan, const ExportedFunction& function);

}  // namespace bf_aot::emit
