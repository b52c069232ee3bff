#pragma once

#include "bf/search/split_network.h"

// The state of a node of neuron splits, of which its bounds are made. split_box.h prepares the box
// of its neurons, split_proposals.h proposes bounds in float, split_proof.h proves one in double.
// Method: Wang et al., Beta-CROWN (2021). Proofs: docs/proofs/neuron-splits.md, whose names these
// are.

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

// Returns true if a split keeps z at the end of the curve's part, so that it has a multiplier.
static inline bool is_kept(const SplitBounds& b, const SplitCurve& curve, std::int32_t n,
                           int upper) {
  return upper == 0 ? curve.low > b.low[n] : curve.high < b.high[n];
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

}  // namespace bf
