#pragma once

#include "bf/c/intervals.h"
#include "bf/c/terms.h"

// Outputs of a convolution in C99: the interval pass of bf/conv/conv_interval.h, centres and radii
// of bf/conv/conv_forward.h. Which products make a chain, and their order, is what these say; here
// outputs go one by one.

// Products of a chain, at most: kIntervalChain in bf/contract/chains.h.
#define BF_INTERVAL_CHAIN 64

// The bytes of the vectors that C++ sums with on this machine: centres of convolutions of many
// channels are summed in chains where there are vectors. Devices sum as machines without.
#if defined(BF_DEVICE)
#define BF_VECTOR_BYTES 4
#elif defined(__AVX512F__)
#define BF_VECTOR_BYTES 64
#elif defined(__AVX__)
#define BF_VECTOR_BYTES 32
#elif defined(__SSE2__) || defined(__ARM_NEON)
#define BF_VECTOR_BYTES 16
#else
#define BF_VECTOR_BYTES 4
#endif

// How an output's products make chains: the channels of a part, and the taps of a chain.
typedef struct bf_chains {
  int channels;
  int taps;
} bf_chains;

BF_FUNCTION int bf_interval_taps(BF_CONSTANT const bf_conv_shape* shape) {
  const int group = bf_in_group(shape);
  return group < BF_INTERVAL_CHAIN ? BF_INTERVAL_CHAIN / group : 1;
}

// One product's place: the tap, of the weight, and of the input.
typedef struct bf_product {
  int tap;
  ptrdiff_t weight;
  ptrdiff_t input;
} bf_product;

// The taps of one output, z, y, x, the last the fastest. Returns the tap from `tap` on that reads
// an input, with the places of its first channel; taps() where there is none.
BF_FUNCTION bf_product bf_next_tap(BF_CONSTANT const bf_conv_shape* shape, int n, int o,
                                   const int* p, int tap) {
  const int plane = shape->kernel[1] * shape->kernel[2];
  bf_product made = {tap, 0, 0};
  for (; made.tap < bf_taps(shape); ++made.tap) {
    int q[3];
    q[0] = bf_read_by(shape, 0, p[0], made.tap / plane);
    q[1] = bf_read_by(shape, 1, p[1], made.tap % plane / shape->kernel[2]);
    q[2] = bf_read_by(shape, 2, p[2], made.tap % shape->kernel[2]);
    if (q[0] < 0 || q[1] < 0 || q[2] < 0) continue;
    const int first = o / bf_out_group(shape) * bf_in_group(shape);
    made.weight = bf_weight_place(shape, o, 0, made.tap);
    made.input = bf_element(shape->in, n, first, q);
    break;
  }
  return made;
}

// Sums of floats.
typedef struct bf_float_sums {
  float centre;
  float radius;
} bf_float_sums;

// The sums of one output, of channels begin to end - 1 of its group, in chains.
BF_FUNCTION void bf_add_interval_part(BF_CONSTANT const bf_conv_shape* shape,
                                      BF_GLOBAL const float* weight,
                                      BF_GLOBAL const float* centre_in,
                                      BF_GLOBAL const float* radius_in, int n, int o, const int* p,
                                      int begin, int end, bf_float_sums* total) {
  const ptrdiff_t stride = (ptrdiff_t)bf_taps(shape) * bf_out_group(shape);
  const int together = bf_interval_taps(shape);
  bf_float_sums sums = {0.0f, 0.0f};
  int chain = 0;
  for (bf_product at = bf_next_tap(shape, n, o, p, 0); at.tap < bf_taps(shape);
       at = bf_next_tap(shape, n, o, p, at.tap + 1)) {
    if (at.tap / together != chain) {
      total->centre += sums.centre;
      total->radius += sums.radius;
      sums.centre = 0.0f;
      sums.radius = 0.0f;
      chain = at.tap / together;
    }
    for (int i = begin; i < end; ++i) {
      const float w = weight[at.weight + i * stride];
      const ptrdiff_t in = at.input + (ptrdiff_t)i * shape->in.channel;
      sums.centre += w * centre_in[in];
      sums.radius += bf_magnitude_float(w) * radius_in[in];
    }
  }
  total->centre += sums.centre;
  total->radius += sums.radius;
}

BF_FUNCTION bf_float_sums bf_interval_sums(BF_CONSTANT const bf_conv_shape* shape,
                                           BF_GLOBAL const float* weight,
                                           BF_GLOBAL const float* centre_in,
                                           BF_GLOBAL const float* radius_in, int n, int o,
                                           const int* p) {
  const int group = bf_in_group(shape);
  bf_float_sums total = {0.0f, 0.0f};
  for (int first = 0; first < group; first += BF_INTERVAL_CHAIN)
    bf_add_interval_part(shape, weight, centre_in, radius_in, n, o, p, first,
                         bf_smaller(first + BF_INTERVAL_CHAIN, group), &total);
  return total;
}

