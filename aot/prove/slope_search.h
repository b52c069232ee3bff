#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "aot/check/bounds.h"
#include "aot/prove/curves.h"
#include "aot/prove/layer_weights.h"

// Proposes choices for a bound of the checker, in doubles. What it says is no proof: the checker's
// own arithmetic decides.

namespace bf_aot::prove {

constexpr double kNoChoice = -1;

// The choices of a sum's bound: a slope for each open neuron whose coefficient is positive, a place
// for each function and product, and a multiplier for each neuron that is split.
struct Proposal {
  std::vector<double> slope;       // by relaxation, from 0 to 1; kNoChoice: the rule's place
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

// Whether relaxation n is a function or a product that bounds lose something by.
inline bool is_curved(const bf_check::Network& network, const bf_check::Part& part,
                      std::uint32_t n) {
  const bf_check::Relaxed& relaxed = network.relaxations[n];
  return relaxed.kind != bf_check::Kind::kRelu &&
         part.lower[relaxed.argument] < part.upper[relaxed.argument];
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

  // The coefficient of a relaxation in the last bound.
  double arrived(std::uint32_t n) const { return arrived_[n]; }

  // About how much each relaxation takes away from the last bound, which was by these.
  std::vector<double> losses(const bf_check::Part& part, const std::vector<signed char>& side,
                             const Proposal& proposal);

  // The second factor of a product.
  std::uint32_t other_factor(std::uint32_t n) const {
    const bf_check::Layer& layer = network_.layers[layer_[n]];
    return layer.column[2 * (n - layer.first_number) + 1];
  }

  // Whether a place, by 128, is another choice than none is, of a function or product whose
  // coefficient has the sign of the last bound.
  bool is_choice(const bf_check::Part& part, std::uint32_t n, unsigned place);

 private:
  SlopeSearch(const SlopeSearch&) = default;

  struct Line {
    double slope, offset;
  };

  // The bounds of a product's factors.
  struct Factors {
    std::uint32_t x, y;
    double x_low, x_width, y_low, y_width;
  };
  struct Planes {
    double of_x, of_y, constant;
  };

  bf_check::Line checkers_line(const bf_check::Part& part, std::uint32_t n, double coefficient,
                               unsigned place);
  Line line_of(const bf_check::Part& part, std::uint32_t n, double coefficient, double place);
  Factors factors_of(const bf_check::Part& part, const bf_check::Layer& layer,
                     std::uint32_t row) const;
  Planes planes_of(const Factors& factors, double coefficient, double place) const;
  void list_open(const bf_check::Part& part, const std::vector<signed char>& side);
  double gradient(const bf_check::Part& part, std::uint32_t n, double place) const;
  void advance(const bf_check::Part& part, const std::vector<signed char>& side, int step,
               double rate, Proposal& proposal);
  void forward(const bf_check::Part& part, const std::vector<signed char>& side,
               const Proposal& proposal);

  // A choice that is improved, and the means of its gradient and of the square of that.
  struct Choice {
    std::uint32_t relaxation;
    bool is_multiplier;
    double mean = 0, square = 0;
  };

  const bf_check::Network& network_;
  bf_check::Work* work_;
  const NetworkWeights weights_;
  double value_unit_;
  std::vector<double> sums_, values_;  // by element
  std::vector<double> arrived_;        // by relaxation: its coefficient
  std::vector<std::uint32_t> layer_;   // by relaxation
  std::vector<Choice> choices_;        // that are improved
  bool has_curves_ = false;
  Curves curves_;
  std::vector<double> at_inputs_;
};

}  // namespace bf_aot::prove
