#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "aot/check/network.h"

// The weights of a network in doubles.

namespace bf_aot::prove {

constexpr unsigned kDigitBits = 23;

// The weights of an affine layer in the order of what they read, each a sum of two whole numbers:
// first + second 2^kDigitBits, with |first| <= 2^(kDigitBits - 1).
struct WeightDigits {
  std::vector<double> first, second;
  double most_second = 0;   // the largest magnitude of a second digit
  double most_column = 0;   // of a source: the largest sum of the magnitudes of its weights
  double most_readers = 0;  // of a source
};

// The weights of an affine layer in the order of its rows, and which of the layer's sources each
// belongs to. By row: whether it reads elements one behind the other, and whether ReLUs alone read
// it.
struct LayerWeights {
  std::vector<double> weight;
  std::vector<std::uint32_t> place;
  WeightDigits digits;
  std::vector<unsigned char> in_a_run, for_relus_alone;
};

// The weights of all layers.
using NetworkWeights = std::shared_ptr<const std::vector<LayerWeights>>;

NetworkWeights weights_of(const bf_check::Network& network);

}  // namespace bf_aot::prove
