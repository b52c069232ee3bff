#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "aot/check/bounds.h"
#include "aot/prove/layer_weights.h"

namespace bf_aot::prove {

// An estimate of how far an element's bounds may be from the checker's, in units of values. It is
// measured and not proven: the largest difference that was seen is a quarter of it.
struct Deviation {
  double low = 0, high = 0;
};

// A part, and how well its bounds are known.
struct Bounds : bf_check::Part {
  std::vector<Deviation> deviation;  // by element; empty: they are the checker's own
};

struct BoundsView;
struct LaneTotals;

// Derives the bounds of a part's elements by the checker's rules, but in doubles and for several
// rows at a time. They are no proof: by how much the checker's may differ is counted as well.
class FastBounds {
 public:
  // Bounds spend steps of `work`.
  FastBounds(const bf_check::Network& network, NetworkWeights weights, bf_check::Work& work);
  FastBounds(const FastBounds&) = delete;
  FastBounds& operator=(const FastBounds&) = delete;

  // Bounds all elements anew, as Bounder::derive() does. False: the checker itself must, as
  // numbers are too large, or a slope of its rule hangs on how bounds are rounded, or there are
  // sigmoids; the part is as it was.
  bool derive(Bounds& part);

  // Estimates by how much the checker's lower bound of a sum may differ from that on the part.
  double deviation_of(const Bounds& part, const bf_check::Sum& sum);

 private:
  static constexpr std::size_t kRows = 8;  // that are bounded together

  void raise(std::uint32_t element, double lower, double deviation);
  void reduce(std::uint32_t element, double upper, double deviation);
  void interval(std::size_t layer, std::uint32_t row);
  void relu(const bf_check::Layer& layer, std::uint32_t row);
  void tighten(std::size_t layer);
  void bound(std::size_t layer, const std::vector<std::uint32_t>& rows, double sign);
  void bound_together(std::size_t layer, const std::uint32_t* rows, std::size_t count, double sign);
  void backward(const BoundsView& view, std::size_t layer, LaneTotals& totals);

  const bf_check::Network& network_;
  const NetworkWeights weights_;
  bf_check::Work& work_;
  Bounds made_;
  bool certain_ = true;
  double reach_ = 0;          // the sum of the magnitudes of elements of earlier layers
  std::vector<double> sums_;  // [elements][kRows]: coefficients
  std::vector<std::uint32_t> used_;
};

}  // namespace bf_aot::prove
