#pragma once

#include "bf/c/conv.h"
#include "bf/c/row_windows.h"

// Backward rows through a convolution: bf/conv/conv_taps.h, bf/conv/conv_backward.h and
// bf/conv/conv_live.h in C99. An input's coefficients are the sum over all products that read it,
// in chains that docs/proofs/backward-depths.md counts; inputs and rows go one after the other
// here.

// Products of a chain, at most: kConvChain in bf/contract/chains.h.
#define BF_CONV_CHAIN 64

// The taps of one position follow each other in steps, as do the positions that they pair it with.
typedef struct bf_tap_steps {
  int tap[3];
  int position[3];
} bf_tap_steps;

BF_FUNCTION int bf_gcd(int a, int b) {
  int x = a;
  int y = b;
  while (y != 0) {
    const int rest = x % y;
    x = y;
    y = rest;
  }
  return x;
}

// up: from the strided side, as a transposed convolution's inputs are.
BF_FUNCTION bf_tap_steps bf_tap_steps_of(BF_CONSTANT const bf_conv_shape* shape, bool up) {
  bf_tap_steps made;
  for (int d = 0; d < 3; ++d) {
    const int common = bf_gcd(shape->stride[d], shape->dilation[d]);
    made.tap[d] = up ? 1 : shape->stride[d] / common;
    made.position[d] = up ? shape->dilation[d] : -(shape->dilation[d] / common);
  }
  return made;
}

// The extent of one chain: Chain in bf/contract/chains.h.
typedef struct bf_chain {
  int loops;
  int products;
} bf_chain;

BF_FUNCTION bf_chain bf_conv_chain(BF_CONSTANT const bf_conv_shape* shape) {
  const bf_tap_steps how = bf_tap_steps_of(shape, shape->transposed);
  const int group = bf_out_group(shape);
  bf_chain made = {0, bf_smaller(group, BF_CONV_CHAIN)};
  for (int d = 2; d >= 0 && group <= BF_CONV_CHAIN; --d) {
    const int taps = bf_ceil_div(shape->kernel[d], how.tap[d]);
    if (made.products > BF_CONV_CHAIN / taps) break;
    made.products *= taps;
    ++made.loops;
  }
  return made;
}

// Taps of one position in one dimension: `first`, and count - 1 after it; `position`: what the
// first pairs it with.
typedef struct bf_tap_range {
  int first;
  int count;
  int position;
} bf_tap_range;

// The taps of position `from` in an image without borders.
BF_FUNCTION bf_tap_range bf_all_taps(BF_CONSTANT const bf_conv_shape* shape,
                                     const bf_tap_steps* how, int d, int from) {
  const bf_tap_range none = {0, 0, 0};
  bf_tap_range made = none;
  if (shape->transposed) {
    made.position = from * shape->stride[d] - shape->pad[d];
  } else {
    int rest = from + shape->pad[d];
    while (made.first < how->tap[d] && rest % shape->stride[d] != 0) {
      ++made.first;
      rest -= shape->dilation[d];
    }
    if (rest % shape->stride[d] != 0) return none;
    made.position = rest / shape->stride[d];
  }
  const int left = shape->kernel[d] - made.first;
  made.count = left <= 0 ? 0 : bf_ceil_div(left, how->tap[d]);
  return made;
}

// Leaves those of the taps that pair with a position in the window.
BF_FUNCTION bf_tap_range bf_clip_taps(const bf_tap_steps* how, const bf_window* window, int d,
                                      bf_tap_range taps) {
  const int step = how->position[d];
  const int size = step < 0 ? -step : step;
  const int last = taps.position + (taps.count - 1) * step;
  const int before =
      step < 0 ? taps.position - (window->end[d] - 1) : window->begin[d] - taps.position;
  const int after = step < 0 ? window->begin[d] - last : last - (window->end[d] - 1);
  bf_tap_range made = taps;
  if (before > 0) {
    const int cut = bf_ceil_div(before, size);
    made.first += cut * how->tap[d];
    made.position += cut * step;
    made.count -= cut;
  }
  if (after > 0) made.count -= bf_ceil_div(after, size);
  if (made.count < 0) made.count = 0;
  return made;
}

// Each group has one input channel: channels that the same taps read are groups.
BF_FUNCTION bool bf_is_depthwise(BF_CONSTANT const bf_conv_shape* shape) {
  return bf_in_group(shape) == 1 && shape->groups > 1;
}

