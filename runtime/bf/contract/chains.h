#pragma once

#include "bf/contract/integers.h"

// The lengths of the runtime's chains of roundings. The planner's error terms count them as stated
// here, and the runtime's loops end their chains as stated here: neither has a number of its own.
//
// Sums in float32 are kept in two levels. A chain is what one accumulator takes in, then chains are
// added up. A term passes through at most as many roundings as a chain has products and a sum
// chains, that of its product included.

namespace bf {

// ---- backward rows through a convolution: conv/conv_backward.h, docs/proofs/backward-depths.md

// Products of a chain, at most.
constexpr int kConvChain = 64;

// The extent of one chain: loops (3 for all taps, 2, 1, or 0 for channels of one tap), and
// products.
struct Chain {
  int loops, products;
};

// group: output channels of a group; taps: of one position at most, in each dimension. A chain
// holds all taps, or those of two dimensions, or of one, or some channels of one tap: the longest
// that fits.
static constexpr Chain conv_chain(std::int64_t group, const std::int64_t (&taps)[3]) {
  std::int64_t products = group < kConvChain ? group : kConvChain;
  int loops = 0;
  for (int d = 2; group <= kConvChain && d >= 0 && products * taps[d] <= kConvChain; --d) {
    products *= taps[d];
    ++loops;
  }
  return {loops, static_cast<int>(products)};
}

// Channels of one tap that a chain holds, of `left`; whole: a chain holds whole taps.
static constexpr int chain_part(bool whole, int left) {
  return whole || left < kConvChain ? left : kConvChain;
}

// Roundings that a term of the sum may pass through.
static constexpr std::int64_t conv_depth(std::int64_t group, const std::int64_t (&taps)[3]) {
  const Chain chain = conv_chain(group, taps);
  std::int64_t chains = (group + kConvChain - 1) / kConvChain;  // of one tap
  for (int d = 0; d < 3 - chain.loops; ++d) chains *= taps[d];
  return chain.products + chains + 1;
}

// ---- interval pass through a convolution: conv/conv_interval.h

// Products of a chain, at most: as many taps as fit, each with the input channels of a group, or a
// part of one tap.
constexpr int kIntervalChain = 64;

// Taps of a chain, for `group` input channels.
static constexpr std::int64_t interval_taps(std::int64_t group) {
  return group < kIntervalChain ? kIntervalChain / group : 1;
}

// Roundings that a term of the sum over so many taps may pass through.
static constexpr std::int64_t interval_depth(std::int64_t group, std::int64_t taps) {
  const std::int64_t together = interval_taps(group), of_chain = together < taps ? together : taps;
  const std::int64_t parts = (group + kIntervalChain - 1) / kIntervalChain;
  return (group < kIntervalChain ? group : kIntervalChain) * of_chain +
         (taps + together - 1) / together * parts + 1;
}

// ---- offsets of a layer's lines: LineSums in sums/backward.h

// Neurons whose products with offsets make one float32 sum, before sums in double.
constexpr int kSumChain = 8;

// Roundings in float32 of such a product: those of its chain, and its own.
constexpr int kOffsetDepth = kSumChain + 1;

// The largest relative error of a sum of offsets that price_factor() of core/bounds.h can price.
constexpr double kMostPriced = 0.25;

// ---- step functions

// Integers of so many steps, beyond which steps are as fine as doubles. Below it staircases are
// exact, and so are centres of networks of step functions: functions/function_steps.h.
constexpr double kManySteps = 0x1p50;

}  // namespace bf
