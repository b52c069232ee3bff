#pragma once

#include <string>

#include "aot/emit/interface/header_bytes.h"
#include "aot/emit/interface/signature.h"
#include "planner/plan/plan.h"

namespace bf_aot::emit {

// Several methods in one verifier: an entry point for each, and calls within a limit, which make
// the bounds of the cheapest method and then those of tighter ones while there is time.

// The comment and the macros before NAME_bounds_within in the header.
std::string within_section(const Plan& plan, const HeaderBytes& bytes);

// The comment of a function of one method, or within a limit.
std::string methods_comment(const Plan& plan, const Signature& signature);

// Includes of verifiers with several methods, else nothing.
std::string within_includes(const Plan& plan);

// The steps of an entry that can stop, as a function that returns false where it stopped; and the
// body of the entry point that calls it without a limit.
std::string stopping_steps(const Plan& plan, const Entry& entry, const std::string& steps);
std::string unlimited_call(const Plan& plan, const Entry& entry);

FunctionBody bounds_within_body(const Plan& plan, const Signature& signature);
FunctionBody verify_within_body(const Plan& plan);

}  // namespace bf_aot::emit