// Rows go through this. sources, targets: lists of live outputs and inputs, or null. chain: the
// products of a chain, 0: all. loops: of taps that a chain holds.
typedef struct bf_conv_pass {
  BF_CONSTANT const bf_conv_shape* shape;
  bf_tap_steps how;
  int rows;
  bool wide;
  bool live;
  int chain;
  int loops;
  BF_GLOBAL const float* weight;
  BF_GLOBAL const float* from;
  bf_window read;
  BF_GLOBAL const int32_t* sources;
  BF_GLOBAL const int32_t* targets;
} bf_conv_pass;

// Where coefficients go: to memory, or, where `to` is null, into the sums of |A| radius.
typedef struct bf_conv_target {
  bf_image_strides at;
  bool add;
  BF_GLOBAL float* to;
  BF_GLOBAL const float* radius;
  BF_GLOBAL float* spread;
} bf_conv_target;

// Sums of so many channels that the same outputs read, and of so many rows, are made together: each
// weight and each coefficient of an output is loaded once for all of them.
#if BF_VECTOR_BYTES == 4 && BF_ITEMS == 1
#define BF_CONV_CHANNELS 1
#define BF_CONV_ROWS 1
#else
#define BF_CONV_CHANNELS 4
#define BF_CONV_ROWS 4
#endif
#define BF_CONV_SUMS (BF_CONV_CHANNELS * BF_CONV_ROWS)

// A tile of sums: so many channels of a pixel, times rows from `row` on. All but `row` is known
// where code is compiled.
typedef struct bf_conv_tile {
  bool wide;
  int channels;
  int rows;
  int row;
} bf_conv_tile;

// An input's coefficients' sums, [channel][row] of a tile: of float32 chains, or in double.
typedef struct bf_tile_sums {
  int used;
  float chain[BF_CONV_SUMS];
  float total[BF_CONV_SUMS];
  double wide[BF_CONV_SUMS];
} bf_tile_sums;

BF_INLINE void bf_end_chains(bf_conv_tile tile, bf_tile_sums* sums) {
  BF_UNROLL(BF_CONV_SUMS)
  for (int i = 0; i < tile.channels * tile.rows; ++i) {
    sums->total[i] += sums->chain[i];
    sums->chain[i] = 0.0f;
  }
  sums->used = 0;
}

// Adds the products of an output's coefficients from `a` on with the channels' weights at `place`.
BF_INLINE void bf_add_products(bf_conv_tile tile, BF_GLOBAL const float* const* weight,
                               ptrdiff_t place, BF_GLOBAL const float* a, bf_tile_sums* sums) {
  BF_UNROLL(BF_CONV_CHANNELS)
  for (int c = 0; c < tile.channels; ++c) {
    const float w = weight[c][place];
    BF_UNROLL(BF_CONV_ROWS)
    for (int r = 0; r < tile.rows; ++r) {
      const int i = c * tile.rows + r;
      if (tile.wide)
        sums->wide[i] += (double)w * (double)a[r];
      else
        sums->chain[i] += w * a[r];
    }
  }
}

// The products of one tap. place: of its weights of the first output; a: the rows' coefficients of
// the output's first channel.
BF_INLINE void bf_add_tap(const bf_conv_pass* pass, bf_conv_tile tile,
                          BF_GLOBAL const float* const* weight, ptrdiff_t place,
                          BF_GLOBAL const float* a, bf_tile_sums* sums) {
  const int readers = bf_out_group(pass->shape);
  const ptrdiff_t step = (ptrdiff_t)pass->shape->out.channel * pass->rows;
  for (int o = 0; o < readers; ++o) {
    if (!tile.wide && pass->loops == 0 && o > 0 && o % BF_CONV_CHAIN == 0)
      bf_end_chains(tile, sums);
    bf_add_products(tile, weight, place + o, a + o * step, sums);
  }
  if (!tile.wide && pass->loops == 0) bf_end_chains(tile, sums);
}

