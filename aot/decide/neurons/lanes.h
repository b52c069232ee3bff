#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "aot/decide/neurons/box_network.h"
#include "aot/decide/neurons/lanes/function_lanes.h"
#include "aot/decide/neurons/lanes/product_lanes.h"
#include "aot/decide/neurons/lanes/relu_lanes.h"

namespace bf_aot::decide {

// A violation of a clause needs sign (row - threshold) < 0 of each of its terms.
struct ClauseTerm {
  int row = 0;  // of BoxNetwork::rows()
  float sign = 1;
  double threshold = 0;
};

// A neuron that is kept on one side of a point, as it is at every violation in a node: z >= point
// (positive) or z <= point. 0 for a ReLU.
struct NeuronSplit {
  std::uint32_t open = 0;  // the open neuron's number
  bool positive = false;
  float multiplier = 0;  // >= 0, in units of NodeLanes' scale
  double point = 0;
};

// Where an open ReLU, of either sign, lies at every violation of the clause in a node.
struct NeuronRange {
  std::uint32_t open = 0;
  float lower = 0, upper = 0;
};

// A node of a tree of neuron splits: what is left of the box after its splits, and the choices
// that its bound begins with. Any choices give a proven bound.
struct SplitNode {
  std::uint32_t depth = 0;
  std::vector<NeuronSplit> splits;   // in the order in which they were made
  std::vector<float> weights;        // of the terms, >= 0, not all 0
  std::vector<std::uint8_t> slopes;  // of all open neurons, in units of 1 / 255
  std::vector<float> lines;          // of functions: slopes of the line below and of that above
  std::vector<std::uint8_t> planes;  // of products: below and above it, in units of 1 / 255
  std::vector<NeuronRange> ranges;   // that are tighter than the box's, by rising numbers
  // What was found of it, or of those above: the bound, what a split gains and what tighter ranges
  // gain, and at which depth these were looked for.
  float bound = 0, split_gain = 0, tighten_gain = 0;
  std::uint32_t tightened = 0;
};

// Adds a condition to those of a node. Of a function's neuron it replaces the one on the same side.
void add_split(SplitNode& node, const NeuronSplit& split);

// In place of the clause's sum: factor z of a neuron, a place of a layer, plus the terms, whose
// weights are 0 at first. A bound of it bounds factor z at every violation.
struct RowObjective {
  std::size_t layer = 0, place = 0;
  float factor = 1;
};

// coefficients x + constant, which is at most what is bounded.
struct InputPlane {
  std::vector<float> coefficients;
  float constant = 0;
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
  NodeLanes(const BoxNetwork& network, const std::vector<ClauseTerm>& terms);

  // Units of multipliers by layer. 1 at first.
  void set_scales(std::vector<float> scales) { scales_ = std::move(scales); }
  const std::vector<float>& scales() const { return scales_; }
  // Mean |coefficient| of the layers' open neurons in lane 0 after bound(): what scales should be.
  std::vector<float> mean_coefficients() const;

  // A node into a lane, and what the ascent there knows forgotten.
  void load(std::size_t lane, const SplitNode& node);
  // Functions of lanes behind the first `lanes` are left out: their bounds mean nothing.
  void use(std::size_t lanes) { lanes_in_use_ = lanes; }
  // Keeps what functions are in all lanes, for load_half().
  void keep() { kept_ = functions_; }
  // A half of a node that was in lane `from` when it was kept, with the choices that it had then.
  void load_half(std::size_t lane, const SplitNode& node, std::size_t from,
                 const NeuronSplit& split);
  // The same, but for an objective of its own and the usual choices in place of the node's.
  void load_row(std::size_t lane, const SplitNode& node, const RowObjective& objective);
  // The choices of a lane into the node that was loaded there.
  void store(std::size_t lane, SplitNode& node) const;

  // So many times the node's weights and multipliers into a lane with an objective of its own.
  void add_clause(std::size_t lane, const SplitNode& node, float times);

  // Bounds of all lanes.
  const Lane& bound();
  // After bound(): the inputs' coefficients in a lane, and what is added to them.
  InputPlane plane(std::size_t lane) const;
  // One step of all choices along the gradient of the last bound(). step: from 0.
  void ascend(int step);
  // A lane whose choices stay until the next load().
  void freeze(std::size_t lane) { frozen_[lane] = true; }
  // What neurons' relaxations lose at the points of the last bound(), in place of a step.
  void measure_gaps();
  // The lanes whose bound is proven to be >= 0.
  std::array<bool, kLanes> prove();
  // What is proven to be a bound of each lane; NaN or -inf where nothing is.
  std::array<double, kLanes> proven_bounds();

  // After bound(): the corner of the box where a lane's bound is reached.
  std::vector<float> point(std::size_t lane) const;
  // Whether the network's rows, in float32, violate the clause at the point of each lane.
  std::array<bool, kLanes> violated();

