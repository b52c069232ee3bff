#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "aot/check/bounds.h"
#include "aot/prove/lane_pass.h"
#include "aot/prove/layer_weights.h"

namespace bf_aot::prove {

// The checker's lower bound of a sum, by its rule, and what it is made of: coefficients that
// arrived at the inputs, and all besides what the inputs add.
struct SumBound {
  bool has = false;  // the checker has one with the first of its numbers of bits
  bf_check::i128 value = 0;
  bool has_inputs = false;  // coefficients and `inner` are known
  bf_check::i128 inner = 0;
  std::vector<std::int64_t> coefficient;  // by input, in 2^-F
  std::vector<unsigned char> rounded;     // by input: whether it was rounded down
};

// Returns the same bound on a part with another box of inputs. bound: has_inputs.
bf_check::i128 value_on(const SumBound& bound, const bf_check::Part& part);

// Numbers by element, each as weights are: first + second 2^kDigitBits. Some zeros stand behind.
struct ValueDigits {
  explicit ValueDigits(std::size_t count) : first(count + kLanes), second(count + kLanes) {}

  // Returns the second digit's magnitude.
  double set(std::size_t element, std::int64_t value) {
    first[element] = static_cast<double>(first_digit(value));
    second[element] = second_digit(value);
    return second[element] < 0 ? -second[element] : second[element];
  }

  std::vector<double> first, second;
};

// Derives the same bounds as the checker, to the unit, but several rows at a time.
class FastBounds {
 public:
  // Bounds spend steps of `work`, and are the bounder's where numbers are too large for digits.
  FastBounds(bf_check::Bounder& bounder, NetworkWeights weights, bf_check::Work& work);
  FastBounds(const FastBounds&) = delete;
  FastBounds& operator=(const FastBounds&) = delete;

  // Bounds all elements anew, as Bounder::derive() does. Throws as it does.
  void derive(bf_check::Part& part);

  // Derives as derive() does, by digits alone. Returns false, with the part as it was, where they
  // do not suffice or the part has no point.
  bool try_derive(bf_check::Part& part);

  // Bounds sums on a part that is derived.
  std::vector<SumBound> lower_bounds(const bf_check::Part& part,
                                     const std::vector<bf_check::Sum>& sums);

 private:
  static constexpr std::size_t kRows = kLanes;  // that are bounded together

  // A row that is bounded, from below or (sign -1) from above.
  struct Row {
    std::uint32_t row;
    int sign;
  };

  void intervals(std::size_t layer);
  void take_values(const bf_check::Layer& layer);
  bool is_open(const bf_check::Layer& layer, std::uint32_t row) const;
  bool tighten(std::size_t layer);
  bool bound(std::size_t layer, std::vector<Row>& rows, unsigned bits);
  void begin(std::size_t layer, const Row& begun, std::size_t lane, LanePass& pass);
  void spend(std::size_t layers);
  bool begin(const bf_check::Sum& sum, std::size_t lane, LanePass& pass);
  SumBound by_checker(const bf_check::Part& part, const bf_check::Sum& sum);

  bf_check::Bounder& bounder_;
  const bf_check::Network& network_;
  const NetworkWeights weights_;
  bf_check::Work& work_;
  LaneLayers lanes_;
  const bool has_inputs_;  // whether bounds on parts with other boxes are known
  bf_check::Part made_;
  ValueDigits sums_, widths_;  // by element: of its bounds
  double most_second_ = 0;     // the largest magnitude of their second digits
};

}  // namespace bf_aot::prove
