#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace bf_aot::decide {

// One source of a neuron: weight times the activation of a variable.
struct SumSource {
  std::size_t variable = 0;
  double weight = 0;
};

// The neurons of a network of ReLUs as sums. Variables are the inputs, then what each neuron's
// function is applied to, in the order of the layers.
struct Sums {
  std::size_t inputs = 0;
  std::vector<double> lower, upper;       // the box
  std::vector<bool> is_relu;              // by variable: open, so that its activation is relu(z)
  std::vector<std::size_t> source_start;  // of each neuron, [neurons + 1]
  std::vector<SumSource> sources;
  // Each neuron has its bias, and what its exact sum misses that of its weights by.
  std::vector<double> bias, room;

  std::size_t neurons() const { return bias.size(); }
  std::span<const SumSource> sources_of(std::size_t neuron) const {
    return std::span(sources).subspan(source_start[neuron],
                                      source_start[neuron + 1] - source_start[neuron]);
  }
};

}  // namespace bf_aot::decide
