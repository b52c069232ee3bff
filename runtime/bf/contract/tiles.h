#pragma once

// Register tiles of the runtime's routines, for vectors of so many bytes; 4: scalar code.

namespace bf {

// ---- backward rows through a convolution: conv/conv_backward.h

// Accumulators that leave room for operands.
static constexpr int most_tile_vectors(int vector_bytes) {
  return vector_bytes == 64 ? 24 : vector_bytes == 4 ? 4 : 12;
}
static constexpr int most_tile_columns(int vector_bytes) {
  return vector_bytes == 4 ? 1 : 8;
}
static constexpr int most_tile_pixels(int vector_bytes) {
  return vector_bytes == 4 ? 1 : 4;
}

// `columns` channels of `pixels` pixels go together, and `last_columns` of one pixel where a row
// has no more of them.
struct ConvRowTile {
  int columns, pixels, last_columns;
};

// The tile that no measurement chose: as many accumulators as there is room for, in channels first.
// sum_vectors: of the rows' sums. channels: those that the same taps read. Coefficients of a
// depthwise convolution serve one channel: they need more registers, and two pixels are enough to
// share the weights.
static constexpr ConvRowTile conv_row_tile(int vector_bytes, int sum_vectors, int channels,
                                           bool depthwise) {
  const int room = most_tile_vectors(vector_bytes), most = most_tile_columns(vector_bytes);
  const auto between = [](int low, int x, int high) { return x < low ? low : x > high ? high : x; };
  const int whole = between(1, room / sum_vectors, most);
  const int first = channels < whole ? channels : whole;
  const int pixels = depthwise
                         ? most_tile_pixels(vector_bytes) < 2 ? 1 : 2
                         : between(1, room / (first * sum_vectors), most_tile_pixels(vector_bytes));
  const int left = (depthwise ? room * 2 / 3 : room) / sum_vectors;
  return {between(1, left / pixels, most), pixels, between(1, left, most)};
}

// The tile of code that is built before the network is known: of one pixel, whatever the channels.
static constexpr ConvRowTile prebuilt_row_tile(int vector_bytes, int sum_vectors) {
  const int columns = conv_row_tile(vector_bytes, sum_vectors, 1, false).last_columns;
  return {columns, 1, columns};
}

// Channels that a tile may have: loops over channels count down through these.
static constexpr bool is_tile_width(int channels) {
  return channels <= 4 || channels == 6 || channels == 8 || channels == 10 || channels == 12;
}
constexpr int kMostTileChannels = 12;

// ---- other passes through a convolution: conv/conv_outputs.h, conv/conv_strips.h

// Channels that make no vector: fewer than this.
constexpr int kFewChannels = 4;
// Outputs of a row of pixels that are summed together.
constexpr int kStrip = 32;

// ---- the first link of backward rows: dense/first_link.h

// Lanes of the vectors that it needs.
constexpr int kSignedLanes = 16;

}  // namespace bf
