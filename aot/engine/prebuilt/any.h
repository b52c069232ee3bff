#pragma once

#include <cstddef>
#include <cstdint>

#include "bf/conv/conv_backward.h"
#include "bf/functions/functions.h"
#include "bf/sums/live.h"
#include "bf/sums/terms.h"

// Structures with what generated code says by types, for code that learns it when it is called. The
// engine makes them, and the code of every instruction set reads them.

namespace bf {

// A convolution's shape, and what follows from it: kept, so that the remainders and quotients of a
// row are not computed anew for each tile of it.
struct KnownShape {
  ConvShape shape;
  TapSteps up, down;
  Chain chain;

  explicit KnownShape(const ConvShape& of)
      : shape(of), up(tap_steps(of, true)), down(tap_steps(of, false)), chain(conv_chain(of)) {}
};

// A pointer to a KnownShape that routines take for a ConvShape.
struct ShapeAt {
  const KnownShape* known;

  explicit ShapeAt(const void* at) : known(static_cast<const KnownShape*>(at)) {}
  operator const ConvShape&() const { return known->shape; }
};

static inline TapSteps steps(ShapeAt shape, bool up) {
  return up ? shape.known->up : shape.known->down;
}
static inline Chain conv_chain(ShapeAt shape) {
  return shape.known->chain;
}

// Stands for AllChannels or a ChannelList.
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

// Stands for AllLive, where there is no list, or for LivePixels.
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

// Selects the neurons of an image that are listed: all, or those whose ReLU is unstable or whose
// function is not one line on its interval.
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
