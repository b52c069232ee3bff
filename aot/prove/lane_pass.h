#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "aot/check/bounds.h"
#include "aot/prove/layer_weights.h"

// Carries the coefficients of eight sums back through a layer, with the checker's integers split
// into digits whose products and sums are exact in doubles (docs/proofs/certificates.md).

namespace bf_aot::prove {

// One number of each sum that is bounded.
typedef double Lanes __attribute__((vector_size(64), aligned(8), may_alias));
typedef std::int64_t LongLanes __attribute__((vector_size(64), aligned(8), may_alias));
constexpr std::size_t kLanes = sizeof(Lanes) / sizeof(double);

constexpr unsigned kLaneWeightBits = bf_check::Grid{}.weight_bits;

// A coefficient of each sum: whole 2^-F + rest 2^-(F+P), with 0 <= rest < 2^P.
struct LaneSum {
  LongLanes& whole;
  LongLanes& rest;
};

[[gnu::always_inline]] inline LaneSum lane_sum(std::int64_t* sums, std::size_t element) {
  std::int64_t* const at = sums + element * 2 * kLanes;
  return {*reinterpret_cast<LongLanes*>(at), *reinterpret_cast<LongLanes*>(at + kLanes)};
}

// Adds the product of a sum's coefficient and a number of 128 bits to a coefficient.
void add_product(LaneSum to, std::size_t lane, bf_check::i128 product);

// The sums that are bounded at once, with F = bits.
struct LanePass {
  unsigned bits = 0;
  bf_check::i128 constant[kLanes] = {};  // in 2^-(F+T)
  LongLanes too_large = {};              // not 0: a coefficient is, as the checker says
  bool exact = true;                     // whether digits sufficed
};

// Carries coefficients through layers. Holds what it needs on the way.
class LaneLayers {
 public:
  LaneLayers(const bf_check::Network& network, NetworkWeights weights);

  // Returns, by element, whole and rest, each of all lanes.
  std::int64_t* sums() { return sums_.data(); }

  // Carries coefficients from the layers below `layer` back to the inputs, and leaves what arrived
  // there. The part's coefficients are those of the checker where pass.exact stays true.
  void to_inputs(const bf_check::Part& part, std::size_t layer, LanePass& pass);

  // Adds what the inputs' coefficients are at least to the constants, and leaves all sums 0.
  void end(const bf_check::Part& part, LanePass& pass);

  // Leaves all sums 0.
  void clear() { std::fill(sums_.begin(), sums_.end(), 0); }

 private:
  void affine(const bf_check::Part& part, std::size_t layer, LanePass& pass);
  void list_sources(const bf_check::Part& part, std::size_t layer);

  const bf_check::Network& network_;
  const NetworkWeights weights_;
  const double layers_;             // the largest number of affine layers that read an element
  const bool can_;                  // whether digits may suffice for this network
  std::vector<std::int64_t> sums_;  // [elements][2][kLanes]: coefficients, whole and rest
  std::vector<double> digits_;      // [rows][2][kLanes]: the coefficients of a layer's rows
  std::vector<std::uint32_t> used_, sources_, zeros_;
  std::vector<unsigned char> touched_;
};

}  // namespace bf_aot::prove
