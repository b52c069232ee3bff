#include <algorithm>
#include <cmath>

#include "aot/decide/neurons/lanes.h"

// Loads nodes into lanes, and stores lanes' choices in nodes.

namespace bf_aot::decide {
namespace {

constexpr float kSlopeUnit = 1.0F / 255;

}  // namespace

void add_split(SplitNode& node, const NeuronSplit& split) {
  const auto same = std::ranges::find_if(node.splits, [&](const NeuronSplit& each) {
    return each.open == split.open && each.positive == split.positive;
  });
  if (same != node.splits.end())
    *same = split;
  else
    node.splits.push_back(split);
}

// Sets a neuron in a lane to what it is on the whole box.
void NodeLanes::clear(std::size_t lane, std::size_t open) {
  const auto& layer = network_.layer_of(open);
  const auto j = static_cast<std::size_t>(network_.place_of(open).second);
  set_range(lane, open, layer.lower[j], layer.upper[j]);
  if (layer.function == nullptr) return;
  const std::size_t number = network_.function_of(open);
  FunctionState& state = function(number, lane);
  state = {};
  state.set_interval(on_box_[number]);
  state.begin(slopes_on_box_[number]);
}

void NodeLanes::set_range(std::size_t lane, std::size_t open, double lower, double upper) {
  const std::size_t at = at_lanes(open) + lane;
  low_[at] = lower;
  high_[at] = upper;
  lower_[at] = static_cast<float>(lower);
  ratio_[at] = static_cast<float>(upper / (upper - lower));
}

void NodeLanes::load(std::size_t lane, const SplitNode& node) {
  load_choices(lane, node);
  load_functions(lane, node);
}

void NodeLanes::load_choices(std::size_t lane, const SplitNode& node) {
  frozen_[lane] = false;
  objectives_[lane].reset();
  for (std::size_t i = 0; i < network_.open(); ++i) {
    const std::size_t at = at_lanes(i) + lane;
    choice_[at] = static_cast<float>(node.slopes[i]) * kSlopeUnit;
    phase_[at] = 0;
    mean_[at] = largest_[at] = 0;
  }
  for (std::size_t k = 0; k < node.planes.size(); ++k) {
    const std::size_t at = at_lanes(k) + lane;
    planes_[at] = static_cast<float>(node.planes[k]) * kSlopeUnit;
    plane_mean_[at] = plane_largest_[at] = 0;
  }
  for (std::size_t t = 0; t < terms_.size(); ++t) weights_[at_lanes(t) + lane] = node.weights[t];
  for (const std::uint32_t open : changed_[lane]) clear(lane, open);
  changed_[lane].clear();
  load_ranges(lane, node);
  for (const NeuronSplit& each : node.splits) load_split(lane, each);
}

// Loads the slopes of functions, and makes their lines' range of slopes on the node's ranges.
void NodeLanes::load_functions(std::size_t lane, const SplitNode& node) {
  for (std::size_t number = 0; number < network_.functions(); ++number) {
    FunctionState& state = function(number, lane);
    state.slopes = {node.lines[2 * number], node.lines[2 * number + 1]};
    state.ascents = {};
  }
  for (const std::uint32_t open : changed_[lane]) {
    const auto& layer = network_.layer_of(open);
    if (layer.function == nullptr) continue;
    const std::size_t at = at_lanes(open) + lane;
    FunctionState& state = function(network_.function_of(open), lane);
    if (state.of_z.low != low_[at] || state.of_z.high != high_[at])
      state.set_interval(layer.interval(low_[at], high_[at]));
    state.begin(
        slopes_around(*layer.function, low_[at], high_[at], state.slopes[0], state.slopes[1]));
  }
}

void NodeLanes::load_half(std::size_t lane, const SplitNode& node, std::size_t from,
                          const NeuronSplit& split) {
  load_choices(lane, node);
  for (std::size_t number = 0; number < network_.functions(); ++number)
    function(number, lane) = kept_[at_lanes(number) + from];
  load_split(lane, split);
  const auto& layer = network_.layer_of(split.open);
  if (layer.function == nullptr) return;
  const std::size_t at = at_lanes(split.open) + lane;
  FunctionState& state = function(network_.function_of(split.open), lane);
  state.set_interval(layer.interval(low_[at], high_[at]));
  state.begin(slopes_on(*layer.function, low_[at], high_[at]));
}

void NodeLanes::load_row(std::size_t lane, const SplitNode& node, const RowObjective& objective) {
  load(lane, node);
  objectives_[lane] = objective;
  for (std::size_t i = 0; i < network_.open(); ++i) {
    const std::size_t at = at_lanes(i) + lane;
    // The default slope gives the relaxation of least area; a split's multiplier is 0.
    choice_[at] = phase_[at] == 0 && high_[at] > -low_[at] ? 1.0F : 0.0F;
  }
  for (std::size_t k = 0; k < node.planes.size(); ++k) planes_[at_lanes(k) + lane] = 0.5F;
  for (std::size_t number = 0; number < network_.functions(); ++number)
    function(number, lane).multipliers = {};
  for (std::size_t t = 0; t < terms_.size(); ++t) weights_[at_lanes(t) + lane] = 0;
}

void NodeLanes::add_clause(std::size_t lane, const SplitNode& node, float times) {
  for (std::size_t t = 0; t < terms_.size(); ++t)
    weights_[at_lanes(t) + lane] = times * node.weights[t];
  for (const NeuronSplit& split : node.splits) {
    if (network_.layer_of(split.open).function == nullptr)
      choice_[at_lanes(split.open) + lane] = times * split.multiplier;
    else
      function(network_.function_of(split.open), lane).multipliers[split.positive ? 0 : 1] =
          times * split.multiplier;
  }
}

void NodeLanes::load_ranges(std::size_t lane, const SplitNode& node) {
  for (const NeuronRange& each : node.ranges) {
    const std::size_t at = at_lanes(each.open) + lane;
    changed_[lane].push_back(each.open);
    set_range(lane, each.open, std::max(low_[at], static_cast<double>(each.lower)),
              std::min(high_[at], static_cast<double>(each.upper)));
  }
}

void NodeLanes::load_split(std::size_t lane, const NeuronSplit& split) {
  const std::size_t at = at_lanes(split.open) + lane;
  if (network_.layer_of(split.open).function == nullptr) {
    phase_[at] = split.positive ? 1 : -1;
    choice_[at] = split.multiplier;
    return;
  }
  FunctionState& state = function(network_.function_of(split.open), lane);
  (split.positive ? state.keeps_low : state.keeps_high) = true;
  state.multipliers[split.positive ? 0 : 1] = split.multiplier;
  set_range(lane, split.open, split.positive ? std::max(low_[at], split.point) : low_[at],
            split.positive ? high_[at] : std::min(high_[at], split.point));
  changed_[lane].push_back(split.open);
}

void NodeLanes::store(std::size_t lane, SplitNode& node) const {
  for (std::size_t i = 0; i < network_.open(); ++i)
    if (const std::size_t at = at_lanes(i) + lane; phase_[at] == 0)
      node.slopes[i] = static_cast<std::uint8_t>(std::lround(choice_[at] / kSlopeUnit));
  for (NeuronSplit& each : node.splits) {
    if (network_.layer_of(each.open).function == nullptr)
      each.multiplier = choice_[at_lanes(each.open) + lane];
    else
      each.multiplier = functions_[at_lanes(network_.function_of(each.open)) + lane]
                            .multipliers[each.positive ? 0 : 1];
  }
  for (std::size_t number = 0; number < network_.functions(); ++number)
    std::ranges::copy(functions_[at_lanes(number) + lane].slopes,
                      node.lines.begin() + static_cast<std::ptrdiff_t>(2 * number));
  for (std::size_t k = 0; k < node.planes.size(); ++k)
    node.planes[k] =
        static_cast<std::uint8_t>(std::lround(planes_[at_lanes(k) + lane] / kSlopeUnit));
  for (std::size_t t = 0; t < terms_.size(); ++t) node.weights[t] = weights_[at_lanes(t) + lane];
}

}  // namespace bf_aot::decide
