#pragma once

#include <gmpxx.h>

#include <vector>

#include "frontend/graph/graph.h"

// Interval arithmetic over the nodes of an imported network, in rationals: the oracle. A node's
// image of a box is exact: sums of products have each input once, functions rise, and rounding is a
// function. Shares nothing with the planner.
namespace bf_aot::integer_test {

struct Interval {
  mpq_class low, high;
};

// Of the network's outputs, one after the other. Functions must rise; of those with slack it is the
// image of the limited code, one less and one more, within the limits.
std::vector<Interval> output_images(const Graph& graph, const std::vector<Interval>& input);

std::vector<Interval> box_of(const std::vector<float>& lower, const std::vector<float>& upper);

// Whether x is the float that an exact number's rounding down, up makes of it.
bool is_rounded_down(float x, const mpq_class& exact);
bool is_rounded_up(float x, const mpq_class& exact);

}  // namespace bf_aot::integer_test
