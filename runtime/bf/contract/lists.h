#pragma once

#include "bf/contract/integers.h"

// Sizes of lists: of live neurons, of live channels of pixels, of products.

namespace bf {

// ---- live neurons: core/live_neurons.h

// Lists say where every so-many-th neuron would be; chunks of sums over them are multiples of that.
constexpr int kListUnit = 8;

// Numbers of a list of n neurons: how many are live, the neurons, and where the units begin and
// end.
static constexpr std::int64_t live_list_size(std::int64_t n) {
  return 2 + n + (n + kListUnit - 1) / kListUnit;
}

// ---- live channels: docs/proofs/live-pixels.md

// Numbers behind a list, which are read and mean nothing.
constexpr int kListRoom = 15;

// Numbers of a list of an image of so many elements and pixels: its density, then for each pixel
// how many of its channels are live, and the channels.
static constexpr std::int64_t live_pixels_size(std::int64_t elements, std::int64_t pixels) {
  return 1 + pixels + elements + kListRoom;
}

// Products of one input that a list holds: conv/conv_live.h.
constexpr int kMostProducts = 2560;

// ---- groups of candidates of maxima: sums/intervals.h

// Neighbouring groups that go together read one line of so many elements, at most, for each of the
// other taps.
constexpr int kMaxLine = 256;

// ---- workers: core/parallel.h

constexpr int kMostWorkers = 256;

}  // namespace bf
