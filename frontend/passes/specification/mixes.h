#pragma once

#include <cstddef>
#include <vector>

#include "frontend/graph/graph.h"

namespace bf_aot {

// A network with outputs behind its own, of the tensors that outputs are mixes of: element by
// element z a + (1 - z) b or b + z (a - b), with z a sigmoid, as a GRU makes its next state of. In
// real arithmetic such an output lies between a and b, which products of boxes do not tell.
struct MixedOutputs {
  Graph graph;

  // Elements [output, output + count) of the flattened outputs lie between those from `first` and
  // those from `second` on. What these are mixes of comes behind in `mixes`.
  struct Mix {
    std::size_t output = 0, first = 0, second = 0, count = 0;
  };
  std::vector<Mix> mixes;

  // Elements behind the network's own outputs that are elements of the flattened inputs.
  struct Copy {
    std::size_t output = 0, input = 0;
  };
  std::vector<Copy> copies;
};

// The graph is as it was imported. Outputs may be elements of a mix in another order.
MixedOutputs with_mixes(Graph graph);

}  // namespace bf_aot
