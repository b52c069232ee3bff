#pragma once

#include <cstdint>

#include "planner/plan/plan.h"

namespace bf_aot {

// A number that tells apart what a context or a blob may belong to: it depends on all that the
// manifest shows (model, specification, method, options, version, error terms, the context's
// layout) and on the weights. FNV-1a, 64 bits: against mix-ups, not against forgery.
std::uint64_t plan_hash(const Plan& plan);

}  // namespace bf_aot
