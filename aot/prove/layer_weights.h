#pragma once

#include <memory>
#include <vector>

#include "aot/check/network.h"

// The weights of a network in doubles, for what only proposes.

namespace bf_aot::prove {

// The weights of an affine layer in the order of its rows, and in that of what they read. By row:
// whether it reads elements one behind the other, and whether ReLUs alone read it. dense: each row
// reads all that any reads.
struct LayerWeights {
  std::vector<double> weight, reader_weight;
  std::vector<unsigned char> in_a_run, for_relus_alone;
  bool dense = false;
};

// The weights of all layers.
using NetworkWeights = std::shared_ptr<const std::vector<LayerWeights>>;

NetworkWeights weights_of(const bf_check::Network& network);

}  // namespace bf_aot::prove
