#include "aot/decide/neurons/lanes/function_lanes.h"

#include <algorithm>
#include <cmath>

namespace bf_aot::decide {

void FunctionState::set_interval(const FunctionInterval& interval) {
  of_z = interval;
  known = {};
}

void FunctionState::begin(const SlopeRange& best) {
  range = best;
  slopes = {best.lower, best.upper};
}

const FunctionOffset& FunctionLanes::line_of(FunctionState& state, bool above) {
  const std::size_t side = above ? 1 : 0;
  const float slope = state.slopes[side];
  if (!state.known[side] || state.known_slopes[side] != slope) {
    state.known_lines[side] =
        above ? upper_line(function_, state.of_z, slope) : lower_line(function_, state.of_z, slope);
    state.known_slopes[side] = slope;
    state.known[side] = true;
  }
  return state.known_lines[side];
}

void FunctionLanes::pass(float bias, float scale, const float* over_a, float* over_z,
                         float* bounds) {
  for (std::size_t p = 0; p < lanes_; ++p) {
    FunctionState& state = states_[p];
    const float a = over_a[p];
    state.above = a < 0;
    state.line = line_of(state, state.above);
    const float below = state.keeps_low ? state.multipliers[0] * scale : 0;
    const float above = state.keeps_high ? state.multipliers[1] * scale : 0;
    over_z[p] = a * state.slopes[state.above ? 1 : 0] - below + above;
    if (a != 0) bounds[p] += a * static_cast<float>(state.line.offset);
    if (below > 0) bounds[p] += below * static_cast<float>(state.of_z.low);
    if (above > 0) bounds[p] -= above * static_cast<float>(state.of_z.high);
    bounds[p] += over_z[p] * bias;
  }
}

void FunctionLanes::step(float scale, const std::array<float, kLanes>& rates, const float* over_a,
                         const float* z, float* a) {
  for (std::size_t p = 0; p < lanes_; ++p) {
    FunctionState& state = states_[p];
    const std::size_t side = state.above ? 1 : 0;
    float& slope = state.slopes[side];
    a[p] = slope * z[p] + static_cast<float>(state.line.offset);
    if (rates[p] == 0) continue;
    const float width = state.range.most - state.range.least;
    const float gradient = over_a[p] * (z[p] - static_cast<float>(state.line.touch));
    if (width > 0 && over_a[p] != 0) {
      const float next = slope + width * state.ascents[side].step(gradient, rates[p]);
      // A step to NaN is not taken.
      if (next >= state.range.least && next <= state.range.most)
        slope = next;
      else if (next > state.range.most)
        slope = state.range.most;
      else if (next < state.range.least)
        slope = state.range.least;
    }
    const auto move = [&](std::size_t which, float of_multiplier) {
      float& multiplier = state.multipliers[which];
      multiplier += state.ascents[2 + which].step(of_multiplier * scale, rates[p]);
      if (!(multiplier > 0)) multiplier = 0;
    };
    if (state.keeps_low) move(0, static_cast<float>(state.of_z.low) - z[p]);
    if (state.keeps_high) move(1, z[p] - static_cast<float>(state.of_z.high));
  }
}

void FunctionLanes::measure(const float* over_a, const float* z, float* a, float* gain,
                            float* gap) {
  for (std::size_t p = 0; p < lanes_; ++p) {
    const FunctionState& state = states_[p];
    const float slope = state.slopes[state.above ? 1 : 0];
    const auto offset = static_cast<float>(state.line.offset);
    a[p] = slope * z[p] + offset;
    gain[p] = gap[p] = 0;
    if (!state.of_z.point || over_a[p] == 0) continue;
    const auto loss = [&](double value, float of_line) {
      const float lost = over_a[p] * (static_cast<float>(value) - of_line);
      return lost > 0 ? lost : 0;
    };
    gain[p] = loss(state.of_z.value, slope * static_cast<float>(*state.of_z.point) + offset);
    // The point of a bound may lie where the node's splits do not hold, and the line is far from f.
    const double inside = std::clamp(static_cast<double>(z[p]), state.of_z.low, state.of_z.high);
    gap[p] = loss(value_at(function_, inside), slope * static_cast<float>(inside) + offset);
  }
}

void FunctionLanes::evaluate(const float* z, float* a) const {
  for (std::size_t p = 0; p < lanes_; ++p)
    a[p] = static_cast<float>(value_at(function_, static_cast<double>(z[p])));
}

FunctionProof prove_function(const bf::FunctionView& function, const FunctionState& state,
                             double scale, double over_a) {
  FunctionProof made;
  if (over_a != 0) {
    const bool above = over_a < 0;
    const float slope = state.slopes[above ? 1 : 0];
    const FunctionOffset line =
        above ? upper_line(function, state.of_z, slope) : lower_line(function, state.of_z, slope);
    made.over_z = over_a * static_cast<double>(slope);
    made.offsets[0] = over_a * line.offset;
  }
  const auto keep = [&](std::size_t which, bool kept, double sign, double limit) {
    const double multiplier = static_cast<double>(state.multipliers[which]) * scale;
    if (!kept || !(multiplier > 0)) return;
    // The difference may be much smaller than what was rounded before.
    made.rounded += std::fabs(made.over_z);
    made.over_z -= sign * multiplier;
    made.offsets[1 + which] = sign * multiplier * limit;
  };
  keep(0, state.keeps_low, 1, state.of_z.low);
  keep(1, state.keeps_high, -1, state.of_z.high);
  return made;
}

}  // namespace bf_aot::decide
