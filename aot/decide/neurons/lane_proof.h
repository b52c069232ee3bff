#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "aot/decide/neurons/lane_nodes.h"

namespace bf_aot::decide {

// Bounds of the nodes of all lanes in double, with the choices that they have: what is claimed.
// Proof: docs/proofs/neuron-splits.md.
class LaneProof {
 public:
  explicit LaneProof(const LaneNodes& nodes);

  // The lanes whose bound is proven to be >= 0.
  std::array<bool, kLanes> prove();
  // Returns a proven bound of each lane; NaN or -inf where nothing is proven.
  std::array<double, kLanes> proven_bounds();
  // Returns for each lane what added to the inputs' coefficients gives a plane that is proven to be
  // at most what the lane bounds, on all of the box; NaN or -inf where nothing is proven.
  std::array<double, kLanes> plane_constants();
  // Does prove() and plane_constants() in one pass.
  struct Proven {
    std::array<bool, kLanes> nodes;
    std::array<double, kLanes> constants;
  };
  Proven prove_planes();
  // After plane_constants() or prove_planes().
  double plane_coefficient(std::size_t input, std::size_t lane) const {
    return over_input_[at_lanes(input) + lane];
  }

 private:
  struct Sum;

  void begin(Sum& sum);
  void prove_layer(std::size_t i, Sum& sum);
  void prove_function_neuron(const BoxNetwork::BoxLayer& layer, const FunctionState* states,
                             double scale, const double* over_a, double* over_z, Sum& sum) const;
  void prove_relu(std::size_t open, double scale, const double* over_a, double* over_z,
                  Sum& sum) const;
  void prove_products(std::size_t i, Sum& sum);
  void prove_corner(Sum& sum) const;
  void prove_ball(Sum& sum) const;
  Sum prove_sum();
  static std::array<bool, kLanes> proven(const Sum& sum);
  static std::array<double, kLanes> lowered(const std::array<double, kLanes>& numbers,
                                            const Sum& sum);
  std::vector<double>& coefficients(int layer) {
    return layer < 0 ? over_input_ : over_a_[static_cast<std::size_t>(layer)];
  }

  const LaneNodes& nodes_;
  const BoxNetwork& network_;
  std::vector<std::vector<double>> over_a_;  // by layer, [size][kLanes]
  std::vector<double> over_z_, over_input_;  // of a layer, and [inputs][kLanes]
};

}  // namespace bf_aot::decide
