#include "aot/decide/neurons/lane_nodes.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace bf_aot::decide {
namespace {

constexpr float kSlopeUnit = 1.0F / 255;

// Tells for each term whether its row is bent anywhere on the box. Rows that are not are affine in
// the inputs.
std::vector<bool> bent_terms(const BoxNetwork& network, const std::vector<ClauseTerm>& terms) {
  std::vector<std::vector<bool>> bent;  // by layer, the activations
  for (const auto& layer : network.layers()) {
    std::vector<bool> own(layer.size(), layer.is_product);
    for (const auto& part : layer.parts)
      if (part.source >= 0)
        part.forward.for_each_product([&, &from = bent[static_cast<std::size_t>(part.source)]](
                                          std::size_t row, std::size_t column, float) {
          own[row] = own[row] || from[column];
        });
    for (std::size_t j = 0; j < own.size(); ++j)
      own[j] = own[j] || layer.phase[j] != BoxNetwork::Phase::kLinear;
    bent.push_back(std::move(own));
  }
  std::vector<bool> made;
  for (const ClauseTerm& term : terms) {
    const auto [layer, place] = network.rows()[static_cast<std::size_t>(term.row)];
    made.push_back(bent[static_cast<std::size_t>(layer)][static_cast<std::size_t>(place)]);
  }
  return made;
}

std::vector<bool> weighed_terms(const BoxNetwork& network, const std::vector<ClauseTerm>& terms) {
  std::vector<bool> made = bent_terms(network, terms);
  if (std::ranges::find(made, true) == made.end()) made.assign(terms.size(), true);
  return made;
}

}  // namespace

void RangeLanes::set(std::size_t at, double of_low, double of_high) {
  low[at] = of_low;
  high[at] = of_high;
  lower[at] = static_cast<float>(of_low);
  ratio[at] = static_cast<float>(of_high / (of_high - of_low));
}

LaneNodes::LaneNodes(const BoxNetwork& network_on_box,
                     const std::vector<ClauseTerm>& terms_of_clause)
    : network(network_on_box),
      terms(terms_of_clause),
      is_weighed(weighed_terms(network, terms)),
      scales(network.layers().size(), 1.0F),
      weights(at_lanes(terms.size())),
      choices(network.open()),
      planes(2 * network.products()),
      phase(at_lanes(network.open())),
      ranges(network.open()),
      functions_(at_lanes(network.functions())) {
  for (std::size_t i = 0; i < network.open(); ++i) {
    const auto& layer = network.layer_of(i);
    if (layer.function != nullptr) {
      const auto j = static_cast<std::size_t>(network.place_of(i).second);
      slopes_on_box_.push_back(slopes_on(*layer.function, layer.lower[j], layer.upper[j]));
      on_box_.push_back(layer.interval(layer.lower[j], layer.upper[j]));
    }
    for (std::size_t p = 0; p < kLanes; ++p) clear(p, i);
  }
}

std::pair<double, double> LaneNodes::range_of(std::size_t open, std::size_t lane) const {
  const std::size_t at = at_lanes(open) + lane;
  return {ranges.low[at], ranges.high[at]};
}

std::optional<double> LaneNodes::point_of(std::size_t open, std::size_t lane) const {
  const auto& layer = network.layer_of(open);
  if (layer.function == nullptr) {
    if (phase[at_lanes(open) + lane] != 0) return std::nullopt;
    return 0;
  }
  return function(network.function_of(open), lane).of_z.point;
}

std::optional<FunctionPiece> LaneNodes::piece_of(std::size_t open, std::size_t lane) const {
  const auto& layer = network.layer_of(open);
  if (layer.function == nullptr) {
    const int side = phase[at_lanes(open) + lane];
    if (side == 0) return std::nullopt;
    return FunctionPiece{side > 0 ? 1.0 : 0.0, 0};
  }
  const auto [low, high] = range_of(open, lane);
  return piece_on(*layer.function, low, high);
}

// Gives an open neuron of a lane the range that it has on the box.
void LaneNodes::clear(std::size_t lane, std::size_t open) {
  const auto& layer = network.layer_of(open);
  const auto j = static_cast<std::size_t>(network.place_of(open).second);
  ranges.set(at_lanes(open) + lane, layer.lower[j], layer.upper[j]);
  if (layer.function == nullptr) return;
  const std::size_t number = network.function_of(open);
  FunctionState& state = function(number, lane);
  state = {};
  state.set_interval(on_box_[number]);
  state.begin(slopes_on_box_[number]);
}

void LaneNodes::load(std::size_t lane, const SplitNode& node) {
  load_choices(lane, node);
  load_functions(lane, node);
}

void LaneNodes::load_choices(std::size_t lane, const SplitNode& node) {
  frozen[lane] = false;
  objectives[lane].reset();
  for (std::size_t i = 0; i < network.open(); ++i) {
    const std::size_t at = at_lanes(i) + lane;
    choices.begin(at, static_cast<float>(node.slopes[i]) * kSlopeUnit);
    phase[at] = 0;
  }
  for (std::size_t k = 0; k < node.planes.size(); ++k)
    planes.begin(at_lanes(k) + lane, static_cast<float>(node.planes[k]) * kSlopeUnit);
  for (std::size_t t = 0; t < terms.size(); ++t) weights[at_lanes(t) + lane] = node.weights[t];
  for (const std::uint32_t open : changed_[lane]) clear(lane, open);
  changed_[lane].clear();
  load_ranges(lane, node);
  for (const NeuronSplit& each : node.splits) load_split(lane, each);
}

