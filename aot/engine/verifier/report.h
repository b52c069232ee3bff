#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "aot/engine/verifier/verifier.h"

namespace bf_aot::engine {

// The number for JSON; "inf" and "-inf" are texts, since JSON has no numbers for them.
nlohmann::ordered_json number_json(double x);

// {"lower": [..], "upper": [..]}
nlohmann::ordered_json bounds_json(const Bounds& bounds);

// "12.3 us"
std::string duration(double seconds);

// "40 s", "25 min", "6 h 12 min", "12 days"
std::string long_duration(double seconds);

// "12 7"; "-" when there are none.
std::string join(const std::vector<int>& numbers);

}  // namespace bf_aot::engine
