#pragma once

#include "bf/search/relu_line.h"
#include "bf/search/split_network.h"

// Bounds of a node of neuron splits: proposals in float, and a proof in double. Method: Wang et
// al., Beta-CROWN (2021). Proofs: docs/proofs/neuron-splits.md, whose names these are.

namespace bf {

// The state of a neuron, on the box and by splits of the node.
enum class SplitPhase : signed char {
  kNegative = -1,  // split, z <= 0
  kOpen = 0,       // a = relu(z), of either sign
  kPositive = 1,   // split, z >= 0
  kLinear = 2,     // a = z on the whole box
  kOff = 3,        // a = 0 on the whole box
};

// A violation of a clause needs sign (z - threshold) < 0 of each of its terms.
struct SplitTerm {
  std::uint32_t neuron;
  float sign, threshold;
};

// Adam with the largest gradient in place of the root of a mean square (AdaMax; Kingma and Ba,
// 2015).
constexpr float kSplitRate = 0.1f, kSplitDecay = 0.97f;
constexpr float kSplitMean = 0.9f, kSplitFade = 0.999f;

struct SplitBounds {
  const SplitNetwork* network;
  const float *lower, *upper;  // the box, of the inputs

  // Indexed by neuron. low, high: z on the box, from intervals of both kinds.
  float *low, *high;
  double* price;  // what Lambda = 1 costs by rounding
  SplitPhase* phase;
  // choice: the slope, or the multiplier of a split neuron, in units of the layer's scale.
  float *choice, *mean, *largest, *gain, *gap;
  float *over_a, *over_z, *z, *a;
  float *over_x, *x;  // by input; x: where the last bound is reached
  float* scale;       // by layer
  double *proven_over_a, *proven_over_z, *proven_over_x;

  // The terms of the clause and their weights.
  SplitTerm* terms;
  float* weights;
  std::uint32_t term_count;

  double gamma, underflow;
  float rate, unbias;  // of the next step of the ascent
};

// The numbers that a part reads, out of those by input and those by neuron.
template <class Number>
static inline Number* read_by_part(const SplitBounds& b, const SplitPart& part, Number* by_input,
                                   Number* by_neuron) {
  return part.source < 0 ? by_input : by_neuron + b.network->layers[part.source].first;
}

// ---- the box

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
  for (std::int32_t k = 0; k < network.inputs; ++k) {
    const double low = __builtin_fabs(static_cast<double>(b.lower[k]));
    const double high = __builtin_fabs(static_cast<double>(b.upper[k]));
    of_inputs[k] = note(low > high ? low : high);
  }
  b.gamma = 0x1p-52 * network.roundings;  // twice
  for (std::int32_t i = 0; i < network.count; ++i) {
    const SplitLayer& layer = network.layers[i];
    double* const reach = b.price + layer.first;
    for (std::int32_t j = 0; j < layer.out; ++j) reach[j] = 0;
    for (std::int32_t p = 0; p < layer.part_count; ++p)
      add_reaches(layer.parts[p], layer.out, read_by_part(b, layer.parts[p], of_inputs, of_neurons),
                  reach);
    for (std::int32_t j = 0; j < layer.out; ++j) {
      reach[j] *= 1 + 0x1p-30;  // of at most 2^20 roundings
      const std::int32_t n = layer.first + j;
      const double most = (reach[j] * (1 + layer.weight_error) + __builtin_fabs(bias_of(layer, j)) +
                           layer.bias_error) *
                          (1 + 0x1p-30);
      const float widest = float_up(most);
      // NaN is no bound.
      if (!(b.low[n] >= -widest)) b.low[n] = -widest;
      if (!(b.high[n] <= widest)) b.high[n] = widest;
      const bool off = layer.relu && b.high[n] <= 0;
      b.phase[n] = off                              ? SplitPhase::kOff
                   : layer.relu && !(b.low[n] >= 0) ? SplitPhase::kOpen
                                                    : SplitPhase::kLinear;
      const double below = layer.relu ? 0 : __builtin_fabs(static_cast<double>(b.low[n]));
      const double above = __builtin_fabs(static_cast<double>(b.high[n]));
      of_neurons[n] = off ? 0 : note(below > above ? below : above);
      reach[j] = b.gamma * reach[j] + layer.weight_error * reach[j] + layer.bias_error;
    }
  }
  // Pays for products below the normal range, times what each meets; twice, for roundings here.
  b.underflow = (network.products + 4 * network.roundings) * (1 + largest) * 0x1p-1073;
}

// ---- proposals

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

// Lambda of neuron n, and what its line adds to the bound.
static inline float pass_neuron(const SplitBounds& b, std::int32_t n, float scale, float* bound) {
  const float a = b.over_a[n];
  switch (b.phase[n]) {
    case SplitPhase::kOff:
      return 0;
    case SplitPhase::kLinear:
      return a;
    case SplitPhase::kPositive:
      return a - b.choice[n] * scale;
    case SplitPhase::kNegative:
      return b.choice[n] * scale;
    case SplitPhase::kOpen:
      break;
  }
  if (a >= 0) return a * b.choice[n];
  const float slope = b.high[n] / (b.high[n] - b.low[n]);
  *bound -= a * slope * b.low[n];
  return a * slope;
}

