#pragma once

#include <cstdint>
#include <optional>

#include "planner/plan/plan.h"

namespace bf_aot {

// Lets backward rows pass by dead neurons of convolutions: docs/proofs/live-pixels.md. Each
// relaxation whose layer some rows pass so lists its live channels, in a buffer of its own. Not in
// scalar code, which is for machines without 20 KiB of stack to list products on.
void list_live_pixels(Plan& plan);

// A list's numbers; null where the layer's convolutions make no image, or not one and the same.
std::optional<std::int64_t> live_pixels_size(const Layer& layer);

// The max layer that alone reads a layer's activations, so that rows have coefficients of those
// alone which it chose; -1 where there is none.
std::optional<LayerId> chooser_of(const Plan& plan, LayerId layer);

}  // namespace bf_aot
