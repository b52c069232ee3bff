#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>

#include "planner/lowering/work.h"
#include "planner/plan/plan.h"

namespace bf_aot {

// "work" of the manifest: of each entry, the float operations, the calls and the turns of loops of
// a call, at most.
nlohmann::ordered_json work_json(const Plan& plan);

// Float operations of a call at most, a multiply-add being two: the cost model's, with every neuron
// unstable.
std::int64_t most_operations(const Plan& plan, const Entry& entry, const calls::Work& work);

}  // namespace bf_aot
