#pragma once

#include "bf/search/relu_line.h"
#include "bf/search/split_bounds.h"

// The proof in double that a node's bound by its choices is >= 0: docs/proofs/neuron-splits.md.

namespace bf {

// A sum from below, the sum of its addends' sizes, and what else it may have lost.
struct ProvenSum {
  double bound, size, paid;
};

static inline void add_to(ProvenSum& sum, double number) {
  sum.bound += number;
  sum.size += __builtin_fabs(number);
}

// True if the coefficient of a term's row is a sum: of several terms, or with what a layer reads.
static inline bool is_added(const SplitBounds& b, std::uint32_t t) {
  const auto neuron = static_cast<std::int32_t>(b.terms[t].neuron);
  for (std::uint32_t other = 0; other < t; ++other)
    if (b.terms[other].neuron == b.terms[t].neuron) return true;
  for (std::int32_t i = 0; i < b.network->count; ++i) {
    const SplitLayer& layer = b.network->layers[i];
    for (std::int32_t p = 0; p < layer.part_count; ++p) {
      if (layer.parts[p].source < 0) continue;
      const SplitLayer& read = b.network->layers[layer.parts[p].source];
      if (read.first <= neuron && neuron < read.first + read.out) return true;
    }
  }
  return false;
}

// The terms' weights; false when all are 0: a sum without terms says nothing.
static inline bool start_proof(SplitBounds& b, ProvenSum& sum) {
  for (std::int32_t n = 0; n < b.network->neurons; ++n) b.proven_over_a[n] = 0;
  for (std::int32_t k = 0; k < b.network->inputs; ++k) b.proven_over_x[k] = 0;
  bool any = false;
  for (std::uint32_t t = 0; t < b.term_count; ++t) {
    const SplitTerm& term = b.terms[t];
    const double weight = static_cast<double>(b.weights[t]);
    any = any || weight > 0;
    const double low = __builtin_fabs(static_cast<double>(b.low[term.neuron]));
    const double high = __builtin_fabs(static_cast<double>(b.high[term.neuron]));
    if (is_added(b, t)) sum.paid += b.gamma * weight * (low > high ? low : high);
    const double signed_weight = static_cast<double>(term.sign) * weight;
    b.proven_over_a[term.neuron] += signed_weight;
    add_to(sum, -(signed_weight * static_cast<double>(term.threshold)));
  }
  return any;
}

static inline ReluLine proven_line(const SplitBounds& b, const SplitLayer& layer, std::int32_t j,
                                   float scale) {
  const std::int32_t n = layer.first + j;
  const double a = b.proven_over_a[n];
  switch (b.phase[n]) {
    case SplitPhase::kOff:
      return {0, 0};
    case SplitPhase::kLinear:
    case SplitPhase::kCurve:
      return {a, 0};
    case SplitPhase::kNegative:
    case SplitPhase::kPositive:
    case SplitPhase::kOpen:
      break;
  }
  const auto split = static_cast<int>(b.phase[n]);
  const float chosen = b.choice[choice_of(layer, j)];
  double choice = static_cast<double>(chosen > 0 ? chosen : 0);
  if (split != 0) choice *= static_cast<double>(scale);
  return relu_line(a, split, choice, static_cast<double>(b.low[n]), static_cast<double>(b.high[n]));
}

// The coefficient over z of a curve, what its lines and multipliers add to the bound, and what they
// lose: the coefficient is rounded a few times, each by less than gamma of what it is made of.
static inline double prove_curve(const SplitBounds& b, const SplitLayer& layer, std::int32_t j,
                                 float scale, ProvenSum& sum) {
  const std::int32_t n = layer.first + j;
  const SplitCurve& curve = curve_of(b, layer, j);
  const float* const choice = b.choice + choice_of(layer, j);
  const double a = b.proven_over_a[n];
  double over_z = 0, rounded = 0;
  const auto add_slope = [&](double coefficient) {
    over_z += coefficient;
    rounded += __builtin_fabs(coefficient);
  };
  if (a != 0) {
    const int side = a < 0 ? 1 : 0;
    const MixedLine mix = mixed_at(choice[side]);
    const double second = static_cast<double>(mix.second);
    const double share[2] = {1 - second, second};
    for (int k = 0; k < 2; ++k) {
      if (share[k] == 0) continue;
      add_slope(a * static_cast<double>(curve.slope[side][mix.first + k]) * share[k]);
      add_to(sum, a * curve.offset[side][mix.first + k] * share[k]);
    }
  }
  for (int upper = 0; upper < 2; ++upper) {
    const double multiplier = static_cast<double>(choice[2 + upper]) * static_cast<double>(scale);
    if (!is_kept(b, curve, n, upper) || !(multiplier > 0)) continue;
    add_slope(upper == 0 ? -multiplier : multiplier);
    add_to(sum, multiplier * static_cast<double>(upper == 0 ? curve.low : -curve.high));
  }
  sum.paid += b.gamma * rounded * magnitude_of(b.low[n], b.high[n]);
  return over_z;
}

// Passes the coefficients over products on to their factors. Roundings are paid by the reach of
// products; what is lost below the normal range, times what it meets, is paid here.
static inline void prove_products(SplitBounds& b, const SplitLayer& layer, ProvenSum& sum) {
  double* const over_first = read_by_part(b, layer.parts[0], b.proven_over_x, b.proven_over_a);
  double* const over_second = read_by_part(b, layer.parts[1], b.proven_over_x, b.proven_over_a);
  for (std::int32_t j = 0; j < layer.out; ++j) {
    const double a = b.proven_over_z[j];
    if (a == 0) continue;
    const int side = a < 0 ? 1 : 0;
    const ProductPlanes planes = planes_of(b, layer, j, side);
    const SplitFactor y = factor_range(b, layer, 1, j);
    const double x_low = static_cast<double>(planes.x.low);
    const double x_high = static_cast<double>(planes.x.high);
    const double y_first = static_cast<double>(planes.y_first);
    const double y_second = static_cast<double>(planes.y_second);
    // Any share in [0, 1] gives planes that hold; NaN becomes 0.
    const float choice = b.choice[choice_of(layer, j) + side];
    const double of_second = !(choice > 0) ? 0 : choice < 1 ? static_cast<double>(choice) : 1;
    const double second = a * of_second, first = a * (1 - of_second);
    over_first[factor_of(layer.parts[0], j)] += first * y_first + second * y_second;
    over_second[factor_of(layer.parts[1], j)] += first * x_low + second * x_high;
    add_to(sum, -(first * (x_low * y_first) + second * (x_high * y_second)));
    sum.paid += 0x1p-1060 * (1 + __builtin_fabs(a)) *
                (1 + magnitude_of(planes.x.low, planes.x.high)) * (1 + magnitude_of(y.low, y.high));
  }
}

// Returns true if the node's bound by its choices is proven to be >= 0: no violation is in it.
static inline bool prove_node(SplitBounds& b) {
  const SplitNetwork& network = *b.network;
  ProvenSum sum = {0, 0, 0};
  if (!start_proof(b, sum)) return false;
  for (std::int32_t i = network.count; i-- > 0;) {
    const SplitLayer& layer = network.layers[i];
    for (std::int32_t j = 0; j < layer.out; ++j) {
      const std::int32_t n = layer.first + j;
      ReluLine line = proven_line(b, layer, j, b.scale[i]);
      if (b.phase[n] == SplitPhase::kCurve) line.over_z = prove_curve(b, layer, j, b.scale[i], sum);
      b.proven_over_z[j] = line.over_z;
      if (line.offset != 0) add_to(sum, line.offset);
      add_to(sum, line.over_z * bias_of(layer, j));
      sum.paid += __builtin_fabs(line.over_z) * b.price[n];
    }
    if (layer.role == SplitRole::kProduct) {
      prove_products(b, layer, sum);
      continue;
    }
    for (std::int32_t p = 0; p < layer.part_count; ++p)
      pass_back(layer.parts[p], layer.out, b.proven_over_z,
                read_by_part(b, layer.parts[p], b.proven_over_x, b.proven_over_a));
  }
  for (std::int32_t k = 0; k < network.inputs; ++k) {
    const double a = b.proven_over_x[k];
    add_to(sum, a * static_cast<double>(a >= 0 ? b.lower[k] : b.upper[k]));
  }
  const double lost = (b.gamma * sum.size + sum.paid) * (1 + 0x1p-20) + b.underflow;
  // False for NaN.
  return sum.bound >= lost && sum.bound <= __DBL_MAX__;
}

}  // namespace bf
