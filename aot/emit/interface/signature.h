#pragma once

#include <string>

#include "aot/emit/text/fill_in.h"
#include "planner/plan/plan.h"

namespace bf_aot::emit {

// Text of an exported function's signature: the only place that prints one.

// What a function does after its checks, and the static functions that stand before it.
struct FunctionBody {
  std::string text;
  std::string helpers;
};

// Whether the text is C, for the header, or C++.
enum class Language : std::uint8_t { kC, kCpp };

// "bf_status net_bounds(const float *lower, ..)", without what follows.
std::string prototype(const std::string& name, const Signature& signature, Language language);

// "net_other(lower, .., nullptr)" with the function's own arguments; null for
// parameters that it has not. `name`: of the verifier that is called.
std::string call_of(const std::string& name, const Signature& called, const Signature& caller);

// ", NET_FLOAT32_REACH" of semantics float32: the last argument of what checks boxes.
std::string reach_argument(const Plan& plan);

// For templates: @name@ of the verifier, @NAME@ in upper case, @reach@ as reach_argument().
Arguments names_of(const Plan& plan);

// The lines that refuse arguments, in this order: null pointers, context, count, executor,
// workspace. `team` is declared where several workers share.
std::string argument_checks(const Plan& plan, const ExportedFunction& function);

// Null when the verifier does not export it.
const ExportedFunction* find_function(const Plan& plan, const Signature& signature);

}  // namespace bf_aot::emit