// The choices of functions, on where they lie now.
void LaneNodes::load_functions(std::size_t lane, const SplitNode& node) {
  for (std::size_t number = 0; number < network.functions(); ++number) {
    FunctionState& state = function(number, lane);
    state.slopes = {node.lines[2 * number], node.lines[2 * number + 1]};
    state.ascents = {};
  }
  for (const std::uint32_t open : changed_[lane]) {
    const auto& layer = network.layer_of(open);
    if (layer.function == nullptr) continue;
    const std::size_t at = at_lanes(open) + lane;
    FunctionState& state = function(network.function_of(open), lane);
    if (state.of_z.low != ranges.low[at] || state.of_z.high != ranges.high[at])
      state.set_interval(layer.interval(ranges.low[at], ranges.high[at]));
    state.begin(slopes_around(*layer.function, ranges.low[at], ranges.high[at], state.slopes[0],
                              state.slopes[1]));
  }
}

void LaneNodes::load_half(std::size_t lane, const SplitNode& node, std::size_t from,
                          const NeuronSplit& split) {
  load_choices(lane, node);
  for (std::size_t number = 0; number < network.functions(); ++number)
    function(number, lane) = kept_[at_lanes(number) + from];
  load_split(lane, split);
  const auto& layer = network.layer_of(split.open);
  if (layer.function == nullptr) return;
  const std::size_t at = at_lanes(split.open) + lane;
  FunctionState& state = function(network.function_of(split.open), lane);
  state.set_interval(layer.interval(ranges.low[at], ranges.high[at]));
  state.begin(slopes_on(*layer.function, ranges.low[at], ranges.high[at]));
}

void LaneNodes::load_row(std::size_t lane, const SplitNode& node, const RowObjective& objective) {
  load(lane, node);
  objectives[lane] = objective;
  for (std::size_t i = 0; i < network.open(); ++i) {
    const std::size_t at = at_lanes(i) + lane;
    // The usual choice; no multiplier.
    choices.value[at] = phase[at] == 0 && ranges.high[at] > -ranges.low[at] ? 1.0F : 0.0F;
  }
  for (std::size_t k = 0; k < node.planes.size(); ++k) planes.value[at_lanes(k) + lane] = 0.5F;
  for (std::size_t number = 0; number < network.functions(); ++number)
    function(number, lane).multipliers = {};
  for (std::size_t t = 0; t < terms.size(); ++t) weights[at_lanes(t) + lane] = 0;
}

void LaneNodes::add_clause(std::size_t lane, const SplitNode& node, float times) {
  for (std::size_t t = 0; t < terms.size(); ++t)
    weights[at_lanes(t) + lane] = times * node.weights[t];
  for (const NeuronSplit& split : node.splits) {
    if (network.layer_of(split.open).function == nullptr)
      choices.value[at_lanes(split.open) + lane] = times * split.multiplier;
    else
      function(network.function_of(split.open), lane).multipliers[split.positive ? 0 : 1] =
          times * split.multiplier;
  }
}

void LaneNodes::add_terms(std::size_t lane, const SplitNode& node, float times,
                          const std::vector<float>& each) {
  add_clause(lane, node, times);
  for (std::size_t t = 0; t < terms.size(); ++t) weights[at_lanes(t) + lane] += each[t];
}

void LaneNodes::load_ranges(std::size_t lane, const SplitNode& node) {
  for (const NeuronRange& each : node.ranges) {
    const std::size_t at = at_lanes(each.open) + lane;
    changed_[lane].push_back(each.open);
    ranges.set(at, std::max(ranges.low[at], static_cast<double>(each.lower)),
               std::min(ranges.high[at], static_cast<double>(each.upper)));
  }
}

void LaneNodes::load_split(std::size_t lane, const NeuronSplit& split) {
  const std::size_t at = at_lanes(split.open) + lane;
  if (network.layer_of(split.open).function == nullptr) {
    phase[at] = split.positive ? 1 : -1;
    choices.value[at] = split.multiplier;
    return;
  }
  FunctionState& state = function(network.function_of(split.open), lane);
  (split.positive ? state.keeps_low : state.keeps_high) = true;
  state.multipliers[split.positive ? 0 : 1] = split.multiplier;
  ranges.set(at, split.positive ? std::max(ranges.low[at], split.point) : ranges.low[at],
             split.positive ? ranges.high[at] : std::min(ranges.high[at], split.point));
  changed_[lane].push_back(split.open);
}

void LaneNodes::store(std::size_t lane, SplitNode& node) const {
  for (std::size_t i = 0; i < network.open(); ++i)
    if (const std::size_t at = at_lanes(i) + lane; phase[at] == 0)
      node.slopes[i] = static_cast<std::uint8_t>(std::lround(choices.value[at] / kSlopeUnit));
  for (NeuronSplit& each : node.splits) {
    if (network.layer_of(each.open).function == nullptr)
      each.multiplier = choices.value[at_lanes(each.open) + lane];
    else
      each.multiplier =
          function(network.function_of(each.open), lane).multipliers[each.positive ? 0 : 1];
  }
  for (std::size_t number = 0; number < network.functions(); ++number)
    std::ranges::copy(function(number, lane).slopes,
                      node.lines.begin() + static_cast<std::ptrdiff_t>(2 * number));
  for (std::size_t k = 0; k < node.planes.size(); ++k)
    node.planes[k] =
        static_cast<std::uint8_t>(std::lround(planes.value[at_lanes(k) + lane] / kSlopeUnit));
  for (std::size_t t = 0; t < terms.size(); ++t) node.weights[t] = weights[at_lanes(t) + lane];
}

}  // namespace bf_aot::decide
