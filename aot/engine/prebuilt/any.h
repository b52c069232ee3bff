#pragma once

#include <cstddef>
#include <cstdint>

#include "bf/functions/functions.h"
#include "bf/sums/live.h"
#include "bf/sums/terms.h"

// What generated code says by types, for code that learns it when it is called. The engine makes
// these structures and the code of every instruction set reads them.

namespace bf {

// AllChannels, or a ChannelList.
struct AnyChannels {
  const std::int32_t* channel;  // null: first + i
  int first, count;
  int operator[](int i) const { return channel == nullptr ? first + i : channel[i]; }
  AnyChannels part(int from, int size) const {
    if (channel == nullptr) return {nullptr, first + from, size};
    return {channel + from, 0, size};
  }
  template <typename Take>
  void visit(const Take& take) const {
    if (channel == nullptr)
      take(AllChannels{first, count});
    else
      take(ChannelList{channel, count});
  }
};

// AllLive, where there is no list, or LivePixels.
struct AnyLive {
  const std::int32_t* list;

  bool listed() const { return list != nullptr; }
  bool many() const { return list == nullptr || LivePixels{list}.many(); }
  bool all() const { return list == nullptr || LivePixels{list}.all(); }
  AnyChannels at(std::ptrdiff_t pixel, int channels) const {
    if (list == nullptr) return {nullptr, 0, channels};
    const ChannelList live = LivePixels{list}.at(pixel, channels);
    return {live.channel, 0, live.count};
  }
  AnyChannels dead_at(std::ptrdiff_t pixel, int channels) const {
    if (list == nullptr) return {nullptr, 0, 0};
    const ChannelList dead = LivePixels{list}.dead_at(pixel, channels);
    return {dead.channel, 0, dead.count};
  }
};

// Which neurons of an image are listed: all, those whose ReLU is open, or whose function is no
// line.
struct AnyListed {
  bool all;
  const FunctionView* function;  // null: ReLU
  const double* centre;
  const float *below, *above;

  bool operator()(int j) const {
    if (all) return true;
    return function == nullptr ? is_unstable(centre, below, above, j)
                               : is_inexact(*function, centre, below, above, j);
  }
};

}  // namespace bf