  // Where an open neuron lies in a lane.
  std::pair<double, double> range_of(std::size_t open, std::size_t lane) const;
  // The point at which it would be split; nothing where that says nothing.
  std::optional<double> point_of(std::size_t open, std::size_t lane) const;
  // What an open neuron is in a lane, or about that of a function; nothing of a ReLU of either
  // sign.
  std::optional<FunctionPiece> piece_of(std::size_t open, std::size_t lane) const;
  // The slopes of functions on the box.
  const std::vector<SlopeRange>& slopes_on_box() const { return slopes_on_box_; }

  // After measure_gaps(), by open neuron and lane: how much a bound may gain by a split, and what
  // it loses at the point; 0 where it is split.
  float gain(std::size_t open, std::size_t lane) const { return gains_[at_lanes(open) + lane]; }
  float gap(std::size_t open, std::size_t lane) const { return gaps_[at_lanes(open) + lane]; }
  // A ReLU of one sign in the lane.
  bool is_split(std::size_t open, std::size_t lane) const {
    return phase_[at_lanes(open) + lane] != 0;
  }
  bool is_positive(std::size_t open, std::size_t lane) const {
    return phase_[at_lanes(open) + lane] > 0;
  }

 private:
  enum class Pass : std::uint8_t { kAscend, kMeasure, kTrue };

  struct Sum;  // of a proof

  Lane rates_of(int step) const;
  void forward(Pass pass, int step);
  // Of neuron j of layer i, an open one with this number.
  void forward_open(std::size_t i, std::size_t j, std::size_t number, Pass pass, const Lane& rates);
  void forward_function(std::size_t i, std::size_t j, std::size_t number, Pass pass,
                        const Lane& rates);
  void pass_products(std::size_t i);
  void forward_products(std::size_t i, Pass pass, const Lane& rates);
  ProductChoices planes_of(std::size_t product);
  ProductNeuron product_neuron(const std::array<BoxNetwork::Factor, 2>& factors,
                               std::array<Lane, 4>& memory) const;
  OpenNeuron open_neuron(std::size_t i, std::size_t j, std::size_t own) const;
  void load_choices(std::size_t lane, const SplitNode& node);
  void load_functions(std::size_t lane, const SplitNode& node);
  void load_ranges(std::size_t lane, const SplitNode& node);
  void load_split(std::size_t lane, const NeuronSplit& split);
  void clear(std::size_t lane, std::size_t open);
  void set_range(std::size_t lane, std::size_t open, double lower, double upper);
  FunctionState& function(std::size_t number, std::size_t lane) {
    return functions_[at_lanes(number) + lane];
  }
  void begin_proof(Sum& sum);
  void prove_layer(std::size_t i, Sum& sum);
  void prove_products(std::size_t i, Sum& sum);
  Sum prove_sum();
  std::vector<float>& coefficients(int layer) {
    return layer < 0 ? input_coefficients_ : over_a_[static_cast<std::size_t>(layer)];
  }
  std::vector<double>& proven_coefficients(int layer) {
    return layer < 0 ? proven_over_input_ : proven_over_a_[static_cast<std::size_t>(layer)];
  }
  const std::vector<float>& values(int layer) const {
    return layer < 0 ? input_ : a_[static_cast<std::size_t>(layer)];
  }

  const BoxNetwork& network_;
  const std::vector<ClauseTerm>& terms_;
  std::vector<float> scales_;

  // [open][kLanes]. choice: the slope, or the multiplier of a split neuron.
  std::vector<float> choice_, mean_, largest_, gains_, gaps_;
  std::vector<std::int32_t> phase_;  // 1: z >= 0, -1: z <= 0, 0: not split
  std::vector<float> weights_;       // [terms][kLanes]
  // Where open neurons lie, rounded to float and as they are, and u / (u - l).
  std::vector<float> lower_, ratio_;
  std::vector<double> low_, high_;
  std::array<std::vector<std::uint32_t>, kLanes> changed_;  // that do not lie as on the box
  std::vector<FunctionState> functions_;                    // [functions][kLanes]
  std::vector<SlopeRange> slopes_on_box_;                   // [functions]
  std::vector<FunctionInterval> on_box_;                    // the same
  std::vector<FunctionState> kept_;                         // [functions][kLanes]
  // [products][2][kLanes]: below and above.
  std::vector<float> planes_, plane_mean_, plane_largest_;
  std::size_t lanes_in_use_ = kLanes;
  std::array<std::optional<RowObjective>, kLanes> objectives_;

  // By layer, [size][kLanes]: coefficients over a and over z, z and a.
  std::vector<std::vector<float>> over_a_, over_z_, z_, a_;
  std::vector<float> input_coefficients_, input_;
  Lane bounds_ = {};
  std::array<bool, kLanes> frozen_ = {};

  // Of prove().
  std::vector<std::vector<double>> proven_over_a_;
  std::vector<double> proven_over_z_, proven_over_input_;
};

}  // namespace bf_aot::decide
