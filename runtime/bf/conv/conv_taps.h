#pragma once

#include "bf/contract/integers.h"
#include "bf/sums/terms.h"

// The taps of a convolution that read an input, and those through which an output reads. `up`: from
// the strided side, whose images are smaller, to the other (see paired() in terms.h).

namespace bf {

// Shapes of generated verifiers are constants of the code: what depends on them alone is folded.
template <const ConvShape& kShape>
struct FixedShape {
  constexpr operator const ConvShape&() const { return kShape; }
};

static constexpr int gcd(int a, int b) {
  while (b != 0) {
    const int rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

// The taps of one position follow each other in steps, as do the positions that they pair it with.
struct TapSteps {
  int tap[3], position[3];
};

static constexpr TapSteps tap_steps(const ConvShape& shape, bool up) {
  TapSteps made = {};
  for (int d = 0; d < 3; ++d) {
    const int common = gcd(shape.stride[d], shape.dilation[d]);
    made.tap[d] = up ? 1 : shape.stride[d] / common;
    made.position[d] = up ? shape.dilation[d] : -(shape.dilation[d] / common);
  }
  return made;
}

// The tap_steps() of a constant shape, made at compile time; steps() takes shapes of both kinds.
template <const ConvShape& kShape, bool kUp>
constexpr TapSteps kTapSteps = tap_steps(kShape, kUp);

template <const ConvShape& kShape>
static constexpr TapSteps steps(FixedShape<kShape>, bool up) {
  return up ? kTapSteps<kShape, true> : kTapSteps<kShape, false>;
}
static inline TapSteps steps(const ConvShape& shape, bool up) {
  return tap_steps(shape, up);
}

// Taps of one position in one dimension: `first`, and count - 1 after it; `position`: what the
// first pairs it with. Positions a tap_period() apart have the same taps, paired with positions a
// tap_shift() apart, but for what borders cut off.
struct TapRange {
  int first, count, position;
};

static constexpr int tap_period(const ConvShape& shape, bool up, int d) {
  return up ? 1 : shape.stride[d];
}
static constexpr int tap_shift(const ConvShape& shape, bool up, int d) {
  return up ? shape.stride[d] : 1;
}

// The taps of position `from` in an image without borders.
static constexpr TapRange all_taps(const ConvShape& shape, const TapSteps& how, bool up, int d,
                                   int from) {
  TapRange made = {0, 0, 0};
  if (up) {
    made.position = from * shape.stride[d] - shape.pad[d];
  } else if (shape.stride[d] == 1) {  // as below, without quotients
    made.position = from + shape.pad[d];
  } else {
    int rest = from + shape.pad[d];
    while (made.first < how.tap[d] && rest % shape.stride[d] != 0) {
      ++made.first;
      rest -= shape.dilation[d];
    }
    if (rest % shape.stride[d] != 0) return {0, 0, 0};
    made.position = rest / shape.stride[d];
  }
  const int left = shape.kernel[d] - made.first;
  made.count = left <= 0 ? 0 : how.tap[d] == 1 ? left : ceil_div(left, how.tap[d]);
  return made;
}

// Leaves those of the taps that pair with a position in the window.
static constexpr TapRange clip(const TapSteps& how, const Window& window, int d, TapRange taps) {
  const int step = how.position[d], size = step < 0 ? -step : step;
  // The first is `before` positions outside of the window, the last `after`.
  const int last = taps.position + (taps.count - 1) * step;
  const int before =
      step < 0 ? taps.position - (window.end[d] - 1) : window.begin[d] - taps.position;
  const int after = step < 0 ? window.begin[d] - last : last - (window.end[d] - 1);
  if (before > 0) {
    const int cut = ceil_div(before, size);
    taps.first += cut * how.tap[d];
    taps.position += cut * step;
    taps.count -= cut;
  }
  if (after > 0) taps.count -= ceil_div(after, size);
  if (taps.count < 0) taps.count = 0;
  return taps;
}

// Returns true if `pixels` positions a period apart in a row of the image, the first with these
// taps, have the same taps, and some. First and last tap rise from one position to the next: what
// is the same at both ends is the same between them, unless it is nothing.
static constexpr bool have_same_taps(const ConvShape& shape, const TapSteps& how, bool up,
                                     const Window& window, TapRange taps, int pixels) {
  const TapRange first = clip(how, window, 2, taps);
  taps.position += (pixels - 1) * tap_shift(shape, up, 2);
  const TapRange last = clip(how, window, 2, taps);
  return last.count > 0 && last.count == first.count && last.first == first.first;
}

}  // namespace bf