// Adds the products with the live channels of the output alone, in chains of so many.
BF_INLINE void bf_add_live_tap(const bf_conv_pass* pass, bf_conv_tile tile,
                               BF_GLOBAL const float* const* weight, ptrdiff_t place,
                               BF_GLOBAL const float* a, ptrdiff_t pixel, bf_tile_sums* sums) {
  const bf_channels channels = bf_live_at(pass->sources, pixel, bf_out_group(pass->shape));
  const ptrdiff_t step = (ptrdiff_t)pass->shape->out.channel * pass->rows;
  for (int i = 0; i < channels.count; ++i) {
    const int o = bf_channel(&channels, i);
    if (pass->chain > 0 && sums->used == pass->chain) bf_end_chains(tile, sums);
    bf_add_products(tile, weight, place + o, a + o * step, sums);
    ++sums->used;
  }
}

// The coefficients of a tile's inputs. weight: of tap 0 and the first output, by channel; a: the
// rows' of the image at position 0 of the first output; image: the batch's number.
BF_INLINE bf_tile_sums bf_conv_sums(const bf_conv_pass* pass, const bf_tap_range* range,
                                    bf_conv_tile tile, BF_GLOBAL const float* const* weight,
                                    BF_GLOBAL const float* a, int image) {
  BF_CONSTANT const bf_conv_shape* const shape = pass->shape;
  const int readers = bf_out_group(shape);
  bf_tile_sums sums = {0, {0.0f}, {0.0f}, {0.0}};
  int p[3];
  for (int z = 0; z < range[0].count; ++z) {
    p[0] = range[0].position + z * pass->how.position[0];
    for (int y = 0; y < range[1].count; ++y) {
      p[1] = range[1].position + y * pass->how.position[1];
      const int row = ((range[0].first + z * pass->how.tap[0]) * shape->kernel[1] + range[1].first +
                       y * pass->how.tap[1]) *
                      shape->kernel[2];
      for (int x = 0; x < range[2].count; ++x) {
        p[2] = range[2].position + x * pass->how.position[2];
        const int tap = row + range[2].first + x * pass->how.tap[2];
        const ptrdiff_t from = bf_element(shape->out, 0, 0, p) - (ptrdiff_t)shape->out.offset;
        const ptrdiff_t place = (ptrdiff_t)tap * readers;
        if (pass->live) {
          const ptrdiff_t pixel =
              (((ptrdiff_t)image * shape->out_size[0] + p[0]) * shape->out_size[1] + p[1]) *
                  shape->out_size[2] +
              p[2];
          bf_add_live_tap(pass, tile, weight, place, a + from * pass->rows, pixel, &sums);
        } else {
          bf_add_tap(pass, tile, weight, place, a + from * pass->rows, &sums);
        }
        if (pass->loops == 1) bf_end_chains(tile, &sums);
      }
      if (pass->loops == 2) bf_end_chains(tile, &sums);
    }
  }
  return sums;
}

// Gives sum i of a tile to row r of the element at `at`.
BF_FUNCTION void bf_give_sum(const bf_conv_pass* pass, const bf_tile_sums* sums, int i,
                             ptrdiff_t at, int r, const bf_conv_target* target) {
  const bool one_chain = pass->live ? pass->chain == 0 : pass->loops == 3;
  const float made =
      one_chain ? sums->chain[i] : sums->total[i] + (pass->live ? sums->chain[i] : 0.0f);
  if (target->to == NULL) {
    const float a = pass->wide ? (float)sums->wide[i] : made;
    target->spread[r] += bf_magnitude_float(a) * target->radius[at];
    return;
  }
  BF_GLOBAL float* const to = target->to + at * pass->rows + r;
  if (pass->wide)
    *to = (float)(target->add ? sums->wide[i] + (double)*to : sums->wide[i]);
  else
    *to = target->add ? made + *to : made;
}

// Channels of a pixel, which the same outputs read: numbers i, i + 1, .. of a list, counted from
// channel `first` of the image number `image`. range: the taps that the pixel p is paired by.
typedef struct bf_conv_inputs {
  const bf_tap_range* range;
  int image;
  int first;
  bf_channels listed;
  int i;
  const int* p;
} bf_conv_inputs;

