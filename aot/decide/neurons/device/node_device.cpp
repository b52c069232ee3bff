#include "aot/decide/neurons/device/node_device.h"

#include <algorithm>
#include <cmath>

#include "runtime/bf/c/nodes/network.h"

namespace bf_aot::decide {
namespace {

constexpr float kLargest = 0x1p100F;  // bound or gain: differences of two stay finite
// The largest multiplier or weight. Sums of products with such numbers stay finite.
constexpr float kMostOfChoice = 0x1p40F;

// A number that is finite, at least 0 and at most `most`.
float fit(float number, float most) {
  if (!(number > 0)) return 0;  // NaN, too
  return std::min(number, most);
}

// A bound that is finite; NaN says nothing.
float fit_bound(float bound) {
  return std::isnan(bound) ? -kLargest : std::clamp(bound, -kLargest, kLargest);
}

}  // namespace

void DeviceNodes::begin(std::size_t groups, std::size_t terms) {
  groups_ = groups;
  terms_ = terms;
  arrays_.choices.resize(groups * network_->choices(terms));
  arrays_.ranges.resize(groups * network_->ranges);
  arrays_.made.assign(groups * at_lanes(BF_NODE_MADE), 0);
  arrays_.gains.assign(groups * network_->gains, 0);
}

void DeviceNodes::load(std::size_t group, const LaneNodes& lanes) {
  float* const choices = arrays_.choices.data() + group * network_->choices(terms_);
  std::ranges::copy(lanes.weights, std::ranges::copy(lanes.choices.value, choices).out);
  float* const ranges = arrays_.ranges.data() + group * network_->ranges;
  float* const lower = std::ranges::copy(lanes.phase, ranges).out;
  std::ranges::copy(lanes.ranges.ratio, std::ranges::copy(lanes.ranges.lower, lower).out);
}

void DeviceNodes::ascend(std::span<const std::byte> clause, const std::function<void()>& pause) {
  device_.call(NodeDevice::Entry::kAscend, network_, clause, groups_, arrays_, pause);
}

void DeviceNodes::look_ahead(std::span<const std::byte> clause,
                             const std::function<void()>& pause) {
  device_.call(NodeDevice::Entry::kLookAhead, network_, clause, groups_, arrays_, pause);
}

void DeviceNodes::take_choices(std::size_t group, LaneNodes& lanes) const {
  const float* const choices = arrays_.choices.data() + group * network_->choices(terms_);
  for (std::size_t at = 0; at < lanes.choices.value.size(); ++at)
    lanes.choices.value[at] = fit(choices[at], lanes.phase[at] == 0 ? 1 : kMostOfChoice);
  const float* const weights = choices + at_lanes(network_->open);
  for (std::size_t p = 0; p < kLanes; ++p) {
    float sum = 0;
    bool good = true;
    for (std::size_t t = 0; t < terms_; ++t) {
      const float weight = weights[at_lanes(t) + p];
      good = good && weight >= 0;
      sum += weight;
    }
    if (!good || !(sum > 0 && sum <= kMostOfChoice)) continue;  // the node's own stay
    for (std::size_t t = 0; t < terms_; ++t)
      lanes.weights[at_lanes(t) + p] = weights[at_lanes(t) + p];
  }
}

float DeviceNodes::made(std::size_t group, std::size_t number, std::size_t lane) const {
  return arrays_.made[group * at_lanes(BF_NODE_MADE) + at_lanes(number) + lane];
}

float DeviceNodes::bound(std::size_t group, std::size_t lane) const {
  return fit_bound(made(group, 0, lane));
}

bool DeviceNodes::violated(std::size_t group, std::size_t lane) const {
  return made(group, BF_NODE_VIOLATED, lane) > 0;
}

float DeviceNodes::gain(std::size_t group, std::size_t open, std::size_t lane) const {
  return fit(arrays_.gains[group * network_->gains + at_lanes(open) + lane], kLargest);
}

bool DeviceNodes::is_split(std::size_t group, std::size_t open, std::size_t lane) const {
  return arrays_.ranges[group * network_->ranges + at_lanes(open) + lane] != 0;
}

std::vector<DeviceNodes::Candidate> DeviceNodes::candidates(std::size_t group,
                                                            std::size_t lane) const {
  std::vector<Candidate> chosen;
  const auto bound_of = [&](std::size_t half) {
    return fit_bound(made(group, BF_NODE_HALVES + half, lane));
  };
  for (std::size_t c = 0; c < BF_NODE_CANDIDATES; ++c) {
    const float number = made(group, BF_NODE_CHOSEN + c, lane);
    if (!(number >= 0 && number < static_cast<float>(network_->open))) continue;
    const auto open = static_cast<std::uint32_t>(number);
    if (open < network_->open && !is_split(group, open, lane))
      chosen.push_back({open, bound_of(2 * c), bound_of(2 * c + 1)});
  }
  return chosen;
}

}  // namespace bf_aot::decide
