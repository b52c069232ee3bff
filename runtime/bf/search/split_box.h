#pragma once

#include "bf/search/split_bounds.h"

// Phases and prices of a node's neurons on its box, and the intervals that they follow from:
// docs/proofs/neuron-splits.md.

namespace bf {

// Raises what comes from at most 2^20 operations rounded to nearest.
constexpr double kRaised = 1 + 0x1p-30;

// NaN is no bound.
static inline void narrow(const SplitBounds& b, std::int32_t n, float low, float high) {
  if (!(b.low[n] >= low)) b.low[n] = low;
  if (!(b.high[n] <= high)) b.high[n] = high;
}

// reach_j = sum |w_jk| max |a_k|, into the prices of the layer, and what z cannot leave by that.
static inline void reach_sums(SplitBounds& b, const SplitLayer& layer, const double* of_inputs,
                              const double* of_neurons) {
  double* const reach = b.price + layer.first;
  for (std::int32_t j = 0; j < layer.out; ++j) reach[j] = 0;
  for (std::int32_t p = 0; p < layer.part_count; ++p)
    add_reaches(layer.parts[p], layer.out, read_by_part(b, layer.parts[p], of_inputs, of_neurons),
                reach);
  for (std::int32_t j = 0; j < layer.out; ++j) {
    reach[j] *= kRaised;
    const double most = (reach[j] * (1 + layer.weight_error) + __builtin_fabs(bias_of(layer, j)) +
                         layer.bias_error) *
                        kRaised;
    const float widest = float_up(most);
    narrow(b, layer.first + j, -widest, widest);
  }
}

// The intervals of the sums of a layer, by those of what it reads, where these matter. The error of
// a sum of at most 2^20 products is a share of its reach. Each end in its own pass, in memory for
// `widest` numbers.
static inline void narrow_sums(SplitBounds& b, const SplitLayer& layer) {
  double* const sum = b.proven_over_z;
  for (int side = 0; side < 2; ++side) {
    for (std::int32_t j = 0; j < layer.out; ++j) sum[j] = bias_of(layer, j);
    for (std::int32_t p = 0; p < layer.part_count; ++p) {
      const SplitPart& part = layer.parts[p];
      const float* const lower = read_by_part(b, part, b.lower, static_cast<const float*>(b.least));
      const float* const upper = read_by_part(b, part, b.upper, static_cast<const float*>(b.most));
      visit_products(part, layer.out, [=](auto j, float weight, auto k) {
        const bool at_lower = (weight >= 0) == (side == 0);
        sum[j] += static_cast<double>(weight) * static_cast<double>(at_lower ? lower[k] : upper[k]);
      });
    }
    for (std::int32_t j = 0; j < layer.out; ++j) {
      const double reach = b.price[layer.first + j];
      const double room = (reach + __builtin_fabs(bias_of(layer, j))) * 0x1p-30 +
                          (layer.weight_error * reach + layer.bias_error) * kRaised;
      const float inf = __builtin_inff();
      const double end = side == 0 ? sub_down(sum[j], room) : add_up(sum[j], room);
      if (end != end) continue;
      if (side == 0)
        narrow(b, layer.first + j, float_down(end), inf);
      else
        narrow(b, layer.first + j, -inf, float_up(end));
    }
  }
}

// The intervals of products, whose ends are exact in double, and 4 max |x| max |y| as their reach.
static inline void reach_products(SplitBounds& b, const SplitLayer& layer) {
  for (std::int32_t j = 0; j < layer.out; ++j) {
    const SplitFactor x = factor_range(b, layer, 0, j);
    const SplitFactor y = factor_range(b, layer, 1, j);
    const double ends[4] = {
        static_cast<double>(x.low) * static_cast<double>(y.low),
        static_cast<double>(x.low) * static_cast<double>(y.high),
        static_cast<double>(x.high) * static_cast<double>(y.low),
        static_cast<double>(x.high) * static_cast<double>(y.high),
    };
    double low = __builtin_inf(), high = -low;
    bool known = true;
    for (const double end : ends) {
      known = known && end == end;
      low = end < low ? end : low;
      high = end > high ? end : high;
    }
    if (!known) high = -(low = -__builtin_inf());
    narrow(b, layer.first + j, float_down(low), float_up(high));
    b.price[layer.first + j] = 4 * (magnitude_of(x.low, x.high) * magnitude_of(y.low, y.high));
  }
}

static inline SplitPhase phase_on_box(const SplitBounds& b, const SplitLayer& layer,
                                      std::int32_t n) {
  if (is_curved(layer.role)) return SplitPhase::kCurve;
  if (layer.role != SplitRole::kRelu) return SplitPhase::kLinear;
  return b.high[n] <= 0  ? SplitPhase::kOff
         : b.low[n] >= 0 ? SplitPhase::kLinear
                         : SplitPhase::kOpen;
}

// Where a lies when z is in [low, high].
static inline SplitFactor activation_range(const SplitBounds& b, const SplitLayer& layer, float low,
                                           float high) {
  SplitFactor made = {low, high};
  if (layer.role == SplitRole::kRelu)
    made = {low > 0 ? low : 0, high > 0 ? high : 0};
  else if (layer.role == SplitRole::kFunction)
    b.network->functions->range(*layer.function, low, high, &made.low, &made.high);
  return made;
}

// Phases and prices of the neurons on a box, from the intervals in low and high, which may be
// infinite, and from those that inputs' magnitudes give.
static inline void prepare_box(SplitBounds& b) {
  const SplitNetwork& network = *b.network;
  double largest = 1;
  const auto note = [&largest](double magnitude) {
    if (!(magnitude <= largest)) largest = magnitude;
    return magnitude;
  };
  double* const of_inputs = b.proven_over_x;
  double* const of_neurons = b.proven_over_a;
  for (std::int32_t k = 0; k < network.inputs; ++k)
    of_inputs[k] = note(magnitude_of(b.lower[k], b.upper[k]));
  b.gamma = 0x1p-52 * network.roundings;  // twice
  for (std::int32_t i = 0; i < network.count; ++i) {
    const SplitLayer& layer = network.layers[i];
    if (layer.role == SplitRole::kProduct)
      reach_products(b, layer);
    else
      reach_sums(b, layer, of_inputs, of_neurons);
    if (network.multiplies && layer.role != SplitRole::kProduct) narrow_sums(b, layer);
    for (std::int32_t n = layer.first; n < layer.first + layer.out; ++n) {
      b.phase[n] = phase_on_box(b, layer, n);
      const SplitFactor a = activation_range(b, layer, b.low[n], b.high[n]);
      if (network.multiplies) {
        b.least[n] = a.low;
        b.most[n] = a.high;
      }
      if (layer.role != SplitRole::kRelu) note(magnitude_of(b.low[n], b.high[n]));
      if (is_curved(layer.role)) curve_of(b, layer, n - layer.first).low = __builtin_nanf("");
      of_neurons[n] = note(magnitude_of(a.low, a.high));
      double& reach = b.price[n];
      reach = b.gamma * reach + layer.weight_error * reach + layer.bias_error;
    }
  }
  // Pays for products below the normal range, times what each meets; twice, for roundings here.
  b.underflow = (network.products + 4 * network.roundings) * (1 + largest) * 0x1p-1073;
}

// Makes the lines of curve j of a layer on [low, high], and its values there.
static inline void bend_curve(SplitBounds& b, const SplitLayer& layer, std::int32_t j, float low,
                              float high) {
  SplitCurve& curve = curve_of(b, layer, j);
  if (curve.low == low && curve.high == high) return;
  if (layer.role == SplitRole::kFactor)
    set_identity(low, high, curve);
  else
    b.network->functions->lines(*layer.function, low, high, curve);
  if (!b.network->multiplies) return;
  const SplitFactor a = activation_range(b, layer, low, high);
  b.least[layer.first + j] = a.low;
  b.most[layer.first + j] = a.high;
}

}  // namespace bf
