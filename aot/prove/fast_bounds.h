#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "aot/check/bounds.h"
#include "aot/prove/layer_weights.h"

namespace bf_aot::prove {

struct LanePass;

// Derives the same bounds as the checker, to the unit, but several rows at a time: the checker's
// integers are split into digits whose products and sums are exact in doubles
// (docs/proofs/certificates.md).
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

 private:
  static constexpr std::size_t kRows = 8;  // that are bounded together

  // A row that is bounded, from below or (sign -1) from above.
  struct Row {
    std::uint32_t row;
    int sign;
  };

  bool is_open(const bf_check::Layer& layer, std::uint32_t row) const;
  bool tighten(std::size_t layer);
  bool bound(std::size_t layer, std::vector<Row>& rows, unsigned bits);
  void begin(std::size_t layer, const Row& begun, std::size_t lane, LanePass& pass);
  void backward(std::size_t layer, LanePass& pass);
  void affine(std::size_t layer, LanePass& pass);
  void list_sources(std::size_t layer);

  bf_check::Bounder& bounder_;
  const bf_check::Network& network_;
  const NetworkWeights weights_;
  bf_check::Work& work_;
  const double layers_;  // the largest number of layers that read an element
  bf_check::Part made_;
  std::vector<std::int64_t> sums_;  // [elements][2][kRows]: coefficients, whole and rest
  std::vector<double> digits_;      // [rows][2][kRows]: the coefficients of a layer's rows
  std::vector<std::uint32_t> used_, sources_, zeros_;
  std::vector<unsigned char> touched_;
};

}  // namespace bf_aot::prove
