#pragma once

#include <vector>

#include "frontend/graph/graph.h"

// Small networks of convolutions and maxima on images, with integer weights.
namespace bf_aot::soundness {

struct ImageNet {
  const char* name;
  Graph (*make)();
  int reach = 3;  // of a box' centre; far enough that no maximum has two candidates
  bool pools = false;
};

const std::vector<ImageNet>& image_nets();

}  // namespace bf_aot::soundness
