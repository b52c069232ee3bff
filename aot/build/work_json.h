#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "aot/build/verify_work.h"
#include "frontend/property/property.h"
#include "planner/lowering/work.h"
#include "planner/plan/plan.h"

namespace bf_aot::build {

// The largest number of free inputs of a box all of whose corners NAME_verify tries; with more free
// inputs it tries two corners. A test compares it with bf::kAllCorners.
inline constexpr std::int64_t kTriedCorners = 4;

// "work" of the manifest: the operations, and upper bounds of the calls and the turns of loops in a
// call, for each entry and, where there is a property, for NAME_verify. The operations are a bound
// in plans of integers alone.
nlohmann::ordered_json work_json(const Lowered& lowered, const std::optional<VerifyWork>& verify);

// The functions NAME_bounds and NAME_verify, and the operations of a call of each.
std::vector<std::pair<std::string, std::int64_t>> work_of_calls(
    const Lowered& lowered, const std::optional<VerifyWork>& verify);

// An upper bound of the operations on integers in a call of a plan of integers.
std::int64_t most_integer_operations(const Plan& plan);

// The float operations on weights and coefficients in a call, a multiply-add being two, as the cost
// model counts them with every neuron unstable. No bound: functions, relaxations, roundings and
// checks, whose operations depend on the box, are left out.
std::int64_t layer_operations(const Plan& plan, const Entry& entry, const calls::Work& work);

}  // namespace bf_aot::build
