#pragma once

#include <nlohmann/json_fwd.hpp>

#include "planner/plan/plan.h"

namespace bf_aot {

// The manifest's `functions`.
nlohmann::ordered_json functions_json(const Plan& plan);

}  // namespace bf_aot
