#pragma once

#include <string>

#include "planner/plan/plan.h"

namespace bf_aot::emit {

// Text of an exported function's signature: the only place that prints one.

// The code of a function after its checks, and the static functions that stand before it.
struct FunctionBody {
  std::string text;
  std::string helpers;
};

// The language of a text: C, for the header, or C++.
enum class Language : std::uint8_t { kC, kCpp };

// The prototype of a function, "bf_status net_bounds(const float *lower, ..)", without what
// follows.
std::string prototype(const std::string& name, const Signature& signature, Language language);

// A call of a verifier's function from another function, with the latter's own arguments and null
// for parameters that it lacks: "net_other(lower, .., nullptr)". `name`: of the verifier that is
// called.
std::string call_of(const std::string& name, const Signature& called, const Signature& caller);

// The last argument of functions that check boxes: ", NET_FLOAT32_REACH" with semantics float32,
// else empty.
std::string reach_argument(const Plan& plan);

// The lines that refuse arguments, in this order: null pointers, context, count, executor,
// workspace. `team` is declared where several workers share.
std::string argument_checks(const Plan& plan, const ExportedFunction& function);

// The exported function with this signature; null when the verifier has none.
const ExportedFunction* find_function(const Plan& plan, const Signature& signature);

}  // namespace bf_aot::emit