// A tile of the inputs' sums.
BF_INLINE void bf_sum_tile(const bf_conv_pass* pass, const bf_conv_inputs* of, bf_conv_tile tile,
                           const bf_conv_target* target) {
  const int origin[3] = {0, 0, 0};
  BF_CONSTANT const bf_conv_shape* const shape = pass->shape;
  const int readers = bf_out_group(shape);
  const int group = (of->first + bf_channel(&of->listed, of->i)) / bf_in_group(shape);
  BF_GLOBAL const float* const a =
      pass->from + bf_element(shape->out, of->image, group * readers, origin) * pass->rows;
  BF_GLOBAL const float* weight[BF_CONV_CHANNELS];
  BF_UNROLL(BF_CONV_CHANNELS)
  for (int c = 0; c < tile.channels; ++c) {
    const int channel = of->first + bf_channel(&of->listed, of->i + c);
    weight[c] = pass->weight + (ptrdiff_t)channel * bf_taps(shape) * readers;
  }
  const bf_tile_sums sums = bf_conv_sums(pass, of->range, tile, weight, a + tile.row, of->image);
  BF_UNROLL(BF_CONV_CHANNELS)
  for (int c = 0; c < tile.channels; ++c) {
    const int channel = of->first + bf_channel(&of->listed, of->i + c);
    const ptrdiff_t at = bf_element(target->at, of->image, channel, of->p);
    BF_UNROLL(BF_CONV_ROWS)
    for (int r = 0; r < tile.rows; ++r)
      bf_give_sum(pass, &sums, c * tile.rows + r, at, tile.row + r, target);
  }
}

// Rows begin .. end - 1 of the inputs' next `channels` channels.
BF_INLINE void bf_conv_rows(const bf_conv_pass* pass, const bf_conv_inputs* of, bool wide,
                            int channels, int begin, int end, const bf_conv_target* target) {
  int r = begin;
  for (; r + BF_CONV_ROWS <= end; r += BF_CONV_ROWS) {
    const bf_conv_tile tile = {wide, channels, BF_CONV_ROWS, r};
    bf_sum_tile(pass, of, tile, target);
  }
  for (; r < end; ++r) {
    const bf_conv_tile tile = {wide, channels, 1, r};
    bf_sum_tile(pass, of, tile, target);
  }
}

BF_KERNEL bf_conv_channels(const bf_conv_pass* pass, const bf_conv_inputs* of, int begin, int end,
                           const bf_conv_target* target) {
  if (pass->wide)
    bf_conv_rows(pass, of, true, BF_CONV_CHANNELS, begin, end, target);
  else
    bf_conv_rows(pass, of, false, BF_CONV_CHANNELS, begin, end, target);
}

BF_KERNEL bf_conv_channel(const bf_conv_pass* pass, const bf_conv_inputs* of, int begin, int end,
                          const bf_conv_target* target) {
  if (pass->wide)
    bf_conv_rows(pass, of, true, 1, begin, end, target);
  else
    bf_conv_rows(pass, of, false, 1, begin, end, target);
}

// Rows begin .. end - 1 of the channels of a pixel, from `first` on, by the taps in the ranges.
BF_FUNCTION void bf_conv_pixel(const bf_conv_pass* pass, const bf_tap_range* range, int n,
                               int first, int channels, const int* p, int begin, int end,
                               const bf_conv_target* target) {
  BF_CONSTANT const bf_conv_shape* const shape = pass->shape;
  const ptrdiff_t pixel =
      (((ptrdiff_t)n * shape->in_size[0] + p[0]) * shape->in_size[1] + p[1]) * shape->in_size[2] +
      p[2];
  bf_conv_inputs of = {range, n, first, bf_live_at(pass->targets, pixel, channels), 0, p};
  // Each channel of a depthwise convolution has outputs of its own.
  const int together = bf_is_depthwise(shape) ? 1 : BF_CONV_CHANNELS;
  while (of.listed.count - of.i >= together && together > 1) {
    bf_conv_channels(pass, &of, begin, end, target);
    of.i += together;
  }
  for (; of.i < of.listed.count; ++of.i) bf_conv_channel(pass, &of, begin, end, target);
}

// The channels of an input that the same outputs read.
BF_FUNCTION int bf_channels_together(BF_CONSTANT const bf_conv_shape* shape) {
  return bf_is_depthwise(shape) ? shape->groups : bf_in_group(shape);
}

// A row of pixels of the channels from `first` on, those a stride apart after one another: spreads
// are summed in this order. p: its z and y.
BF_FUNCTION void bf_conv_line(const bf_conv_pass* pass, bf_tap_range* range, int n, int first,
                              int* p, const bf_window* to, int begin, int end,
                              const bf_conv_target* target) {
  BF_CONSTANT const bf_conv_shape* const shape = pass->shape;
  const int step = shape->transposed ? 1 : shape->stride[2];
  for (int lane = 0; lane < step; ++lane)
    for (p[2] = to->begin[2] + (lane - to->begin[2] % step + step) % step; p[2] < to->end[2];
         p[2] += step) {
      range[2] = bf_clip_taps(&pass->how, &pass->read, 2, bf_all_taps(shape, &pass->how, 2, p[2]));
      bf_conv_pixel(pass, range, n, first, bf_channels_together(shape), p, begin, end, target);
    }
}

