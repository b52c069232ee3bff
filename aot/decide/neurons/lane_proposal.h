#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "aot/decide/neurons/lane_nodes.h"
#include "aot/decide/neurons/lanes/product_lanes.h"
#include "aot/decide/neurons/lanes/relu_lanes.h"

namespace bf_aot::decide {

// coefficients x + constant, which is at most what is bounded.
struct InputPlane {
  std::vector<float> coefficients;
  float constant = 0;
};

// Bounds of the nodes of all lanes in plain float32, which propose choices: nothing is claimed.
// Method: Wang et al., Beta-CROWN (2021), with each split's multiplier as a clamp of the
// coefficient that passes its ReLU.
class LaneProposal {
 public:
  using Lane = std::array<float, kLanes>;

  // Rates of steps, see Ascent.
  static constexpr float kRate = 0.1F, kDecay = 0.97F;

  explicit LaneProposal(LaneNodes& nodes);

  // Bounds of all lanes.
  const Lane& bound();
  // After bound(): the inputs' coefficients in a lane, and what is added to them.
  InputPlane plane(std::size_t lane) const;
  // The corner of the box where a lane's bound is reached.
  std::vector<float> point(std::size_t lane) const;
  // Mean |coefficient| of the layers' open neurons in lane 0: what scales should be.
  std::vector<float> mean_coefficients() const;
  // One step of all choices along the gradient of the last bound(). step: from 0.
  void ascend(int step);
  // Measures what neurons' relaxations lose at the points of the last bound(), in place of a step.
  void measure_gaps();
  // Whether the network's rows, in float32, violate the clause at the point of each lane.
  std::array<bool, kLanes> violated();

  // After measure_gaps(), by open neuron and lane: how much a bound may gain by a split, and what
  // it loses at the point; 0 where it is split.
  float gain(std::size_t open, std::size_t lane) const { return gains_[at_lanes(open) + lane]; }
  float gap(std::size_t open, std::size_t lane) const { return gaps_[at_lanes(open) + lane]; }

 private:
  enum class Pass : std::uint8_t { kAscend, kMeasure, kTrue };

  void start_bound();
  void to_surface();
  Lane rates_of(int step) const;
  void forward(Pass pass, int step);
  // Goes forward through neuron j of layer i, an open one with this number.
  void forward_open(std::size_t i, std::size_t j, std::size_t number, Pass pass, const Lane& rates);
  void forward_function(std::size_t i, std::size_t j, std::size_t number, Pass pass,
                        const Lane& rates);
  void pass_neurons(std::size_t i);
  void pass_products(std::size_t i);
  void forward_products(std::size_t i, Pass pass, const Lane& rates);
  void step_weights(std::size_t lane, float rate);
  ProductChoices planes_of(std::size_t product);
  ProductNeuron product_neuron(const std::array<BoxNetwork::Factor, 2>& factors,
                               std::array<Lane, 4>& memory) const;
  OpenNeuron open_neuron(std::size_t i, std::size_t j, std::size_t own) const;
  std::vector<float>& coefficients(int layer) {
    return layer < 0 ? input_coefficients_ : over_a_[static_cast<std::size_t>(layer)];
  }
  const std::vector<float>& values(int layer) const {
    return layer < 0 ? input_ : a_[static_cast<std::size_t>(layer)];
  }

  LaneNodes& nodes_;
  const BoxNetwork& network_;
  // Coefficients over a and over z, z and a, by layer: [size][kLanes].
  std::vector<std::vector<float>> over_a_, over_z_, z_, a_;
  std::vector<float> input_coefficients_, input_;  // [inputs][kLanes]
  std::vector<float> gains_, gaps_;                // [open][kLanes]
  Lane bounds_ = {};
};

}  // namespace bf_aot::decide
