#pragma once

#include <cstddef>
#include <random>

#include "aot/build/compile_options.h"
#include "aot/reach/question/loop.h"
#include "tests/support/loops.h"

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

// Rows of weights and biases below 1; three of four have float32 numbers alone.
test::DenseLayer random_layer(Random& random, std::size_t inputs, std::size_t outputs);

// Of networks that are bounded by prebuilt code of this machine.
build::CompileOptions host_options();

}  // namespace bf_aot::soundness
