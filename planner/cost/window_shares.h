#pragma once

#include <map>

#include "planner/plan/plan.h"

namespace bf_aot {

// Of each tensor with a window (see row_images.h), the share of its elements that the window of a
// tile of rows holds, in the mean: the tile's neurons lie in a square somewhere in the image, half
// of a pixel's channels among them, and borders cut off what lies outside.
std::map<LayerId, double> window_shares(const Plan& plan, const BackwardRows& step);

}  // namespace bf_aot
