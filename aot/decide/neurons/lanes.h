#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "aot/decide/neurons/lanes/function_lanes.h"
#include "aot/decide/neurons/lanes/product_lanes.h"
#include "aot/decide/neurons/lanes/relu_lanes.h"
#include "aot/decide/neurons/split_network.h"

namespace bf_aot::decide {

// A condition of a clause. Every violation of the clause has sign (row - threshold) < 0 for each of
// its terms.
struct SplitTerm {
  int row = 0;  // index in SplitNetwork::rows()
  float sign = 1;
  double threshold = 0;
};

// A neuron that is kept on one side of a point at every violation in a node: z >= point (positive)
// or z <= point. The point of a ReLU is 0.
struct NeuronSplit {
  std::uint32_t open = 0;  // the open neuron's number
  bool positive = false;
  float multiplier = 0;  // >= 0, in units of NodeLanes' scale
  double point = 0;
};

// A range that holds the argument of an open ReLU, whose sign it leaves open, at every violation of
// the clause in a node.
struct NeuronRange {
  std::uint32_t open = 0;
  float lower = 0, upper = 0;
};

// A node of a tree of neuron splits: the part of the box where its splits hold, and the choices
// (slopes, planes, weights, multipliers) that its bound begins with. Any choices give a proven
// bound.
struct SplitNode {
  std::uint32_t depth = 0;
  std::vector<NeuronSplit> splits;   // in the order in which they were made
  std::vector<float> weights;        // one for each term, >= 0, not all 0
  std::vector<std::uint8_t> slopes;  // one for each open neuron, in units of 1 / 255
  std::vector<float> lines;  // two for each function: slopes of the lines below and above it
  // Two for each product: below and above it, in units of 1 / 255.
  std::vector<std::uint8_t> planes;
  std::vector<NeuronRange> ranges;  // where tighter than on the box, by rising numbers
  // Results found in the node, or in those above it: its bound, the gains of a split and of tighter
  // ranges, and the depth at which ranges were last made tighter.
  float bound = 0, split_gain = 0, tighten_gain = 0;
  std::uint32_t tightened = 0;
};

// Adds a split to those of a node. For a function's neuron it replaces the split on the same side.
void add_split(SplitNode& node, const NeuronSplit& split);

// An objective in place of the clause's sum: factor z, for a neuron at a place of a layer, plus the
// terms, whose weights are 0 at first. A bound of it bounds factor z at every violation.
struct RowObjective {
  std::size_t layer = 0, place = 0;
  float factor = 1;
};

// A plane over the inputs, coefficients x + constant, that lies nowhere above what is bounded.
struct InputPlane {
  std::vector<float> coefficients;
  float constant = 0;
};

// Bounds kLanes nodes side by side, in plain float32, which proposes, and proves bounds in double.
//
// The bound of a node is a lower bound of F = sum_t weight_t sign_t (row_t - threshold_t) on the
// part of the box where its splits hold. F >= 0 there excludes a violation.
// Method: Wang et al., Beta-CROWN (2021), with each split's multiplier as a clamp of the
// coefficient that passes its ReLU.
class NodeLanes {
 public:
  using Lane = std::array<float, kLanes>;

  // Keeps references to both arguments. Not for several threads.
  NodeLanes(const SplitNetwork& network, const std::vector<SplitTerm>& terms);

  // Sets the unit of splits' multipliers for each layer. All are 1 at first.
  void set_scales(std::vector<float> scales) { scales_ = std::move(scales); }
  const std::vector<float>& scales() const { return scales_; }
  // The mean |coefficient| over each layer's open neurons, in lane 0 after bound(): suitable
  // scales.
  std::vector<float> mean_coefficients() const;

  // Loads the node into the lane; what the ascent of the lane's former node has learnt is
  // forgotten.
  void load(std::size_t lane, const SplitNode& node);
  // Leaves functions of all but the first `lanes` lanes out, whose bounds then mean nothing.
  void use(std::size_t lanes) { lanes_in_use_ = lanes; }
  // Keeps the states of functions in all lanes, for load_half().
  void keep() { kept_ = functions_; }
  // Loads a half of a node into a lane, with the choices that the node had in lane `from` when
  // keep() was called.
  void load_half(std::size_t lane, const SplitNode& node, std::size_t from,
                 const NeuronSplit& split);
  // Loads the node into the lane, but bounds `objective` instead of the clause, from default slopes
  // and planes and without multipliers.
  void load_row(std::size_t lane, const SplitNode& node, const RowObjective& objective);
  // Writes the lane's choices to the node that was loaded there.
  void store(std::size_t lane, SplitNode& node) const;