// The bound of the node by its choices, in float: a proposal.
static inline float bound_node(SplitBounds& b) {
  const SplitNetwork& network = *b.network;
  float bound = start_bound(b);
  for (std::int32_t i = network.count; i-- > 0;) {
    const SplitLayer& layer = network.layers[i];
    for (std::int32_t j = 0; j < layer.out; ++j) {
      const std::int32_t n = layer.first + j;
      b.over_z[n] = pass_neuron(b, n, b.scale[i], &bound);
      bound += b.over_z[n] * static_cast<float>(bias_of(layer, j));
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
      if (b.phase[n] != SplitPhase::kOpen) continue;
      sum += __builtin_fabsf(b.over_a[n]);
      count += 1;
    }
    const float scale = sum / count;
    b.scale[i] = scale > 0 && scale < __builtin_inff() ? scale : 1;
  }
}

enum class SplitPass { kAscend, kMeasure, kTrue };

// The activation that the node's own lines make of z, of a neuron that is open on the box.
static inline float line_value(const SplitBounds& b, std::int32_t n) {
  if (b.phase[n] == SplitPhase::kPositive) return b.z[n];
  if (b.phase[n] == SplitPhase::kNegative) return 0;
  if (b.over_a[n] >= 0) return b.z[n] * b.choice[n];
  return (b.z[n] - b.low[n]) * (b.high[n] / (b.high[n] - b.low[n]));
}

static inline void step_neuron(SplitBounds& b, std::int32_t n, float scale) {
  const bool open = b.phase[n] == SplitPhase::kOpen;
  const float z = b.z[n];
  float gradient = z * scale;
  if (b.phase[n] == SplitPhase::kPositive) gradient = -gradient;
  if (open) gradient = b.over_a[n] > 0 ? b.over_a[n] * z : 0;
  const float size = __builtin_fabsf(gradient);
  const float faded = kSplitFade * b.largest[n];
  b.mean[n] = kSplitMean * b.mean[n] + (1 - kSplitMean) * gradient;
  b.largest[n] = size > faded ? size : faded;
  if (!(b.largest[n] > 0)) return;
  const float choice = b.choice[n] + b.rate * b.unbias * b.mean[n] / b.largest[n];
  // NaN too becomes 0.
  b.choice[n] = choice > 0 ? open && choice > 1 ? 1 : choice : 0;
}

// Measures how much the bound may gain by a split, and what the neuron's line loses at x.
static inline void measure_neuron(SplitBounds& b, std::int32_t n) {
  b.gain[n] = b.gap[n] = 0;
  if (b.phase[n] != SplitPhase::kOpen) return;
  const float a = b.over_a[n];
  if (a < 0) b.gain[n] = a * (b.high[n] / (b.high[n] - b.low[n])) * b.low[n];
  const float loss = a * ((b.z[n] > 0 ? b.z[n] : 0) - b.a[n]);
  b.gap[n] = loss > 0 ? loss : 0;
}

// The network at x, by the node's lines or (kTrue) by its ReLUs, whatever the splits are.
template <SplitPass kPass>
static inline void forward_node(SplitBounds& b) {
  const SplitNetwork& network = *b.network;
  for (std::int32_t i = 0; i < network.count; ++i) {
    const SplitLayer& layer = network.layers[i];
    for (std::int32_t j = 0; j < layer.out; ++j)
      b.z[layer.first + j] = static_cast<float>(bias_of(layer, j));
    for (std::int32_t p = 0; p < layer.part_count; ++p)
      pass_forward(layer.parts[p], layer.out, read_by_part(b, layer.parts[p], b.x, b.a),
                   b.z + layer.first);
    for (std::int32_t n = layer.first; n < layer.first + layer.out; ++n) {
      if (b.phase[n] == SplitPhase::kOff || b.phase[n] == SplitPhase::kLinear) {
        b.a[n] = b.phase[n] == SplitPhase::kOff ? 0 : b.z[n];
        continue;
      }
      b.a[n] = kPass == SplitPass::kTrue ? (b.z[n] > 0 ? b.z[n] : 0) : line_value(b, n);
      if (kPass == SplitPass::kAscend) step_neuron(b, n, b.scale[i]);
      if (kPass == SplitPass::kMeasure) measure_neuron(b, n);
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

// ---- the proof

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

static inline ReluLine proven_line(const SplitBounds& b, std::int32_t n, float scale) {
  const double a = b.proven_over_a[n];
  switch (b.phase[n]) {
    case SplitPhase::kOff:
      return {0, 0};
    case SplitPhase::kLinear:
      return {a, 0};
    case SplitPhase::kNegative:
    case SplitPhase::kPositive:
    case SplitPhase::kOpen:
      break;
  }
  const auto split = static_cast<int>(b.phase[n]);
  double choice = static_cast<double>(b.choice[n] > 0 ? b.choice[n] : 0);
  if (split != 0) choice *= static_cast<double>(scale);
  return relu_line(a, split, choice, static_cast<double>(b.low[n]), static_cast<double>(b.high[n]));
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
      const ReluLine line = proven_line(b, n, b.scale[i]);
      b.proven_over_z[j] = line.over_z;
      if (line.offset != 0) add_to(sum, line.offset);
      add_to(sum, line.over_z * bias_of(layer, j));
      sum.paid += __builtin_fabs(line.over_z) * b.price[n];
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
