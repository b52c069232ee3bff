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

// bf::kAllCorners, which a test compares: NAME_verify tries all corners of a box with so many free
// inputs, of one with more inputs two.
inline constexpr std::int64_t kTriedCorners = 4;

// "work" of the manifest: of each entry, and of NAME_verify where there is a property, the
// operations, the calls and the turns of loops of a call, at most.
nlohmann::ordered_json work_json(const Lowered& lowered, const std::optional<VerifyWork>& verify);

// Functions of a verifier and the operations of a call, at most: NAME_bounds, NAME_verify.
std::vector<std::pair<std::string, std::int64_t>> work_of_calls(
    const Lowered& lowered, const std::optional<VerifyWork>& verify);

// Operations on integers of a call of a plan of integers, at most.
std::int64_t most_integer_operations(const Plan& plan);

// Float operations of a call at most, a multiply-add being two: the cost model's, with every neuron
// unstable.
std::int64_t most_operations(const Plan& plan, const Entry& entry, const calls::Work& work);

}  // namespace bf_aot::build
