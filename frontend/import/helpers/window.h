#pragma once

#include <cstdint>
#include <vector>

#include "frontend/graph/graph.h"
#include "frontend/import/file/node_import.h"

namespace bf_aot {

// The spatial attributes of Conv, ConvTranspose and the pooling operators, on three dimensions:
// those that the tensor does not have come first, with size and kernel 1.
struct Window {
  std::size_t rank = 0;  // spatial dimensions of the tensor
  Shape outer;           // the first of them, where pooling leaves each position by itself
  Extent kernel = {1, 1, 1};
  Extent stride = {1, 1, 1};
  Extent dilation = {1, 1, 1};
  Extent pad_begin = {0, 0, 0};
  Extent pad_end = {0, 0, 0};
  Extent in_size = {1, 1, 1};
  Extent out_size = {1, 1, 1};

  // Index into the arrays above of the tensor's spatial dimension d, which is behind the outer
  // ones.
  std::size_t at(std::size_t d) const { return 3 - rank + d; }
  // The number of input positions from the kernel's first tap to its last, both included.
  std::int64_t reach(std::size_t i) const { return (kernel[i] - 1) * dilation[i] + 1; }
  std::int64_t taps() const { return kernel[0] * kernel[1] * kernel[2]; }
  std::int64_t in_count() const { return in_size[0] * in_size[1] * in_size[2]; }
  std::int64_t out_count() const { return out_size[0] * out_size[1] * out_size[2]; }
};

// Reads kernel_shape (or takes `kernel`, the spatial dimensions of the weights), strides,
// dilations, pads and auto_pad for an input [batch, channels, d1, ...] and computes the output's
// size. `ceil_mode` as in pooling, which may have more than three dimensions where the kernel is 1
// along the first ones. Throws: BF1012, BF1014.
Window read_window(const NodeImport& node, const Shape& input, const Shape* kernel,
                   bool ceil_mode = false);

// Reads the window of a ConvTranspose: output_padding and output_shape decide the output's size,
// and pad_begin is what is cut off at the beginning.
Window read_transposed_window(const NodeImport& node, const Shape& input, const Shape& kernel);

// [batch, channels, out_size...]
Shape output_shape(const Window& window, std::int64_t batch, std::int64_t channels);

// visit(t, q) for the taps t of the window at output position p that lie in the image, at q.
template <typename Visit>
void for_each_tap(const Window& w, const Extent& p, const Visit& visit) {
  Extent first, last;  // taps inside: first <= t < last
  for (std::size_t d = 0; d < 3; ++d) {
    const std::int64_t origin = p[d] * w.stride[d] - w.pad_begin[d];
    first[d] = origin >= 0 ? 0 : (-origin + w.dilation[d] - 1) / w.dilation[d];
    const std::int64_t room = w.in_size[d] - origin;  // t dilation < room
    last[d] = room <= 0 ? 0 : std::min(w.kernel[d], (room + w.dilation[d] - 1) / w.dilation[d]);
  }
  Extent t, q;
  const auto place = [&](std::size_t d) {
    q[d] = p[d] * w.stride[d] - w.pad_begin[d] + t[d] * w.dilation[d];
  };
  for (t[0] = first[0]; t[0] < last[0]; ++t[0]) {
    place(0);
    for (t[1] = first[1]; t[1] < last[1]; ++t[1]) {
      place(1);
      for (t[2] = first[2]; t[2] < last[2]; ++t[2]) {
        place(2);
        visit(t, q);
      }
    }
  }
}

// The geometry of a convolution with this window.
ConvGeometry conv_geometry(const Window& window, std::int64_t batch, std::int64_t groups,
                           std::int64_t in_channels, std::int64_t out_channels);

}  // namespace bf_aot