// The widest window whose columns are summed apart: bf/conv/conv_pooling.h.
#define BF_POOLED_WINDOW 16

// Returns true if the columns of windows add up on their own, then neighbours do.
BF_FUNCTION bool bf_has_pooled_windows(BF_CONSTANT const bf_conv_shape* shape) {
  const int window = shape->kernel[2];
  const bool halves = window > 1 && window <= BF_POOLED_WINDOW &&
                      ((unsigned)window & ((unsigned)window - 1u)) == 0u;
  const bool side_by_side =
      shape->stride[2] == window && shape->dilation[2] == 1 && shape->pad[2] == 0 &&
      shape->out_size[2] * window <= shape->in_size[2] && shape->out_size[2] * window >= 4;
  if (shape->transposed || shape->kernel[0] > 1 || !halves || !side_by_side) return false;
  return shape->in.spatial[2] == 1 && shape->out.spatial[2] == 1 && bf_out_group(shape) < 4 &&
         bf_in_group(shape) * bf_taps(shape) <= BF_INTERVAL_CHAIN;
}

// The sums of one output of pooled windows.
BF_FUNCTION bf_float_sums bf_pooled_sums(BF_CONSTANT const bf_conv_shape* shape,
                                         BF_GLOBAL const float* weight,
                                         BF_GLOBAL const float* centre_in,
                                         BF_GLOBAL const float* radius_in, int n, int o,
                                         const int* p) {
  const ptrdiff_t stride = (ptrdiff_t)bf_taps(shape) * bf_out_group(shape);
  const int window = shape->kernel[2];
  bf_float_sums columns[BF_POOLED_WINDOW];
  for (int k = 0; k < window; ++k) {
    columns[k].centre = 0.0f;
    columns[k].radius = 0.0f;
  }
  for (bf_product at = bf_next_tap(shape, n, o, p, 0); at.tap < bf_taps(shape);
       at = bf_next_tap(shape, n, o, p, at.tap + 1))
    for (int i = 0; i < bf_in_group(shape); ++i) {
      const float w = weight[at.weight + i * stride];
      const ptrdiff_t in = at.input + (ptrdiff_t)i * shape->in.channel;
      columns[at.tap % window].centre += w * centre_in[in];
      columns[at.tap % window].radius += bf_magnitude_float(w) * radius_in[in];
    }
  for (int left = window / 2; left > 0; left /= 2)
    for (int k = 0; k < left; ++k) {
      columns[k].centre = columns[2 * k].centre + columns[2 * k + 1].centre;
      columns[k].radius = columns[2 * k].radius + columns[2 * k + 1].radius;
    }
  return columns[0];
}

// The interval sums of a convolution; add: to what is there.
BF_FUNCTION void bf_conv_interval(bool add, BF_CONSTANT const bf_conv_shape* shape,
                                  BF_GLOBAL const float* weight, BF_GLOBAL const float* centre_in,
                                  BF_GLOBAL const float* radius_in, BF_GLOBAL float* centre_out,
                                  BF_GLOBAL float* radius_out) {
  const bool pooled = bf_has_pooled_windows(shape);
  BF_EACH (i, bf_outputs(shape)) {
    const bf_output to = bf_output_at(shape, i);
    const bf_float_sums sums =
        pooled ? bf_pooled_sums(shape, weight, centre_in, radius_in, to.n, to.channel, to.p)
               : bf_interval_sums(shape, weight, centre_in, radius_in, to.n, to.channel, to.p);
    const ptrdiff_t at = bf_element(shape->out, to.n, to.channel, to.p);
    bf_give(add, sums.centre, centre_out + at);
    bf_give(add, sums.radius, radius_out + at);
  }
}

#if BF_VECTOR_BYTES >= 16

// conv_block() of bf/conv/conv_blocks.h for doubles: the extents of copies that decide whether
// there are blocks of outputs.
BF_FUNCTION bool bf_has_centre_blocks(BF_CONSTANT const bf_conv_shape* shape) {
  const int channels = bf_smaller(bf_in_group(shape), BF_INTERVAL_CHAIN / 2);
  if (shape->transposed || bf_out_group(shape) < BF_VECTOR_BYTES / 8 ||
      bf_in_group(shape) * bf_taps(shape) < 16)
    return false;
  const int64_t together = (int64_t)2 * channels * shape->kernel[0];
  const int read_rows = (shape->kernel[1] - 1) * shape->dilation[1] + 1;
  const int read_columns = (shape->kernel[2] - 1) * shape->dilation[2] + 1;
  return shape->out_size[1] >= 1 && 49152 / 8 / (together * read_rows) >= read_columns;
}

