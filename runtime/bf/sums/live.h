#pragma once

#include "bf/contract/integers.h"
#include "bf/contract/lists.h"

// Lists of the channels of each pixel that backward rows pass through.
//
// A neuron is dead where its activation has the radius 0. Its coefficients may be left out of rows:
// docs/proofs/live-pixels.md.
//
// A layer's list begins with its Density, then has 1 + channels numbers for each of its pixels (n,
// z, y, x), in this order: how many of its channels are live, these, rising, and the dead ones.
// Where nearly all are live, all count as such: routines of all channels are faster then. Behind it
// is room for kListRoom numbers, which are read and mean nothing.

namespace bf {

// Live channels: at most half, more than half, or all, which stands for more than 7 of 8.
enum Density : std::int32_t { kFewLive, kManyLive, kAllLive };

// Channels first + i, i < count.
struct AllChannels {
  int first, count;
  int operator[](int i) const { return first + i; }
  AllChannels part(int from, int size) const { return {first + from, size}; }
};

struct ChannelList {
  const std::int32_t* channel;
  int count;
  int operator[](int i) const { return channel[i]; }
  ChannelList part(int from, int size) const { return {channel + from, size}; }
};

// Live channels of a tensor without a list (AllLive: all), and of one that has it (LivePixels).
struct AllLive {
  constexpr bool listed() const { return false; }
  constexpr bool many() const { return true; }
  constexpr bool all() const { return true; }
  AllChannels dead_at(std::ptrdiff_t, int) const { return {0, 0}; }
  AllChannels at(std::ptrdiff_t, int channels) const { return {0, channels}; }
};

struct LivePixels {
  const std::int32_t* list;
  constexpr bool listed() const { return true; }
  bool many() const { return list[0] >= kManyLive; }
  bool all() const { return list[0] == kAllLive; }
  ChannelList at(std::ptrdiff_t pixel, int channels) const {
    const std::int32_t* const own = list + 1 + pixel * (1 + channels);
    return {own + 1, own[0]};
  }
  ChannelList dead_at(std::ptrdiff_t pixel, int channels) const {
    const ChannelList live = at(pixel, channels);
    return {live.channel + live.count, channels - live.count};
  }
};

}  // namespace bf
