#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "planner/plan/plan.h"
#include "runtime/bf.h"

namespace bf_aot::emit {

// The name of a status: "BF_NULL_ARGUMENT".
std::string_view status_name(bf_status status);

// All statuses that a function may return, or write for a box of a batch, rising.
std::vector<bf_status> statuses_of(const Plan& plan, const Signature& signature);

// The body of NAME_status_text, which has a text for each status that the verifier's functions may
// return.
std::string status_text_body(const Plan& plan);

}  // namespace bf_aot::emit
