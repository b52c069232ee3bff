#pragma once

#include <nlohmann/json_fwd.hpp>

#include "planner/plan/plan.h"

namespace bf_aot {

// The manifest: the plan without weights. Keys in a fixed order; see docs/reference/manifest.md.
nlohmann::ordered_json to_json(const Plan& plan);

}  // namespace bf_aot