// The registers of a tile of so many channels, whole ones and parts.
BF_FUNCTION int bf_channel_vectors(int channels, int lanes) {
  int count = channels / lanes;
  for (unsigned rest = (unsigned)(channels % lanes); rest > 0u; rest &= rest - 1u) ++count;
  return count;
}

// has_pixel_lanes() of bf/conv/conv_pixels.h for centres.
BF_FUNCTION bool bf_has_centre_pixels(BF_CONSTANT const bf_conv_shape* shape) {
  const int lanes = BF_VECTOR_BYTES / 8;
  const int vectors = bf_ceil_div(shape->out_size[2], lanes);
  const int rows = (shape->kernel[1] - 1) * shape->dilation[1] + 1;
  const int length =
      vectors * lanes + bf_ceil_div((shape->kernel[2] - 1) * shape->dilation[2], shape->stride[2]);
  const int products = bf_in_group(shape) * bf_taps(shape);
  const int readers = bf_out_group(shape);
  const ptrdiff_t kept = (ptrdiff_t)length * shape->stride[2];
  if (products * readers > 2048 || bf_in_group(shape) * rows * kept * 8 > 8192 ||
      shape->transposed || shape->kernel[0] > 1)
    return false;
  const int64_t by_channels =
      (int64_t)bf_channel_vectors(readers, lanes) * shape->out_size[2] * (products + 40);
  return shape->out.spatial[2] == 1 &&
         (readers < 4 || (int64_t)readers * vectors * products < by_channels);
}

#endif

// How the products of centres make chains: all one, or those of blocks.
BF_FUNCTION bf_chains bf_centre_chains(BF_CONSTANT const bf_conv_shape* shape) {
  bf_chains made = {bf_in_group(shape), bf_taps(shape)};
#if BF_VECTOR_BYTES >= 16
  if (!bf_has_centre_pixels(shape) && bf_has_centre_blocks(shape)) {
    made.channels = BF_INTERVAL_CHAIN / 2;
    made.taps = bf_interval_taps(shape);
  }
#endif
  return made;
}

// Sums of doubles.
typedef struct bf_double_sums {
  double centre;
  double radius;
} bf_double_sums;

// The sums of one output over channels begin to end - 1 of its group, in chains of so many taps.
BF_FUNCTION void bf_add_centre_part(BF_CONSTANT const bf_conv_shape* shape,
                                    BF_GLOBAL const float* weight, BF_GLOBAL const float* residual,
                                    BF_GLOBAL const double* centre_in,
                                    BF_GLOBAL const float* radius_in, int n, int o, const int* p,
                                    int begin, int end, int together, bf_double_sums* total) {
  const ptrdiff_t stride = (ptrdiff_t)bf_taps(shape) * bf_out_group(shape);
  bf_double_sums sums = {0.0, 0.0};
  int chain = 0;
  for (bf_product at = bf_next_tap(shape, n, o, p, 0); at.tap < bf_taps(shape);
       at = bf_next_tap(shape, n, o, p, at.tap + 1)) {
    if (at.tap / together != chain) {
      total->centre += sums.centre;
      total->radius += sums.radius;
      sums.centre = 0.0;
      sums.radius = 0.0;
      chain = at.tap / together;
    }
    for (int i = begin; i < end; ++i) {
      const ptrdiff_t of = at.weight + i * stride;
      const ptrdiff_t in = at.input + (ptrdiff_t)i * shape->in.channel;
      const double narrow = (double)weight[of];
      const double w = residual != NULL ? narrow + (double)residual[of] : narrow;
      sums.centre += w * centre_in[in];
      sums.radius += bf_magnitude_double(narrow) * (double)radius_in[in];
    }
  }
  total->centre += sums.centre;
  total->radius += sums.radius;
}

// Adds what a convolution makes of its input; residual may be null.
BF_FUNCTION void bf_conv_centre(BF_CONSTANT const bf_conv_shape* shape,
                                BF_GLOBAL const float* weight, BF_GLOBAL const float* residual,
                                BF_GLOBAL const double* centre_in, BF_GLOBAL const float* radius_in,
                                double rounding, BF_GLOBAL double* centre_out,
                                BF_GLOBAL float* radius_out) {
  const bf_chains chains = bf_centre_chains(shape);
  const int group = bf_in_group(shape);
  BF_EACH (i, bf_outputs(shape)) {
    const bf_output to = bf_output_at(shape, i);
    bf_double_sums total = {0.0, 0.0};
    for (int first = 0; first < group; first += chains.channels)
      bf_add_centre_part(shape, weight, residual, centre_in, radius_in, to.n, to.channel, to.p,
                         first, bf_smaller(first + chains.channels, group), chains.taps, &total);
    const ptrdiff_t at = bf_element(shape->out, to.n, to.channel, to.p);
    bf_add_term(total.centre, total.radius, 2, rounding, centre_out + at, radius_out + at);
  }
}