// Rows begin .. end - 1 of W^T times the rows, for the inputs in the window `to`.
BF_FUNCTION void bf_gather_rows(const bf_conv_pass* pass, bf_window to, int begin, int end,
                                const bf_conv_target* target) {
  BF_CONSTANT const bf_conv_shape* const shape = pass->shape;
  bf_tap_range range[3];
  int p[3];
  for (int n = 0; n < shape->batch; ++n)
    for (p[0] = to.begin[0]; p[0] < to.end[0]; ++p[0])
      for (p[1] = to.begin[1]; p[1] < to.end[1]; ++p[1]) {
        for (int d = 0; d < 2; ++d)
          range[d] =
              bf_clip_taps(&pass->how, &pass->read, d, bf_all_taps(shape, &pass->how, d, p[d]));
        for (int first = 0; first < shape->in_channels; first += bf_channels_together(shape))
          bf_conv_line(pass, range, n, first, p, &to, begin, end, target);
      }
}

#if BF_ITEMS > 1

// Rows of all channels of pixel number `pixel` of the window, as the items of a group take them.
BF_FUNCTION void bf_gather_pixel(const bf_conv_pass* pass, const bf_window* to, ptrdiff_t pixel,
                                 int begin, int end, const bf_conv_target* target) {
  BF_CONSTANT const bf_conv_shape* const shape = pass->shape;
  bf_tap_range range[3];
  int p[3];
  ptrdiff_t left = pixel;
  for (int d = 2; d >= 0; --d) {
    const int size = to->end[d] - to->begin[d];
    p[d] = to->begin[d] + (int)(left % size);
    left /= size;
    range[d] = bf_clip_taps(&pass->how, &pass->read, d, bf_all_taps(shape, &pass->how, d, p[d]));
  }
  for (int first = 0; first < shape->in_channels; first += bf_channels_together(shape))
    bf_conv_pixel(pass, range, (int)left, first, bf_channels_together(shape), p, begin, end,
                  target);
}

#endif

// W^T times the rows, for the inputs in the window `to`. Coefficients that are stored are dealt out
// by pixels and rows where several items share them; spreads, whose order counts, by rows.
BF_FUNCTION void bf_conv_gather(const bf_conv_pass* pass, bf_window to,
                                const bf_conv_target* target) {
#if BF_ITEMS > 1
  if (target->to != NULL) {
    ptrdiff_t pixels = pass->shape->batch;
    for (int d = 0; d < 3; ++d) pixels *= to.end[d] > to.begin[d] ? to.end[d] - to.begin[d] : 0;
    const int tiles = bf_ceil_div(pass->rows, BF_CONV_ROWS);
    BF_EACH_OF(ptrdiff_t, i, pixels * tiles) {
      const int begin = (int)(i % tiles) * BF_CONV_ROWS;
      bf_gather_pixel(pass, &to, i / tiles, begin, bf_smaller(begin + BF_CONV_ROWS, pass->rows),
                      target);
    }
  } else {
    BF_EACH (r, pass->rows) bf_gather_rows(pass, to, r, r + 1, target);
  }
#else
  bf_gather_rows(pass, to, 0, pass->rows, target);
#endif
}

BF_FUNCTION bf_conv_pass bf_dense_pass(int rows, bool wide, BF_CONSTANT const bf_conv_shape* shape,
                                       BF_GLOBAL const float* weight, BF_GLOBAL const float* from,
                                       bf_window read) {
  bf_conv_pass made;
  made.shape = shape;
  made.how = bf_tap_steps_of(shape, shape->transposed);
  made.rows = rows;
  made.wide = wide;
  made.live = false;
  made.chain = 0;
  made.loops = wide ? 3 : bf_conv_chain(shape).loops;
  made.weight = weight;
  made.from = from;
  made.read = read;
  made.sources = NULL;
  made.targets = NULL;
  return made;
}

