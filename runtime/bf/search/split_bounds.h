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
  kCurve = 4,      // a function or a factor
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
  float *least, *most;  // where there are products: a, where splits leave z
  double* price;        // what Lambda = 1 costs by rounding
  SplitPhase* phase;
  float *gain, *gap;
  float *over_a, *over_z, *z, *a;
  // Indexed by choice. Of a ReLU the slope, or the multiplier of a split neuron, in units of the
  // layer's scale; of a curve the place between its lines below, and above, from 0 to
  // kCurveLines - 1, then the multipliers of its lower and its upper end; of a product the share of
  // the second plane below, and above.
  float *choice, *mean, *largest;
  // Indexed by curve; part: where splits leave z, both ends.
  SplitCurve* curves;
  float* part;
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

static inline std::int32_t choice_of(const SplitLayer& layer, std::int32_t j) {
  return layer.first_choice + j * choices_of(layer.role);
}

static inline SplitCurve& curve_of(const SplitBounds& b, const SplitLayer& layer, std::int32_t j) {
  return b.curves[layer.first_curve + j];
}

// The interval of one of the factors of product j.
struct SplitFactor {
  float low, high;
};
static inline SplitFactor factor_range(const SplitBounds& b, const SplitLayer& layer, int factor,
                                       std::int32_t j) {
  const SplitPart& part = layer.parts[factor];
  const std::int32_t k = factor_of(part, j);
  if (part.source < 0) return {b.lower[k], b.upper[k]};
  const std::int32_t n = b.network->layers[part.source].first + k;
  return {b.least[n], b.most[n]};
}

// Infinite where nothing is known.
static inline double magnitude_of(float low, float high) {
  if (!(low <= high)) return __builtin_inf();
  const double below = __builtin_fabs(static_cast<double>(low));
  const double above = __builtin_fabs(static_cast<double>(high));
  return below > above ? below : above;
}

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

// A line of a curve that a choice mixes, or its ends.
struct MixedLine {
  int first;     // mixed with the next one
  float second;  // the share of that
};
static inline MixedLine mixed_at(float choice) {
  MixedLine made = {0, choice > 0 ? choice : 0};  // NaN becomes 0
  while (made.first < kCurveLines - 2 && made.second > 1) {
    ++made.first;
    made.second -= 1;
  }
  if (made.second > 1) made.second = 1;
  return made;
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

// Returns true if a split keeps z at the end of the curve's part, so that it has a multiplier.
static inline bool is_kept(const SplitBounds& b, const SplitCurve& curve, std::int32_t n,
                           int upper) {
  return upper == 0 ? curve.low > b.low[n] : curve.high < b.high[n];
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

// The planes below (side 0) or above a product x y: the first touches it at (x.low, y_first), the
// second at (x.high, y_second).
struct ProductPlanes {
  SplitFactor x;
  float y_first, y_second;
};
static inline ProductPlanes planes_of(const SplitBounds& b, const SplitLayer& layer, std::int32_t j,
                                      int side) {
  const SplitFactor x = factor_range(b, layer, 0, j), y = factor_range(b, layer, 1, j);
  return {x, side == 0 ? y.low : y.high, side == 0 ? y.high : y.low};
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
