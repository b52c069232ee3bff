#pragma once

#include <cstdint>
#include <vector>

#include "frontend/functions/function_facts.h"
#include "frontend/graph/graph.h"
#include "frontend/property/property.h"

namespace bf_aot {

// A pair of neurons, one of each network, that apply one function to z and to z + d; or a pair of
// maxima, whose d is the largest less the least difference of a candidate.
struct SlopeNeuron {
  enum class Kind : std::uint8_t { kSigmoid, kTanh, kErf, kOther };
  Kind kind = Kind::kOther;
  double least = 0, most = 1;  // slopes of secants of the function
  SlopeRange below, above;     // kOther: those where z and z + d are <= 0, and >= 0
};

// The slopes of secants of the neuron's function between z and z + d, which are at least and at
// most these numbers: a part of [neuron.least, neuron.most].
SlopeNeuron between(const SlopeNeuron& neuron, double lower, double upper);

// The difference of two networks of equal structure, as a network of their input x and of a slope s
// for each pair of neurons: docs/proofs/differences.md. For every x there are s in the
// neurons' ranges at which its first output is second(x) - first(x).
//
// Outputs: the differences; then, where there are neurons, z of each of them, and d of each. The
// one input has x, and behind it s. The value of every other tensor of the first network is in the
// graph, too.
struct DifferenceNetwork {
  Graph graph;
  std::int64_t input_count = 0;  // of x
  std::int64_t output_count = 0;
  std::vector<SlopeNeuron> neurons;
  std::vector<ValueId> first_outputs;  // of the first network, in the graph
};

// Requires: are_isomorphic(first, second), as they were imported; no one-hot inputs.
DifferenceNetwork difference_network(const Graph& first, const Graph& second);

// Replaces the differences, the network's first outputs, by the rows of a property of both
// networks, whose outputs are those of the first and then those of the second. Forms of both, c y +
// e (y + d), become (c + e) y + e d, in exact arithmetic. Requires: property.rows is not empty.
DifferenceNetwork with_rows(DifferenceNetwork network, const Property& property);

}  // namespace bf_aot
