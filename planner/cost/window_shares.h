#pragma once

#include <map>

#include "planner/plan/plan.h"

namespace bf_aot {

// For each tensor with a window (see row_images.h), the mean share of its elements that the window
// of a tile of rows holds. The tile's neurons are assumed to lie in a square somewhere in the
// image, half of a pixel's channels among them; borders cut off what lies outside.
std::map<LayerId, double> window_shares(const Plan& plan, const BackwardRows& step);

}  // namespace bf_aot
