#pragma once

#include <string>

#include "aot/emit/interface/emit.h"
#include "aot/emit/interface/signature.h"

namespace bf_aot::emit {

// Functions whose work several workers share: docs/proofs/workers.md.

// Whether there are any, and whether a call for one box has rows to share.
bool has_workers(const Plan& plan);
bool shares_rows(const Plan& plan);

// The include of the runtime's part.
std::string parallel_includes(const Plan& plan);

// What stands before them in the header, and of batches what their workers share.
std::string parallel_section(const Plan& plan, const HeaderBytes& bytes);
std::string what_is_shared(const Plan& plan);

// The steps of an entry point as a function that all entry points for it call, and how they do.
// `team`: an expression.
std::string emit_steps_function(const Plan& plan, const Entry& entry, const std::string& steps);
std::string emit_steps_call(const Plan& plan, const Entry& entry, const std::string& team);

FunctionBody parallel_verify_body(const Plan& plan);
FunctionBody parallel_batch_body(const Plan& plan, const ExportedFunction& function);

}  // namespace bf_aot::emit
