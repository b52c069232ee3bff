#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace bf_aot::decide {

// A violation of a clause needs sign (row - threshold) < 0 of each of its terms, and sign (row -
// limit) <= 0 where there is a limit, which is nearer then.
struct ClauseTerm {
  int row = 0;  // of BoxNetwork::rows()
  float sign = 1;
  double threshold = 0;
  std::optional<double> limit = {};

  double nearest() const { return limit.value_or(threshold); }
};

// A neuron that is kept on one side of a point, as it is at every violation in a node: z >= point
// (positive) or z <= point. 0 for a ReLU.
struct NeuronSplit {
  std::uint32_t open = 0;  // the open neuron's number
  bool positive = false;
  float multiplier = 0;  // >= 0, in units of LaneNodes::scales
  double point = 0;

  bool operator==(const NeuronSplit&) const = default;
};

// Where an open ReLU, of either sign, lies at every violation of the clause in a node.
struct NeuronRange {
  std::uint32_t open = 0;
  float lower = 0, upper = 0;

  bool operator==(const NeuronRange&) const = default;
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
  // Findings of this node, or of those above: the bound, what a split gains and what tighter ranges
  // gain, and at which depth these were looked for.
  float bound = 0, split_gain = 0, tighten_gain = 0;
  std::uint32_t tightened = 0;
};

// Adds a condition to those of a node. Of a function's neuron it replaces the one on the same side.
void add_split(SplitNode& node, const NeuronSplit& split);

// Notes the range of a ReLU in a node. A range of one sign becomes a split.
void narrow_relu(SplitNode& node, std::uint32_t open, double lower, double upper);

}  // namespace bf_aot::decide
