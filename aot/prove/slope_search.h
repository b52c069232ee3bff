#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "aot/check/bounds.h"
#include "aot/prove/layer_weights.h"

// Proposes choices for a bound of the checker, in doubles. What it says is no proof: the checker's
// own arithmetic decides.

namespace bf_aot::prove {

// The choices of a sum's bound: a slope for each open neuron whose coefficient is positive, and a
// multiplier for each neuron that is split.
struct Proposal {
  std::vector<double> slope;       // by neuron, from 0 to 1
  std::vector<double> multiplier;  // by neuron that is split, >= 0
};

// The slope of the checker's rule for the ReLU of an element: whether it is 1, else 0.
inline bool rule_is_one(const bf_check::Part& part, std::uint32_t element) {
  const std::int64_t low = part.lower[element], high = part.upper[element];
  return 64 * (low + high) > high - low;
}

// Whether relaxation n is a ReLU whose argument may be of either sign.
inline bool is_open(const bf_check::Network& network, const bf_check::Part& part, std::uint32_t n) {
  const bf_check::Relaxed& relaxed = network.relaxations[n];
  const std::uint32_t element = relaxed.argument;
  return relaxed.kind == bf_check::Kind::kRelu && part.lower[element] < 0 &&
         part.upper[element] > 0;
}

class SlopeSearch {
 public:
  // Bounds spend steps of `work`.
  SlopeSearch(const bf_check::Network& network, bf_check::Work& work);
  SlopeSearch(const SlopeSearch& other, bf_check::Work& work);
  SlopeSearch& operator=(const SlopeSearch&) = delete;

  // All copies share them.
  const NetworkWeights& weights() const { return weights_; }

  // Returns, by input, the sum over all paths to the outputs of the magnitudes of their weights'
  // products.
  std::vector<double> input_weights() const;

  // The slopes of the checker's own rule.
  Proposal rule(const bf_check::Part& part) const;

  // About the sum's lower bound. side: as in bf_check::Choices.
  double bound(const bf_check::Part& part, const bf_check::Sum& sum,
               const std::vector<signed char>& side, const Proposal& proposal);

  // Improves the proposal by at most `steps` steps of Adam until the bound exceeds `enough`.
  // Returns the best bound, whose proposal is kept.
  double improve(const bf_check::Part& part, const bf_check::Sum& sum,
                 const std::vector<signed char>& side, Proposal& proposal, int steps,
                 double enough);

  // The coefficients that arrived at the inputs in the last bound.
  const std::vector<double>& input_coefficients() const { return at_inputs_; }

  // The coefficient of a neuron's ReLU in the last bound.
  double arrived(std::uint32_t neuron) const { return arrived_[neuron]; }

  // How much the relaxation of each neuron takes away from the last bound; 0 for those that are not
  // open.
  std::vector<double> losses(const bf_check::Part& part) const;

 private:
  SlopeSearch(const SlopeSearch&) = default;

  struct Line {
    double slope, offset;
  };

  // x_i of a product's factors, and what its planes take for the other one.
  struct Planes {
    std::uint32_t x, y;
    double of_x, of_y, constant;
  };

  Line line_of(const bf_check::Part& part, std::uint32_t function, double coefficient) const;
  Planes planes_of(const bf_check::Part& part, const bf_check::Layer& layer, std::uint32_t row,
                   double coefficient) const;
  void forward(const bf_check::Part& part, const std::vector<signed char>& side,
               const Proposal& proposal);

  const bf_check::Network& network_;
  bf_check::Work* work_;
  const NetworkWeights weights_;
  double value_unit_;
  std::vector<double> sums_, values_;  // by element
  std::vector<double> arrived_;        // by neuron: the coefficient of its ReLU
  std::vector<double> at_inputs_;
};

}  // namespace bf_aot::prove
