#pragma once

#include "bf/search/split_bounds.h"

// Bounds of a node in float, by choices that are made better step by step. Nothing depends on their
// roundings: split_proof.h proves what is proposed.

namespace bf {

// Adam with the largest gradient in place of the root of a mean square (AdaMax; Kingma and Ba,
// 2015).
constexpr float kSplitRate = 0.1f, kSplitDecay = 0.97f;
constexpr float kSplitMean = 0.9f, kSplitFade = 0.999f;

// The coefficients over the rows, and what the thresholds add to the bound.
static inline float start_bound(SplitBounds& b) {
  for (std::int32_t n = 0; n < b.network->neurons; ++n) b.over_a[n] = 0;
  for (std::int32_t k = 0; k < b.network->inputs; ++k) b.over_x[k] = 0;
  float bound = 0;
  for (std::uint32_t t = 0; t < b.term_count; ++t) {
    const float weight = b.terms[t].sign * b.weights[t];
    b.over_a[b.terms[t].neuron] += weight;
    bound -= weight * b.terms[t].threshold;
  }
  return bound;
}

struct CurveLine {
  float slope, offset;
};
static inline CurveLine curve_line(const SplitCurve& curve, int side, float choice) {
  const MixedLine mix = mixed_at(choice);
  const float* const slope = curve.slope[side] + mix.first;
  const double* const offset = curve.offset[side] + mix.first;
  const float low = static_cast<float>(offset[0]), high = static_cast<float>(offset[1]);
  return {slope[0] + mix.second * (slope[1] - slope[0]), low + mix.second * (high - low)};
}

static inline float pass_curve(const SplitBounds& b, const SplitLayer& layer, std::int32_t j,
                               float scale, float* bound) {
  const std::int32_t n = layer.first + j;
  const SplitCurve& curve = curve_of(b, layer, j);
  const float* const choice = b.choice + choice_of(layer, j);
  const float a = b.over_a[n];
  float over_z = 0;
  if (a != 0) {
    const int side = a < 0 ? 1 : 0;
    const CurveLine line = curve_line(curve, side, choice[side]);
    over_z = a * line.slope;
    *bound += a * line.offset;
  }
  for (int upper = 0; upper < 2; ++upper) {
    if (!is_kept(b, curve, n, upper)) continue;
    const float multiplier = choice[2 + upper] * scale;
    over_z += upper == 0 ? -multiplier : multiplier;
    *bound += multiplier * (upper == 0 ? curve.low : -curve.high);
  }
  return over_z;
}

// Lambda of neuron j of a layer, and what its line adds to the bound.
static inline float pass_neuron(const SplitBounds& b, const SplitLayer& layer, std::int32_t j,
                                float scale, float* bound) {
  const std::int32_t n = layer.first + j;
  const float a = b.over_a[n];
  switch (b.phase[n]) {
    case SplitPhase::kOff:
      return 0;
    case SplitPhase::kLinear:
      return a;
    case SplitPhase::kCurve:
      return pass_curve(b, layer, j, scale, bound);
    case SplitPhase::kPositive:
      return a - b.choice[choice_of(layer, j)] * scale;
    case SplitPhase::kNegative:
      return b.choice[choice_of(layer, j)] * scale;
    case SplitPhase::kOpen:
      break;
  }
  if (a >= 0) return a * b.choice[choice_of(layer, j)];
  const float slope = b.high[n] / (b.high[n] - b.low[n]);
  *bound -= a * slope * b.low[n];
  return a * slope;
}

// Passes the coefficients over products on to their factors.
static inline void pass_products(SplitBounds& b, const SplitLayer& layer, float* bound) {
  float* const over_first = read_by_part(b, layer.parts[0], b.over_x, b.over_a);
  float* const over_second = read_by_part(b, layer.parts[1], b.over_x, b.over_a);
  for (std::int32_t j = 0; j < layer.out; ++j) {
    const float a = b.over_z[layer.first + j];
    if (a == 0) continue;
    const int side = a < 0 ? 1 : 0;
    const ProductPlanes planes = planes_of(b, layer, j, side);
    const float second = a * b.choice[choice_of(layer, j) + side], first = a - second;
    const float of_low = first * planes.x.low, of_high = second * planes.x.high;
    over_first[factor_of(layer.parts[0], j)] += first * planes.y_first + second * planes.y_second;
    over_second[factor_of(layer.parts[1], j)] += of_low + of_high;
    *bound -= of_low * planes.y_first + of_high * planes.y_second;
  }
}

// The bound of the node by its choices, in float: a proposal.
static inline float bound_node(SplitBounds& b) {
  const SplitNetwork& network = *b.network;
  float bound = start_bound(b);
  for (std::int32_t i = network.count; i-- > 0;) {
    const SplitLayer& layer = network.layers[i];
    for (std::int32_t j = 0; j < layer.out; ++j) {
      const std::int32_t n = layer.first + j;
      b.over_z[n] = pass_neuron(b, layer, j, b.scale[i], &bound);
      bound += b.over_z[n] * static_cast<float>(bias_of(layer, j));
    }
    if (layer.role == SplitRole::kProduct) {
      pass_products(b, layer, &bound);
      continue;
    }
    for (std::int32_t p = 0; p < layer.part_count; ++p)
      pass_back(layer.parts[p], layer.out, b.over_z + layer.first,
                read_by_part(b, layer.parts[p], b.over_x, b.over_a));
  }
  for (std::int32_t k = 0; k < network.inputs; ++k) {
    b.x[k] = b.over_x[k] >= 0 ? b.lower[k] : b.upper[k];
    bound += b.over_x[k] * b.x[k];
  }
  return bound;
}

// Units of multipliers: the layers' mean coefficients over open neurons after a bound.
static inline void set_scales(SplitBounds& b) {
  for (std::int32_t i = 0; i < b.network->count; ++i) {
    const SplitLayer& layer = b.network->layers[i];
    float sum = 0, count = 0;
    for (std::int32_t n = layer.first; n < layer.first + layer.out; ++n) {
      if (b.phase[n] != SplitPhase::kOpen && b.phase[n] != SplitPhase::kCurve) continue;
      sum += __builtin_fabsf(b.over_a[n]);
      count += 1;
    }
    const float scale = sum / count;
    b.scale[i] = scale > 0 && scale < __builtin_inff() ? scale : 1;
  }
}

enum class SplitPass { kAscend, kMeasure, kTrue };

// One step of a choice along its gradient.
static inline void step_choice(SplitBounds& b, std::int32_t at, float gradient, float most) {
  const float size = __builtin_fabsf(gradient);
  const float faded = kSplitFade * b.largest[at];
  b.mean[at] = kSplitMean * b.mean[at] + (1 - kSplitMean) * gradient;
  b.largest[at] = size > faded ? size : faded;
  if (!(b.largest[at] > 0)) return;
  const float choice = b.choice[at] + b.rate * b.unbias * b.mean[at] / b.largest[at];
  // NaN too becomes 0.
  b.choice[at] = choice > 0 ? choice > most ? most : choice : 0;
}

// The activation that the node's own lines make of z, of a ReLU that is open on the box.
static inline float line_value(const SplitBounds& b, std::int32_t n, float choice) {
  if (b.phase[n] == SplitPhase::kPositive) return b.z[n];
  if (b.phase[n] == SplitPhase::kNegative) return 0;
  if (b.over_a[n] >= 0) return b.z[n] * choice;
  return (b.z[n] - b.low[n]) * (b.high[n] / (b.high[n] - b.low[n]));
}

static inline void step_relu(SplitBounds& b, std::int32_t n, std::int32_t at, float scale) {
  const bool open = b.phase[n] == SplitPhase::kOpen;
  const float z = b.z[n];
  float gradient = z * scale;
  if (b.phase[n] == SplitPhase::kPositive) gradient = -gradient;
  if (open) gradient = b.over_a[n] > 0 ? b.over_a[n] * z : 0;
  step_choice(b, at, gradient, open ? 1 : __builtin_inff());
}

// Measures how much the bound may gain by a split, and what the neuron's line loses at x.
static inline void measure_relu(SplitBounds& b, std::int32_t n) {
  b.gain[n] = b.gap[n] = 0;
  if (b.phase[n] != SplitPhase::kOpen) return;
  const float a = b.over_a[n];
  if (a < 0) b.gain[n] = a * (b.high[n] / (b.high[n] - b.low[n])) * b.low[n];
  const float loss = a * ((b.z[n] > 0 ? b.z[n] : 0) - b.a[n]);
  b.gap[n] = loss > 0 ? loss : 0;
}

// a of neuron j by what the node has in place of its ReLU or (kTrue) by that itself.
template <SplitPass kPass>
static inline void forward_relu(SplitBounds& b, const SplitLayer& layer, std::int32_t j,
                                float scale) {
  const std::int32_t n = layer.first + j;
  if (b.phase[n] == SplitPhase::kOff || b.phase[n] == SplitPhase::kLinear) {
    b.a[n] = b.phase[n] == SplitPhase::kOff ? 0 : b.z[n];
    return;
  }
  const std::int32_t at = choice_of(layer, j);
  b.a[n] = kPass == SplitPass::kTrue ? (b.z[n] > 0 ? b.z[n] : 0) : line_value(b, n, b.choice[at]);
  if (kPass == SplitPass::kAscend) step_relu(b, n, at, scale);
  if (kPass == SplitPass::kMeasure) measure_relu(b, n);
}

static inline float curve_value(const SplitBounds& b, const SplitLayer& layer, float z) {
  return layer.role == SplitRole::kFactor ? z : b.network->functions->value(*layer.function, z);
}

// Where a curve is split; NaN: nowhere.
static inline float split_point(const SplitBounds& b, const SplitLayer& layer, float low,
                                float high) {
  if (layer.role == SplitRole::kFunction)
    return b.network->functions->point(*layer.function, low, high);
  const float middle = 0.5f * low + 0.5f * high;
  return low < middle && middle < high ? middle : __builtin_nanf("");
}

// A line loses where it is split, and where z is as far as splits allow.
static inline void measure_curve(SplitBounds& b, const SplitLayer& layer, std::int32_t j,
                                 const CurveLine& line) {
  const std::int32_t n = layer.first + j;
  const SplitCurve& curve = curve_of(b, layer, j);
  const float point = split_point(b, layer, curve.low, curve.high);
  b.gain[n] = b.gap[n] = 0;
  if (layer.role == SplitRole::kFactor || b.over_a[n] == 0 || point != point) return;
  const auto loss = [&](float z) {
    const float lost = b.over_a[n] * (curve_value(b, layer, z) - (line.slope * z + line.offset));
    return lost > 0 ? lost : 0;
  };
  b.gain[n] = loss(point);
  b.gap[n] = loss(b.z[n] < curve.low ? curve.low : b.z[n] > curve.high ? curve.high : b.z[n]);
}

static inline void step_curve(SplitBounds& b, const SplitLayer& layer, std::int32_t j,
                              float scale) {
  const std::int32_t n = layer.first + j, at = choice_of(layer, j);
  const SplitCurve& curve = curve_of(b, layer, j);
  const int side = b.over_a[n] < 0 ? 1 : 0;
  const int first = mixed_at(b.choice[at + side]).first;
  const float* const slope = curve.slope[side] + first;
  const double* const offset = curve.offset[side] + first;
  const float difference =
      (slope[1] - slope[0]) * b.z[n] + static_cast<float>(offset[1] - offset[0]);
  step_choice(b, at + side, b.over_a[n] * difference, kCurveLines - 1);
  const float inf = __builtin_inff();
  if (is_kept(b, curve, n, 0)) step_choice(b, at + 2, (curve.low - b.z[n]) * scale, inf);
  if (is_kept(b, curve, n, 1)) step_choice(b, at + 3, (b.z[n] - curve.high) * scale, inf);
}

template <SplitPass kPass>
static inline void forward_curve(SplitBounds& b, const SplitLayer& layer, std::int32_t j,
                                 float scale) {
  const std::int32_t n = layer.first + j;
  if (kPass == SplitPass::kTrue) {
    b.a[n] = curve_value(b, layer, b.z[n]);
    return;
  }
  const int side = b.over_a[n] < 0 ? 1 : 0;
  const CurveLine line =
      curve_line(curve_of(b, layer, j), side, b.choice[choice_of(layer, j) + side]);
  b.a[n] = line.slope * b.z[n] + line.offset;
  if (kPass == SplitPass::kAscend) step_curve(b, layer, j, scale);
  if (kPass == SplitPass::kMeasure) measure_curve(b, layer, j, line);
}

// Adds to what a factor gains by a split, and what it loses: planes lie no farther from a product
// than a quarter of the rectangle's area, and half as far on halves of it.
static inline void measure_factors(SplitBounds& b, const SplitLayer& layer, std::int32_t j,
                                   const ProductPlanes& planes, float lost) {
  const SplitFactor y = factor_range(b, layer, 1, j);
  const float a = __builtin_fabsf(b.over_z[layer.first + j]);
  const float area = (planes.x.high - planes.x.low) * (y.high - y.low);
  for (int factor = 0; factor < 2; ++factor) {
    const SplitPart& part = layer.parts[factor];
    if (part.source < 0) continue;
    const SplitLayer& read = b.network->layers[part.source];
    if (read.role != SplitRole::kFactor) continue;
    const std::int32_t n = read.first + factor_of(part, j);
    b.gain[n] += 0.125f * a * area;
    b.gap[n] += lost > 0 ? lost : 0;
  }
}

// z of a layer of products, by their planes or (kTrue) by themselves.
template <SplitPass kPass>
static inline void forward_products(SplitBounds& b, const SplitLayer& layer) {
  const float* const first = read_by_part(b, layer.parts[0], b.x, b.a);
  const float* const second = read_by_part(b, layer.parts[1], b.x, b.a);
  for (std::int32_t j = 0; j < layer.out; ++j) {
    const float x = first[factor_of(layer.parts[0], j)];
    const float y = second[factor_of(layer.parts[1], j)];
    const std::int32_t n = layer.first + j;
    b.z[n] = x * y;
    if (kPass == SplitPass::kTrue) continue;
    const int side = b.over_z[n] < 0 ? 1 : 0;
    const ProductPlanes planes = planes_of(b, layer, j, side);
    const float at_first = planes.y_first * (x - planes.x.low) + planes.x.low * y;
    const float at_second = planes.y_second * (x - planes.x.high) + planes.x.high * y;
    const std::int32_t at = choice_of(layer, j) + side;
    const float z = at_first + b.choice[at] * (at_second - at_first);
    if (kPass == SplitPass::kAscend) step_choice(b, at, b.over_z[n] * (at_second - at_first), 1);
    if (kPass == SplitPass::kMeasure)
      measure_factors(b, layer, j, planes, b.over_z[n] * (x * y - z));
    b.z[n] = z;
  }
}

// The network at x, by the node's lines or (kTrue) by its own functions, whatever the splits are.
template <SplitPass kPass>
static inline void forward_node(SplitBounds& b) {
  const SplitNetwork& network = *b.network;
  for (std::int32_t i = 0; i < network.count; ++i) {
    const SplitLayer& layer = network.layers[i];
    if (layer.role == SplitRole::kProduct) {
      forward_products<kPass>(b, layer);
    } else {
      for (std::int32_t j = 0; j < layer.out; ++j)
        b.z[layer.first + j] = static_cast<float>(bias_of(layer, j));
      for (std::int32_t p = 0; p < layer.part_count; ++p)
        pass_forward(layer.parts[p], layer.out, read_by_part(b, layer.parts[p], b.x, b.a),
                     b.z + layer.first);
    }
    for (std::int32_t j = 0; j < layer.out; ++j) {
      if (is_curved(layer.role))
        forward_curve<kPass>(b, layer, j, b.scale[i]);
      else
        forward_relu<kPass>(b, layer, j, b.scale[i]);
    }
  }
}

static inline float lack_of(const SplitBounds& b, std::uint32_t t) {
  return b.terms[t].sign * (b.z[b.terms[t].neuron] - b.terms[t].threshold);
}

// Weights of terms that hold by less at the point grow; their sum stays 1.
static inline void step_weights(SplitBounds& b) {
  float most = 0, sum = 0;
  for (std::uint32_t t = 0; t < b.term_count; ++t) {
    const float lack = __builtin_fabsf(lack_of(b, t));
    if (lack > most) most = lack;
  }
  if (!(most > 0)) return;
  for (std::uint32_t t = 0; t < b.term_count; ++t) {
    const float weight = b.weights[t] + b.rate * lack_of(b, t) / most;
    b.weights[t] = weight > 0 ? weight : 0;
    sum += b.weights[t];
  }
  for (std::uint32_t t = 0; t < b.term_count; ++t)
    b.weights[t] = sum > 0 ? b.weights[t] / sum : 1 / static_cast<float>(b.term_count);
}

// Prepares the first step of an ascent.
static inline void begin_ascent(SplitBounds& b) {
  for (std::int32_t n = 0; n < b.network->neurons; ++n) b.mean[n] = b.largest[n] = 0;
  b.rate = kSplitRate;
  b.unbias = 1;
}

// One step of all choices along the gradient of the last bound. step: from 0.
static inline void ascend(SplitBounds& b, int step) {
  float left = 1;
  for (int i = 0; i <= step && left > 0x1p-24f; ++i) left *= kSplitMean;
  b.unbias = 1 / (1 - left);
  forward_node<SplitPass::kAscend>(b);
  if (b.term_count > 1) step_weights(b);
  b.rate *= kSplitDecay;
}

// Returns true if the rows, in float, violate the clause at x.
static inline bool violates_at_x(SplitBounds& b) {
  forward_node<SplitPass::kTrue>(b);
  for (std::uint32_t t = 0; t < b.term_count; ++t)
    if (!(lack_of(b, t) < 0)) return false;
  return true;
}

}  // namespace bf
