#pragma once

#include <nlohmann/json_fwd.hpp>

#include "planner/plan/plan.h"

namespace bf_aot {

// Plan::integer without its tables.
nlohmann::ordered_json integer_json(const Plan& plan);

}  // namespace bf_aot
