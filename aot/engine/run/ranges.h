#pragma once

#include <vector>

namespace bf_aot::engine {

// Ranges of the pre-activations z of a layer on a box: lower_j <= z_j <= upper_j for the exact z.
// Empty: not known.
struct Ranges {
  std::vector<double> lower, upper;
};

}  // namespace bf_aot::engine