// The pass through lists; where no list pays, it is the one without.
BF_FUNCTION bf_conv_pass bf_live_pass(int rows, bool wide, BF_CONSTANT const bf_conv_shape* shape,
                                      BF_GLOBAL const float* weight, BF_GLOBAL const float* from,
                                      BF_GLOBAL const int32_t* sources, bf_window read,
                                      BF_GLOBAL const int32_t* targets) {
  bf_conv_pass made = bf_dense_pass(rows, wide, shape, weight, from, read);
  const bool takes_all = targets == NULL && shape->in_channels < (BF_VECTOR_BYTES == 4 ? 1 : 8);
  const bool all = (sources == NULL || sources[0] == BF_ALL_LIVE) &&
                   (targets == NULL || targets[0] == BF_ALL_LIVE);
  if (takes_all ? bf_many(sources) : all) return made;
  const int most = bf_conv_chain(shape).products;
  made.live = true;
  made.chain = wide || bf_taps(shape) * bf_out_group(shape) <= most ? 0 : most;
  made.loops = 3;
  made.sources = sources;
  made.targets = targets;
  return made;
}

BF_FUNCTION bf_conv_target bf_stored(BF_CONSTANT const bf_conv_shape* shape, bool add,
                                     BF_GLOBAL float* to) {
  bf_conv_target made;
  made.at = shape->in;
  made.add = add;
  made.to = to;
  made.radius = NULL;
  made.spread = NULL;
  return made;
}

BF_FUNCTION bf_conv_target bf_spread(int rows, bf_image_strides at, BF_GLOBAL const float* radius,
                                     BF_GLOBAL float* spread) {
  bf_conv_target made;
  made.at = at;
  made.add = false;
  made.to = NULL;
  made.radius = radius;
  made.spread = spread;
  bf_clear_rows(rows, 1, spread);
  return made;
}

// to (=, or += when `add`) W^T from, for the inputs in the window `read`. What is outside of the
// window `made` of outputs counts as zero.
BF_FUNCTION void bf_conv_backward(int rows, bool wide, BF_CONSTANT const bf_conv_shape* shape,
                                  BF_GLOBAL const float* weight, BF_GLOBAL const float* from,
                                  bf_window made, bool add, BF_GLOBAL float* to, bf_window read) {
  const bf_conv_pass pass = bf_dense_pass(rows, wide, shape, weight, from, made);
  const bf_conv_target target = bf_stored(shape, add, to);
  bf_conv_gather(&pass, read, &target);
}

// spread_r = sum_k |(W^T from)_kr| radius_k over the inputs in the window `read`, whose radii are
// at the places `at`.
BF_FUNCTION void bf_conv_spread(int rows, bool wide, BF_CONSTANT const bf_conv_shape* shape,
                                BF_GLOBAL const float* weight, BF_GLOBAL const float* from,
                                bf_window made, bf_image_strides at, BF_GLOBAL const float* radius,
                                BF_GLOBAL float* spread, bf_window read) {
  const bf_conv_pass pass = bf_dense_pass(rows, wide, shape, weight, from, made);
  const bf_conv_target target = bf_spread(rows, at, radius, spread);
  bf_conv_gather(&pass, read, &target);
}

// Goes through lists of live outputs and inputs, each of which may be null.
BF_FUNCTION void bf_conv_backward_live(int rows, bool wide, BF_CONSTANT const bf_conv_shape* shape,
                                       BF_GLOBAL const float* weight, BF_GLOBAL const float* from,
                                       BF_GLOBAL const int32_t* sources, bf_window made, bool add,
                                       BF_GLOBAL float* to, BF_GLOBAL const int32_t* targets,
                                       bf_window read) {
  const bf_conv_pass pass = bf_live_pass(rows, wide, shape, weight, from, sources, made, targets);
  const bf_conv_target target = bf_stored(shape, add, to);
  bf_conv_gather(&pass, read, &target);
}

BF_FUNCTION void bf_conv_spread_live(int rows, bool wide, BF_CONSTANT const bf_conv_shape* shape,
                                     BF_GLOBAL const float* weight, BF_GLOBAL const float* from,
                                     BF_GLOBAL const int32_t* sources, bf_window made,
                                     bf_image_strides at, BF_GLOBAL const float* radius,
                                     BF_GLOBAL float* spread, bf_window read) {
  const bf_conv_pass pass = bf_live_pass(rows, wide, shape, weight, from, sources, made, NULL);
  const bf_conv_target target = bf_spread(rows, at, radius, spread);
  bf_conv_gather(&pass, read, &target);
}
