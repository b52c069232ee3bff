#pragma once

#include <algorithm>
#include <iterator>

#include "runtime/bf/sums/row_windows.h"
#include "tests/runtime/terms_random.h"

// Windows of random images, and convolutions whose shapes are constants of the code.

namespace bf_test {

inline bf::Window random_window(Random& random, const int (&size)[3]) {
  bf::Window window = {};
  for (int d = 0; d < 3; ++d) {
    window.begin[d] = random.below(size[d]);
    window.end[d] = random.between(window.begin[d] + 1, size[d]);
  }
  return window;
}

inline bf::Image image_in(const bf::ConvShape& shape) {
  bf::Image image = {shape.batch, shape.in_channels, {}, shape.in};
  std::copy(std::begin(shape.in_size), std::end(shape.in_size), image.size);
  return image;
}

constexpr bf::ConvShape square(int in, int out, int groups, int size, int kernel, int stride,
                               int dilation, int pad, bool transposed) {
  const int reach = (kernel - 1) * dilation;
  const int made = transposed ? (size - 1) * stride + reach + 1 - 2 * pad
                              : (size + 2 * pad - reach - 1) / stride + 1;
  bf::ConvShape shape = {1,
                         groups,
                         in,
                         out,
                         {1, size, size},
                         {1, made, made},
                         {1, kernel, kernel},
                         {1, stride, stride},
                         {1, dilation, dilation},
                         {0, pad, pad},
                         transposed,
                         {0, in * size * size, size * size, {size * size, size, 1}},
                         {0, out * made * made, made * made, {made * made, made, 1}}};
  return bf::by_pixels(shape, true, true);
}

constexpr bf::ConvShape kFirst = square(3, 8, 1, 9, 4, 2, 1, 1, false);
constexpr bf::ConvShape kDeep = square(17, 70, 1, 5, 3, 1, 1, 1, false);
constexpr bf::ConvShape kDilated = square(6, 5, 1, 8, 3, 2, 3, 2, false);
constexpr bf::ConvShape kGrouped = square(12, 6, 3, 7, 3, 1, 1, 1, false);
constexpr bf::ConvShape kTransposed = square(9, 4, 1, 4, 3, 2, 1, 1, true);
constexpr bf::ConvShape kWide = square(5, 12, 1, 19, 3, 1, 1, 1, false);
constexpr bf::ConvShape kPointwise = square(4, 11, 1, 6, 1, 2, 1, 0, false);
constexpr bf::ConvShape kDepthwise = square(19, 19, 19, 9, 3, 1, 1, 1, false);
constexpr bf::ConvShape kMultiplied = square(3, 6, 3, 10, 9, 1, 1, 4, false);  // in chains of taps
constexpr bf::ConvShape kSpread = square(4, 8, 4, 4, 3, 2, 1, 1, true);

}  // namespace bf_test
