#pragma once

#include "frontend/graph/graph.h"
#include "runtime/bf/sums/terms.h"

// Convolutions of constant shapes, for the tests of what goes through them.

namespace bf_test {

struct Row {
  int size, kernel, stride, dilation, pad;
  bool transposed;
};

// Two rows of pixels, or what a transposed convolution makes of them.
constexpr bf::ConvShape rows_of(int groups, int in, int out, Row row, bool by_pixels = false) {
  const int reach = (row.kernel - 1) * row.dilation;
  const int made = row.transposed ? (row.size - 1) * row.stride + reach + 1 - 2 * row.pad
                                  : (row.size + 2 * row.pad - reach - 1) / row.stride + 1;
  const bf::ConvShape shape = {1,
                               groups,
                               groups * in,
                               groups * out,
                               {1, 2, row.size},
                               {1, 2, made},
                               {1, 3, row.kernel},
                               {1, 1, row.stride},
                               {1, 1, row.dilation},
                               {0, 1, row.pad},
                               row.transposed,
                               {0, 0, 2 * row.size, {0, row.size, 1}},
                               {0, 0, 2 * made, {0, made, 1}}};
  return by_pixels ? bf::by_pixels(shape, true, true) : shape;
}

inline bf_aot::ConvGeometry geometry_of(const bf::ConvShape& shape) {
  bf_aot::ConvGeometry g;
  g.batch = shape.batch;
  g.groups = shape.groups;
  g.in_channels = shape.in_channels;
  g.out_channels = shape.out_channels;
  g.transposed = shape.transposed;
  g.in = {shape.in.offset, shape.in.batch, shape.in.channel, {}};
  g.out = {shape.out.offset, shape.out.batch, shape.out.channel, {}};
  for (std::size_t d = 0; d < 3; ++d) {
    g.in_size[d] = shape.in_size[d];
    g.out_size[d] = shape.out_size[d];
    g.kernel[d] = shape.kernel[d];
    g.stride[d] = shape.stride[d];
    g.dilation[d] = shape.dilation[d];
    g.pad[d] = shape.pad[d];
    g.in.spatial[d] = shape.in.spatial[d];
    g.out.spatial[d] = shape.out.spatial[d];
  }
  return g;
}

// Four rows of a volume of two images.
constexpr bf::ConvShape volumes(bf::ConvShape shape) {
  const int in = shape.in_size[2], out = shape.out_size[2];
  shape.batch = shape.in_size[0] = shape.out_size[0] = 2;
  shape.in = {0, 4 * in * shape.in_channels, 4 * in, {2 * in, in, 1}};
  shape.out = {0, 4 * out * shape.out_channels, 4 * out, {2 * out, out, 1}};
  return shape;
}

// Of few products, whose pixels go in lanes.
inline constexpr bf::ConvShape kFew = rows_of(1, 3, 20, {31, 3, 1, 1, 1, false});
inline constexpr bf::ConvShape kFewStrided = rows_of(1, 3, 8, {32, 4, 2, 1, 1, false});
inline constexpr bf::ConvShape kFewPairs = rows_of(1, 2, 5, {64, 5, 2, 1, 2, false});
inline constexpr bf::ConvShape kFewApart = rows_of(1, 2, 9, {37, 3, 3, 2, 2, false});
inline constexpr bf::ConvShape kFewWidePad = rows_of(1, 2, 11, {3, 3, 1, 1, 7, false});
inline constexpr bf::ConvShape kDepthwise = rows_of(5, 1, 1, {9, 3, 1, 1, 1, false});
inline constexpr bf::ConvShape kPooling = rows_of(4, 1, 1, {54, 3, 3, 1, 0, false});
inline constexpr bf::ConvShape kVolumes = volumes(rows_of(1, 2, 5, {15, 3, 1, 1, 1, false}));

// A convolution of images of `rows` rows, which it reads with the stride of the rows' pixels.
constexpr bf::ConvShape images_of(bf::ConvShape shape, int rows) {
  const int stride = shape.stride[2], made = (rows + 2 - 3) / stride + 1;
  const int in = shape.in_size[2], out = shape.out_size[2];
  shape.stride[1] = stride;
  shape.in_size[1] = rows;
  shape.out_size[1] = made;
  shape.in = {0, 0, rows * in, {0, in, 1}};
  shape.out = {0, 0, made * out, {0, out, 1}};
  return shape;
}

// Of many channels, which go by blocks: of several rows, of parts of long rows, of more channels
// than a chain or the panels of a block have, of groups, volumes and pixels that lie together.
inline constexpr bf::ConvShape kBlockRows =
    images_of(rows_of(1, 6, 40, {7, 3, 1, 1, 1, false}), 10);
inline constexpr bf::ConvShape kBlockParts =
    images_of(rows_of(1, 70, 20, {5, 3, 1, 1, 1, false}), 4);
inline constexpr bf::ConvShape kBlockColumns = rows_of(1, 7, 33, {70, 3, 1, 1, 1, false});
inline constexpr bf::ConvShape kBlockStrided =
    images_of(rows_of(1, 3, 18, {31, 5, 2, 1, 2, false}), 9);
inline constexpr bf::ConvShape kBlockDilated =
    images_of(rows_of(1, 8, 16, {14, 3, 1, 3, 2, false}), 5);
inline constexpr bf::ConvShape kBlockGroups =
    images_of(rows_of(2, 40, 17, {6, 3, 1, 1, 1, false}), 3);
inline constexpr bf::ConvShape kBlockPanels =
    images_of(rows_of(1, 4, 80, {8, 3, 1, 1, 1, false}), 8);
inline constexpr bf::ConvShape kBlockWidePad = rows_of(1, 8, 19, {4, 3, 1, 1, 7, false});
inline constexpr bf::ConvShape kBlockVolumes = volumes(rows_of(1, 12, 24, {7, 3, 1, 1, 1, false}));
inline constexpr bf::ConvShape kBlockPixelwise = rows_of(1, 12, 21, {13, 3, 1, 1, 1, false}, true);

}  // namespace bf_test