  // Adds `times` times the clause, with the node's weights and multipliers, to the objective of a
  // lane that load_row() loaded.
  void add_clause(std::size_t lane, const SplitNode& node, float times);

  // Computes the bounds of all lanes.
  const Lane& bound();
  // The lower plane over the inputs that the last bound() of a lane was taken from.
  InputPlane plane(std::size_t lane) const;
  // Moves all choices one step along the gradient of the last bound(). step: counted from 0.
  void ascend(int step);
  // Keeps a lane's choices as they are until the next load().
  void freeze(std::size_t lane) { frozen_[lane] = true; }
  // Measures gain() and gap() at the points of the last bound(). Choices stay as they are.
  void measure_gaps();
  // Returns whether each lane's bound is proven to be >= 0.
  std::array<bool, kLanes> prove();
  // A proven lower bound for each lane; NaN or -inf where nothing is proven.
  std::array<double, kLanes> proven_bounds();

  // The corner of the box where a lane's bound is reached. Requires bound().
  std::vector<float> point(std::size_t lane) const;
  // Returns whether the network's rows, in float32, violate the clause at the point of each lane.
  std::array<bool, kLanes> violated();

  // The range of an open neuron's argument in a lane.
  std::pair<double, double> range_of(std::size_t open, std::size_t lane) const;
  // The point at which an open neuron would be split; none where a split would say nothing.
  std::optional<double> point_of(std::size_t open, std::size_t lane) const;
  // The line that an open neuron's function is in a lane, or about is for a smooth one; none for a
  // ReLU whose sign is open.
  std::optional<FunctionPiece> piece_of(std::size_t open, std::size_t lane) const;
  // The slopes of all functions' lines on the whole box.
  const std::vector<SlopeRange>& slopes_on_box() const { return slopes_on_box_; }

  // The gain of an open neuron in a lane, which is how much the bound may rise by a split of it,
  // and its gap, which is what the bound loses by the neuron's line at the point. Both are 0 for a
  // ReLU that is split. Requires measure_gaps().
  float gain(std::size_t open, std::size_t lane) const { return gains_[at_lanes(open) + lane]; }
  float gap(std::size_t open, std::size_t lane) const { return gaps_[at_lanes(open) + lane]; }
  // Returns whether the neuron is a ReLU that is split in the lane.
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
  // j: place in layer i; number: that of the open neuron.
  void forward_open(std::size_t i, std::size_t j, std::size_t number, Pass pass, const Lane& rates);
  void forward_function(std::size_t i, std::size_t j, std::size_t number, Pass pass,
                        const Lane& rates);
  void pass_products(std::size_t i);
  void forward_products(std::size_t i, Pass pass, const Lane& rates);
  ProductChoices planes_of(std::size_t product);
  ProductNeuron product_neuron(const std::array<SplitNetwork::Factor, 2>& factors,
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

  const SplitNetwork& network_;
  const std::vector<SplitTerm>& terms_;
  std::vector<float> scales_;

  // [open][kLanes]. choice: the slope, or the multiplier of a neuron that is split.
  std::vector<float> choice_, mean_, largest_, gains_, gaps_;
  std::vector<std::int32_t> phase_;  // 1: z >= 0, -1: z <= 0, 0: not split
  std::vector<float> weights_;       // [terms][kLanes]
  // The ranges of open neurons, rounded to float and exactly, and u / (u - l).
  std::vector<float> lower_, ratio_;
  std::vector<double> low_, high_;
  std::array<std::vector<std::uint32_t>, kLanes> changed_;  // neurons whose range is not the box's
  std::vector<FunctionState> functions_;                    // [functions][kLanes]
  std::vector<SlopeRange> slopes_on_box_;                   // [functions]
  std::vector<FunctionInterval> on_box_;                    // [functions]
  std::vector<FunctionState> kept_;                         // [functions][kLanes]
  // [products][2][kLanes]: below and above.
  std::vector<float> planes_, plane_mean_, plane_largest_;
  std::size_t lanes_in_use_ = kLanes;
  std::array<std::optional<RowObjective>, kLanes> objectives_;

  // Arrays by layer, [size][kLanes]: coefficients over a and over z, z and a.
  std::vector<std::vector<float>> over_a_, over_z_, z_, a_;
  std::vector<float> input_coefficients_, input_;
  Lane bounds_ = {};
  std::array<bool, kLanes> frozen_ = {};

  // Memory of prove().
  std::vector<std::vector<double>> proven_over_a_;
  std::vector<double> proven_over_z_, proven_over_input_;
};

}  // namespace bf_aot::decide
