#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "planner/plan/plan.h"

namespace bf_aot {

// The sources as a view, where they are regular: transposed, sliced, repeated or broadcast tensors
// of at most four dimensions after merging.
std::optional<StridedView> strided_view(const std::vector<std::int32_t>& source);

std::vector<std::int32_t> elements_of(const StridedView& view);

// Gives the large gathers of a plan their views; small ones keep tables, which are smaller than
// code of their own.
void stride_gathers(Plan& plan);

}  // namespace bf_aot
