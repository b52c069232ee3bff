#pragma once

#include <cstddef>
#include <random>

#include "aot/reach/question/loop.h"

// Random small loops: plants of 2 to 4 states, controllers of 8 neurons, observers, delays,
// disturbances, starts that are points, thin or wide.
namespace bf_aot::soundness {

using Random = std::mt19937_64;

double in_range(Random& random, double low, double high);
inline std::size_t below(Random& random, std::size_t n) {
  return random() % n;
}

struct Shape {
  reach::PlantKind kind = reach::PlantKind::kContinuous;
  bool rational = false;  // no smooth functions anywhere
};

reach::Loop random_loop(Random& random, const Shape& shape);

}  // namespace bf_aot::soundness
