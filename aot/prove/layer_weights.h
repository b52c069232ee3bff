#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "aot/check/network.h"

// The weights of a network in doubles.

namespace bf_aot::prove {

constexpr unsigned kDigitBits = 23;

// A number is first + second 2^kDigitBits, with |first| <= 2^(kDigitBits - 1).
inline std::int64_t first_digit(std::int64_t number) {
  constexpr std::int64_t kHalf = std::int64_t{1} << (kDigitBits - 1);
  return ((number + kHalf) & (2 * kHalf - 1)) - kHalf;
}
inline double second_digit(std::int64_t number) {
  return static_cast<double>((number - first_digit(number)) >> kDigitBits);
}

// The weights of an affine layer in the order of what they read, by digits.
struct WeightDigits {
  std::vector<double> first, second;
  double most_second = 0;   // the largest magnitude of a second digit
  double most_column = 0;   // of a source: the largest sum of the magnitudes of its weights
  double most_readers = 0;  // of a source
};

// The biases of an affine layer's rows, in digits as its weights are where they are small enough.
struct BiasDigits {
  std::vector<double> first, second;
  double most_second = 0;
  bool small = true, any = false;  // any: is not 0
};

// The weights of a layer whose rows each read the same number of elements one behind the other, by
// row: `width` of each row, the last ones 0. width: 0 for other layers.
struct RowDigits {
  std::uint32_t width = 0;
  std::vector<double> first, second;
  double most_second = 0;
};

// The weights of an affine layer in the order of its rows, and which of the layer's sources each
// belongs to. By row: whether it reads elements one behind the other, and whether ReLUs alone read
// it.
struct LayerWeights {
  std::vector<double> weight;
  std::vector<std::uint32_t> place;
  WeightDigits digits;
  BiasDigits bias;
  RowDigits rows;
  bool all_read_all = false, all_one = false;  // rows read all sources; weights are 1
  std::vector<unsigned char> in_a_run, for_relus_alone;
};

// The weights of all layers.
using NetworkWeights = std::shared_ptr<const std::vector<LayerWeights>>;

NetworkWeights weights_of(const bf_check::Network& network);

}  // namespace bf_aot::prove
