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

// "work" of the manifest: upper bounds of the operations, the calls and the turns of loops in a
// call, for each entry and, where there is a property, for NAME_verify.
nlohmann::ordered_json work_json(const Plan& plan, const Property* property);

// The functions NAME_bounds and NAME_verify, and an upper bound of the operations of a call of
// each.
std::vector<std::pair<std::string, std::int64_t>> work_of_calls(
    const Plan& plan, const std::optional<VerifyWork>& verify);

// An upper bound of the operations on integers in a call of a plan of integers.
std::int64_t most_integer_operations(const Plan& plan);

// An upper bound of the float operations in a call, a multiply-add being two: those of the cost
// model, with every neuron unstable.
std::int64_t most_operations(const Plan& plan, const Entry& entry, const calls::Work& work);

}  // namespace bf_aot::build
