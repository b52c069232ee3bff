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
