#pragma once

#include <string>

#include "aot/emit/text/dialect.h"
#include "aot/emit/text/fill_in.h"
#include "planner/plan/plan.h"

namespace bf_aot::emit {

// Text of an exported function's signature: the only place that prints one.

// The code of a function after its checks, and the static functions that stand before it.
struct FunctionBody {
  std::string text;
  std::string helpers;
};

// The prototype of a function, "bf_status net_bounds(const float *lower, ..)", without what
// follows.
std::string prototype(const std::string& name, const Signature& signature, Language language);

// A call of a verifier's function from another function, with the latter's own arguments and null
// for parameters that it lacks: "net_other(lower, .., nullptr)". `name`: of the verifier that is
// called.
std::string call_of(const Dialect& dialect, const std::string& name, const Signature& called,
                    const Signature& caller);

// The dialect of a plan's code.
Dialect dialect_of(const Plan& plan);

// The last argument of functions that check boxes: ", NET_FLOAT32_REACH" with semantics float32,
// else empty.
std::string reach_argument(const Plan& plan);

// The lines that refuse a box, the caller's arrays `lower` and `upper`.
std::string box_check(const Plan& plan, std::string_view lower, std::string_view upper);

// For templates: @name@ of the verifier, @NAME@ in upper case, @reach@ as reach_argument(),
// @null@ as Dialect has it.
Arguments names_of(const Plan& plan);

// The lines that refuse arguments, in this order: null pointers, context, count, executor,
// workspace. `team` is declared where several workers share.
std::string argument_checks(const Plan& plan, const ExportedFunction& function);

// The exported function with this signature; null when the verifier has none.
const ExportedFunction* find_function(const Plan& plan, const Signature& signature);

}  // namespace bf_aot::emit
