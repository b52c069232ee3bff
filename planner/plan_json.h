#pragma once

#include <nlohmann/json.hpp>

#include "planner/plan.h"

namespace bf {

// The manifest: the plan without weights. Keys in a fixed order; see docs/manifest.md.
nlohmann::ordered_json to_json(const Plan& plan);

}  // namespace bf
