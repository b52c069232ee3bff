#pragma once

#include "bf/contract/integers.h"

// The rows of tables. Each row has n floats, n being the layer's neurons; rows follow one another
// in the order of the enumerators.

namespace bf {

// Relaxation of a layer: relax() of core/relax.h. Offsets pay for the roundings of float32
// products, or of wide ones.
enum RelaxRow : std::uint8_t {
  kSlopeUpper,
  kSlopeLower,
  kOffsetUpper,
  kOffsetLower,
  kWideOffsetUpper,
  kWideOffsetLower
};
constexpr int kRelaxRows = 6;

// Relaxation of a ReLU layer whose lower slopes backward rows choose: sums/slopes.h.
enum SlopeRow : std::uint8_t {
  kFreeUpper,        // slope of the upper line
  kFreeLower,        // slope of the lower line where it is fixed, else -1
  kFreeOffsetUpper,  // of the upper line, as in the relaxation table
  kFreeOffsetLower,  // of the lower line, relative to the activation's centre
  kFreeCentre,       // times the slope chosen: what else the lower line's offset is
  kFreeWideUpper,    // the last three for wide products
  kFreeWideLower,
  kFreeWideCentre
};
constexpr int kSlopeRows = 8;

// Lines of an elementwise function that backward rows mix: functions/mixtures.h. Neurons follow one
// another, each with these rows of kKnots floats: slopes, and offsets as in a relaxation table.
enum KnotRow : std::uint8_t {
  kKnotUpper,
  kKnotLower,
  kKnotOffsetUpper,
  kKnotOffsetLower,
  kKnotWideUpper,
  kKnotWideLower
};
constexpr int kKnotRows = 6;
constexpr int kKnots = 17;

// A product of two tensors: the slopes over both factors in the middle, where rows begin that
// choose planes, those of the planes above and below, offsets outward; sums/planes.h.
enum ProductRow : std::uint8_t {
  kSlopeX,
  kSlopeY,
  kUpperSlopeX,
  kLowerSlopeX,
  kUpperSlopeY,
  kLowerSlopeY,
  kProductUpper,
  kProductLower
};
constexpr int kProductRows = 8;

// Numbers of each element of a factor that the boxes of a contraction are made of;
// sums/contraction.h.
constexpr int kContractionPanels = 6;

// A log-softmax layer: slopes of the planes above and below the logarithm of each group's sum of
// powers, offsets of z outward; sums/log_softmax.h.
enum LogSoftmaxRow : std::uint8_t { kAboveSlope, kBelowSlope, kLogSoftmaxUpper, kLogSoftmaxLower };
constexpr int kLogSoftmaxRows = 4;

// A max layer. Offsets are relative to the centre of z: the chosen candidate's centre is another
// one, unless no other candidate can exceed it.
enum MaxRow : std::uint8_t {
  kMaxUpper,    // offset of the upper bound, constant or the chosen candidate
  kMaxLower,    // offset of the chosen candidate as a lower bound
  kMaxConstant  // 1: the upper bound is constant; 0: it is the chosen candidate
};
constexpr int kMaxRows = 3;

// The doubles of a layer's slack that all of its neurons have in common. Beside them an affine
// layer has one for each neuron: what its own centre may miss (sums/row_slack.h).
enum SlackTerm : std::uint8_t {
  kCentreSlack,     // max over neurons of |z - (centre + sum_k w*_k (a_k - c_k))|
  kRadiusSlack,     // sum_k radius_in_k
  kUnderflowSlack,  // what underflow may cost one backward row that passes through this layer
  kOpenRows         // the neurons that do not take the first for their own
};
constexpr int kSlack = 4;

}  // namespace bf
