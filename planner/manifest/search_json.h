#pragma once

#include <nlohmann/json_fwd.hpp>

#include "planner/plan/plan.h"

namespace bf_aot {

// Every field, in order.
nlohmann::ordered_json to_json(const SearchConfig& config);
nlohmann::ordered_json to_json(const SearchSummary& summary);

}  // namespace bf_aot
