#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace bf_aot::build {

// The most stack, in bytes, that a chain of calls takes, from call graphs as GCC writes them
// (-fcallgraph-info=su), one text for each source. Functions that no graph defines count as 0. None
// when there is no bound: a frame of unknown size, recursion, a call through a pointer.
std::optional<std::int64_t> deepest_stack(const std::vector<std::string>& graphs);

// The sum of all frames in a report of -fstack-usage, which is a bound where no function recurses.
// None when a frame has no known size.
std::optional<std::int64_t> sum_of_frames(const std::string& report);

}  // namespace bf_aot::build
