#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "aot/decide/neurons/box_network.h"
#include "aot/decide/neurons/lanes/function_lanes.h"
#include "aot/decide/neurons/split_node.h"

namespace bf_aot::decide {

// In place of the clause's sum: factor z of a neuron, a place of a layer, plus the terms, whose
// weights are 0 at first. A bound of it bounds factor z at every violation.
struct RowObjective {
  std::size_t layer = 0, place = 0;
  float factor = 1;
};

// A choice of each of some neurons in all lanes, and its ascent; see Ascent. [count][kLanes].
struct ChoiceLanes {
  std::vector<float> value, mean, largest;

  explicit ChoiceLanes(std::size_t count)
      : value(at_lanes(count)), mean(at_lanes(count)), largest(at_lanes(count)) {}
  // Puts a choice at a place, and forgets what the ascent knew there.
  void begin(std::size_t at, float choice) {
    value[at] = choice;
    mean[at] = largest[at] = 0;
  }
};

// Where open neurons lie in all lanes: as it is, rounded to float, and u / (u - l).
// [open][kLanes].
struct RangeLanes {
  std::vector<double> low, high;
  std::vector<float> lower, ratio;

  explicit RangeLanes(std::size_t open)
      : low(at_lanes(open)), high(at_lanes(open)), lower(at_lanes(open)), ratio(at_lanes(open)) {}
  void set(std::size_t at, double of_low, double of_high);
};

// The nodes of all lanes: what is left of the box in each, and the choices that its bound is made
// with. Lines of functions are kept with them.
class LaneNodes {
 public:
  // Both are kept by reference. Not for several threads.
  LaneNodes(const BoxNetwork& network_on_box, const std::vector<ClauseTerm>& terms_of_clause);

  // Loads the node into the lane, and forgets what the ascent there knows.
  void load(std::size_t lane, const SplitNode& node);
  // Keeps what functions are in all lanes, for load_half().
  void keep() { kept_ = functions_; }
  // Loads a half of the node that was in lane `from` at keep(), with `node`'s choices and the
  // functions as they were kept.
  void load_half(std::size_t lane, const SplitNode& node, std::size_t from,
                 const NeuronSplit& split);
  // Loads the node to bound `objective`, with default choices and without terms or multipliers.
  void load_row(std::size_t lane, const SplitNode& node, const RowObjective& objective);
  // Sets the weights and multipliers of a lane with an objective to `times` the node's.
  void add_clause(std::size_t lane, const SplitNode& node, float times);
  // Does add_clause(), and adds each[t] to the weight of term t.
  void add_terms(std::size_t lane, const SplitNode& node, float times,
                 const std::vector<float>& each);
  // Stores the choices of a lane in the node that was loaded there.
  void store(std::size_t lane, SplitNode& node) const;

  // Where an open neuron lies in a lane.
  std::pair<double, double> range_of(std::size_t open, std::size_t lane) const;
  // The point at which it would be split; nothing where that says nothing.
  std::optional<double> point_of(std::size_t open, std::size_t lane) const;
  // Returns the affine piece that an open neuron is in a lane, or the chord of a function; nothing
  // of a ReLU of either sign.
  std::optional<FunctionPiece> piece_of(std::size_t open, std::size_t lane) const;
  // The slopes of functions on the box.
  const std::vector<SlopeRange>& slopes_on_box() const { return slopes_on_box_; }

  FunctionState& function(std::size_t number, std::size_t lane) {
    return functions_[at_lanes(number) + lane];
  }
  const FunctionState& function(std::size_t number, std::size_t lane) const {
    return functions_[at_lanes(number) + lane];
  }

  const BoxNetwork& network;
  const std::vector<ClauseTerm>& terms;
  // Tells the terms whose weights have the sum 1. Those whose rows are affine on the box, as terms
  // on inputs alone, lose nothing: they are conditions under which the sum of the others is
  // bounded, and their weights are multipliers of any size. Where all terms are such, all weights
  // have the sum 1.
  std::vector<bool> is_weighed;
  std::vector<float> scales;   // units of multipliers by layer: 1 at first
  std::vector<float> weights;  // [terms][kLanes]
  ChoiceLanes choices;         // of open neurons: the slope, or the multiplier of a split ReLU
  ChoiceLanes planes;          // of products, [products][2][kLanes]: below and above
  // [open][kLanes]. Of a ReLU, 1: z >= 0, -1: z <= 0, 0: not split.
  std::vector<std::int32_t> phase;
  RangeLanes ranges;
  // Functions of lanes behind the first so many are left out: their bounds mean nothing.
  std::size_t in_use = kLanes;
  std::array<std::optional<RowObjective>, kLanes> objectives;
  std::array<bool, kLanes> frozen = {};  // whose choices stay until the next load()

 private:
  void load_choices(std::size_t lane, const SplitNode& node);
  void load_functions(std::size_t lane, const SplitNode& node);
  void load_ranges(std::size_t lane, const SplitNode& node);
  void load_split(std::size_t lane, const NeuronSplit& split);
  void clear(std::size_t lane, std::size_t open);

  std::array<std::vector<std::uint32_t>, kLanes> changed_;  // that do not lie as on the box
  std::vector<FunctionState> functions_, kept_;             // [functions][kLanes]
  std::vector<SlopeRange> slopes_on_box_;                   // [functions]
  std::vector<FunctionInterval> on_box_;                    // the same
};

}  // namespace bf_aot::decide
