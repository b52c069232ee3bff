#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "aot/neurons/split_network.h"

namespace bf_aot::cli {

// A violation of a clause needs sign (row - threshold) < 0 of each of its terms.
struct SplitTerm {
  int row = 0;  // of SplitNetwork::rows()
  float sign = 1;
  double threshold = 0;
};

// A neuron that is kept on one side of 0: z >= 0 (positive) or z <= 0.
struct NeuronSplit {
  std::uint32_t open = 0;  // the open neuron's number
  bool positive = false;
  float multiplier = 0;  // >= 0, in units of NodeLanes' scale
};

// A node of a tree of neuron splits: what is left of the box after its splits, and the choices
// that its bound begins with. Any choices give a proven bound.
struct SplitNode {
  std::uint32_t depth = 0;
  std::vector<NeuronSplit> splits;   // in the order in which they were made
  std::vector<float> weights;        // of the terms, >= 0, not all 0
  std::vector<std::uint8_t> slopes;  // of all open neurons, in units of 1 / 255
};

// kLanes nodes side by side: bounds in plain float32 that propose, and a proof in double.
//
// The bound of a node is the least value of F = sum_t weight_t sign_t (row_t - threshold_t) on the
// part of the box where its splits hold, from below. F >= 0 there excludes a violation.
// Method: Wang et al., Beta-CROWN (2021), with each split's multiplier as a clamp of the
// coefficient that passes its ReLU.
class NodeLanes {
 public:
  using Lane = std::array<float, kLanes>;

  // Both are kept by reference. Not for several threads.
  NodeLanes(const SplitNetwork& network, const std::vector<SplitTerm>& terms);

  // Units of multipliers by layer. 1 at first.
  void set_scales(std::vector<float> scales) { scales_ = std::move(scales); }
  const std::vector<float>& scales() const { return scales_; }
  // Mean |coefficient| of the layers' open neurons in lane 0 after bound(): what scales should be.
  std::vector<float> mean_coefficients() const;

  // A node into a lane, with another split or not, and what the ascent there knows forgotten.
  void load(std::size_t lane, const SplitNode& node, const NeuronSplit* another = nullptr);
  // The choices of a lane into the node that was loaded there.
  void store(std::size_t lane, SplitNode& node) const;

  // Bounds of all lanes.
  const Lane& bound();
  // One step of all choices along the gradient of the last bound(). step: from 0.
  void ascend(int step);
  // A lane whose choices stay until the next load().
  void freeze(std::size_t lane) { frozen_[lane] = true; }
  // What neurons' relaxations lose at the points of the last bound(), in place of a step.
  void measure_gaps();
  // The lanes whose bound is proven to be >= 0.
  std::array<bool, kLanes> prove();

  // After bound(): the corner of the box where a lane's bound is reached.
  std::vector<float> point(std::size_t lane) const;
  // Whether the network's rows, in float32, violate the clause at the point of each lane.
  std::array<bool, kLanes> violated();

  // After measure_gaps(), by open neuron and lane: how much a bound may gain by a split, and what
  // it loses at the point; 0 where it is split.
  float gain(std::size_t open, std::size_t lane) const { return gains_[at_lanes(open) + lane]; }
  float gap(std::size_t open, std::size_t lane) const { return gaps_[at_lanes(open) + lane]; }
  bool is_split(std::size_t open, std::size_t lane) const {
    return phase_[at_lanes(open) + lane] != 0;
  }

 private:
  enum class Pass : std::uint8_t { kAscend, kMeasure, kTrue };

  Lane rates_of(int step) const;
  void forward(Pass pass, int step);
  std::vector<float>& coefficients(int layer) {
    return layer < 0 ? input_coefficients_ : over_a_[static_cast<std::size_t>(layer)];
  }
  const std::vector<float>& values(int layer) const {
    return layer < 0 ? input_ : a_[static_cast<std::size_t>(layer)];
  }

  const SplitNetwork& network_;
  const std::vector<SplitTerm>& terms_;
  std::vector<float> scales_;

  // [open][kLanes]. choice: the slope, or the multiplier of a split neuron.
  std::vector<float> choice_, mean_, largest_, gains_, gaps_;
  std::vector<std::int32_t> phase_;  // 1: z >= 0, -1: z <= 0, 0: not split
  std::vector<float> weights_;       // [terms][kLanes]

  // By layer, [size][kLanes]: coefficients over a and over z, z and a.
  std::vector<std::vector<float>> over_a_, over_z_, z_, a_;
  std::vector<float> input_coefficients_, input_;
  Lane bounds_ = {};
  std::array<bool, kLanes> frozen_ = {};

  // Of prove().
  std::vector<std::vector<double>> proven_over_a_;
  std::vector<double> proven_over_z_, proven_over_input_;
};

}  // namespace bf_aot::cli
