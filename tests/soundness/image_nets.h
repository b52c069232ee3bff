#pragma once

#include <gmpxx.h>

#include <cstdint>
#include <vector>

#include "frontend/graph/graph.h"
#include "tests/soundness/random_net.h"

// Small networks of convolutions and maxima on images, with integer weights.
namespace bf_aot::soundness {

struct ImageNet {
  const char* name;
  Graph (*make)();
  int reach = 3;  // of a box' centre; far enough that no maximum has two candidates
  bool pools = false;
};

const std::vector<ImageNet>& image_nets();

// A box on which each neuron is dead or active.
FloatBox small_box(Random& random, std::int64_t inputs, int reach);

std::vector<mpq_class> exact_values(const Graph& graph, const std::vector<float>& x);

// The corners where each output is least, and largest, in turns: the network is affine on the box.
std::vector<std::vector<float>> corners(const Graph& graph, const FloatBox& box);

}  // namespace bf_aot::soundness
