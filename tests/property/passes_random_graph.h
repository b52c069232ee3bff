#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "frontend/graph/graph.h"

namespace bf_aot::testing {

using Random = std::mt19937_64;

// In [low, high].
int pick(Random& random, int low, int high);

enum class Numbers {
  kSmallIntegers,  // sums of products stay exact; divisors are powers of two
  kFloats,         // float32 weights as a trained network has
  kWild,           // full doubles of exponents -60 to 60, and zeros
};

double random_number(Random& random, Numbers numbers);
std::vector<double> random_numbers(Random& random, Numbers numbers, std::int64_t count);

// An imported graph of all operator kinds: maps (reshapes, permutations, gathers that repeat and
// drop elements), broadcasting arithmetic and matrix products with constants and computed tensors
// on either side, convolutions of any geometry and layout, sparse maps, maxima, Relu and functions,
// constant expressions, values with several readers, several inputs and outputs. Of small integers
// every value is exact: there is no division by a computed tensor. `size`: nodes, about.
Graph random_graph(Random& random, Numbers numbers, int size);

// The same with one output, each node reading the last one (and maybe others).
Graph random_chain(Random& random, Numbers numbers, int size);

// One point for each graph input.
std::vector<std::vector<double>> random_point(Random& random, Numbers numbers, const Graph& graph);

}  // namespace bf_aot::testing
