#pragma once

#include "bf/c/backward.h"
#include "bf/c/functions.h"

// Windows of images, and lists of live pixels: bf/sums/row_windows.h, bf/sums/live.h and
// bf/conv/starts.h in C99. Proofs: docs/proofs/windows.md and docs/proofs/live-pixels.md.

// A tensor as an image, in the order of Image.
typedef struct bf_image {
  int batch;
  int channels;
  int size[3];
  bf_image_strides at;
} bf_image;

// Positions begin <= p < end of an image, in each dimension.
typedef struct bf_window {
  int begin[3];
  int end[3];
} bf_window;

BF_FUNCTION bf_image_strides bf_by_pixels(bf_image image) {
  const int* const size = image.size;
  const int channels = image.channels;
  const bf_image_strides made = {0,
                                 channels * size[0] * size[1] * size[2],
                                 1,
                                 {channels * size[1] * size[2], channels * size[2], channels}};
  return made;
}

BF_FUNCTION bf_image bf_image_made(BF_CONSTANT const bf_conv_shape* shape) {
  bf_image made;
  made.batch = shape->batch;
  made.channels = shape->out_channels;
  for (int d = 0; d < 3; ++d) made.size[d] = shape->out_size[d];
  made.at = shape->out;
  return made;
}

BF_FUNCTION bf_window bf_whole(BF_CONSTANT const int* size) {
  const bf_window made = {{0, 0, 0}, {size[0], size[1], size[2]}};
  return made;
}

BF_FUNCTION bf_window bf_all_of(const bf_image* image) {
  const bf_window made = {{0, 0, 0}, {image->size[0], image->size[1], image->size[2]}};
  return made;
}

// The smallest window that holds both.
BF_FUNCTION bf_window bf_unite(bf_window a, bf_window b) {
  bf_window made = a;
  for (int d = 0; d < 3; ++d) {
    made.begin[d] = bf_smaller(a.begin[d], b.begin[d]);
    made.end[d] = b.end[d] > a.end[d] ? b.end[d] : a.end[d];
  }
  return made;
}

// The smallest window of a convolution's inputs that holds all that a window of outputs reads; not
// empty, even where that is nothing.
BF_FUNCTION bf_window bf_read_window(BF_CONSTANT const bf_conv_shape* shape, bf_window out) {
  bf_window in;
  for (int d = 0; d < 3; ++d) {
    const int reach = (shape->kernel[d] - 1) * shape->dilation[d];
    int begin = out.begin[d] * shape->stride[d] - shape->pad[d];
    int end = (out.end[d] - 1) * shape->stride[d] - shape->pad[d] + reach + 1;
    if (shape->transposed) {
      begin = bf_ceil_div(out.begin[d] + shape->pad[d] - reach, shape->stride[d]);
      end = bf_ceil_div(out.end[d] + shape->pad[d], shape->stride[d]);
    }
    const int last = shape->in_size[d] - 1;
    in.begin[d] = begin < 0 ? 0 : bf_smaller(begin, last);
    in.end[d] = end > last + 1 ? last + 1 : end;
    if (end <= last + 1 && end <= in.begin[d]) in.end[d] = in.begin[d] + 1;
  }
  return in;
}

// One dimension of an image as its places have it; last: where its coordinates fall as places rise,
// else -1.
typedef struct bf_dimension {
  int coordinate;
  int stride;
  int last;
} bf_dimension;

// Finds positions of elements by their places: the largest stride that is left tells its
// coordinate.
typedef struct bf_locator {
  int first;
  int count;
  bf_dimension dimensions[5];
} bf_locator;

BF_FUNCTION bf_locator bf_locator_of(const bf_image* image) {
  const bf_image_strides* const at = &image->at;
  const int sizes[5] = {image->batch, image->channels, image->size[0], image->size[1],
                        image->size[2]};
  const int strides[5] = {at->batch, at->channel, at->spatial[0], at->spatial[1], at->spatial[2]};
  bf_locator made;
  made.first = at->offset;
  made.count = 0;
  for (int d = 0; d < 5; ++d) {
    if (sizes[d] == 1) continue;
    const bool falls = strides[d] < 0;
    const bf_dimension own = {d, falls ? -strides[d] : strides[d], falls ? sizes[d] - 1 : -1};
    if (falls) made.first += strides[d] * (sizes[d] - 1);
    int i = made.count;
    ++made.count;
    for (; i > 0 && made.dimensions[i - 1].stride < own.stride; --i)
      made.dimensions[i] = made.dimensions[i - 1];
    made.dimensions[i] = own;
  }
  return made;
}

// position: batch, channel, z, y, x.
BF_FUNCTION void bf_locate(const bf_locator* locator, int place, int* position) {
  int left = place - locator->first;
  for (int d = 0; d < 5; ++d) position[d] = 0;
  for (int i = 0; i < locator->count; ++i) {
    const bf_dimension* const own = &locator->dimensions[i];
    const int steps = left / own->stride;
    left -= steps * own->stride;
    position[own->coordinate] = own->last < 0 ? steps : own->last - steps;
  }
}

// The smallest window that holds `count` >= 1 neurons.
BF_FUNCTION bf_window bf_window_of(bf_image image, BF_GLOBAL const int32_t* neurons, int count) {
  const bf_locator places = bf_locator_of(&image);
  bf_window window = {{0, 0, 0}, {0, 0, 0}};
  for (int r = 0; r < count; ++r) {
    int at[5];
    bf_locate(&places, (int)neurons[r], at);
    const bf_window own = {{at[2], at[3], at[4]}, {at[2] + 1, at[3] + 1, at[4] + 1}};
    window = r == 0 ? own : bf_unite(window, own);
  }
  return window;
}

// The number of the pixel (n, z, y, x) among all of an image; its coefficients lie so many channels
// behind the first.
BF_FUNCTION ptrdiff_t bf_pixel_of(const bf_image* image, int n, const int* p) {
  return (((ptrdiff_t)n * image->size[0] + p[0]) * image->size[1] + p[1]) * image->size[2] + p[2];
}

// The place of the first channel of a pixel of that number.
BF_FUNCTION ptrdiff_t bf_first_of_pixel(const bf_image* image, int pixel) {
  int p[3];
  int left = pixel;
  for (int d = 2; d >= 0; --d) {
    p[d] = left % image->size[d];
    left /= image->size[d];
  }
  return bf_element(image->at, left, 0, p);
}

// A walk through the pixels of a window: `while (bf_next_pixel(&walk))`. Places: of the first
// element, and the pixel's number.
typedef struct bf_pixel_walk {
  const bf_image* image;
  bf_window window;
  int n;
  int p[3];
  bool begun;
  ptrdiff_t element;
  ptrdiff_t pixel;
} bf_pixel_walk;

BF_FUNCTION bf_pixel_walk bf_walk_of(const bf_image* image, bf_window window) {
  bf_pixel_walk made;
  made.image = image;
  made.window = window;
  made.n = 0;
  for (int d = 0; d < 3; ++d) made.p[d] = window.begin[d];
  made.begun = false;
  made.element = 0;
  made.pixel = 0;
  return made;
}

// Moves to the next pixel, the last dimension the fastest; false behind the last one.
BF_FUNCTION bool bf_next_pixel(bf_pixel_walk* walk) {
  const bf_window* const window = &walk->window;
  for (int d = 2; walk->begun && d >= 0; --d) {
    ++walk->p[d];
    if (walk->p[d] < window->end[d]) break;
    walk->p[d] = window->begin[d];
    if (d == 0) ++walk->n;
  }
  walk->begun = true;
  if (walk->n >= walk->image->batch) return false;
  for (int d = 0; d < 3; ++d)
    if (window->begin[d] >= window->end[d]) return false;
  walk->element = bf_element(walk->image->at, walk->n, 0, walk->p);
  walk->pixel = bf_pixel_of(walk->image, walk->n, walk->p);
  return true;
}

// Which neurons of an image are listed: all, or those whose relaxation is not exact.
typedef struct bf_listed_neurons {
  BF_CONSTANT const bf_function* function;
  BF_GLOBAL const double* centre;
  BF_GLOBAL const float* below;
  BF_GLOBAL const float* above;
} bf_listed_neurons;

BF_FUNCTION bool bf_is_listed(const bf_listed_neurons* listed, int j) {
  if (listed->centre == NULL) return true;
  return listed->function == NULL
             ? bf_is_unstable(listed->centre, listed->below, listed->above, j)
             : bf_is_inexact(listed->function, listed->centre, listed->below, listed->above, j);
}

// The side of the squares of pixels in which neurons are listed.
#define BF_SQUARE 4

// The neurons of a pixel that are listed, channel by channel. neurons: null to count alone.
BF_FUNCTION int bf_list_channels(const bf_image* image, ptrdiff_t first,
                                 const bf_listed_neurons* listed, int count,
                                 BF_GLOBAL int32_t* neurons) {
  int made = count;
  for (int c = 0; c < image->channels; ++c) {
    const int j = (int)first + c * image->at.channel;
    if (!bf_is_listed(listed, j)) continue;
    if (neurons != NULL) neurons[made] = (int32_t)j;
    ++made;
  }
  return made;
}

// Squares begin .. end - 1 of an image. neurons: null to count alone.
BF_FUNCTION int bf_list_some_squares(const bf_image* image, const bf_listed_neurons* listed,
                                     int begin, int end, int before, BF_GLOBAL int32_t* neurons) {
  const int across = bf_ceil_div(image->size[2], BF_SQUARE);
  const int down = bf_ceil_div(image->size[1], BF_SQUARE);
  int count = before;
  int p[3];
  for (int i = begin; i < end; ++i) {
    const int left = i % across * BF_SQUARE;
    const int top = i / across % down * BF_SQUARE;
    const int n = i / across / down / image->size[0];
    p[0] = i / across / down % image->size[0];
    for (p[1] = top; p[1] < bf_smaller(top + BF_SQUARE, image->size[1]); ++p[1])
      for (p[2] = left; p[2] < bf_smaller(left + BF_SQUARE, image->size[2]); ++p[2])
        count = bf_list_channels(image, bf_element(image->at, n, 0, p), listed, count, neurons);
  }
  return count;
}

BF_FUNCTION int bf_list_squares(const bf_image* image, const bf_listed_neurons* listed,
                                BF_GLOBAL int32_t* neurons BF_TEAM) {
  const int squares = image->batch * image->size[0] * bf_ceil_div(image->size[1], BF_SQUARE) *
                      bf_ceil_div(image->size[2], BF_SQUARE);
#if BF_ITEMS > 1
  const int begin = bf_first_unit(BF_ITEM, squares);
  const int end = bf_first_unit(BF_ITEM + 1, squares);
  const int own = bf_list_some_squares(image, listed, begin, end, 0, NULL);
  const bf_counts counts = bf_count_together(own, team);
  (void)bf_list_some_squares(image, listed, begin, end, counts.before, neurons);
  return counts.all;
#else
  return bf_list_some_squares(image, listed, 0, squares, 0, neurons);
#endif
}

// Lists neurons so that neighbours in the list are neighbours in the image; returns their number.
BF_FUNCTION int bf_list_image_all(bf_image image, BF_GLOBAL int32_t* neurons BF_TEAM) {
  const bf_listed_neurons listed = {NULL, NULL, NULL, NULL};
  return bf_list_squares(&image, &listed, neurons BF_OF_TEAM);
}

BF_FUNCTION int bf_list_image_unstable(bf_image image, BF_GLOBAL const double* centre,
                                       BF_GLOBAL const float* below, BF_GLOBAL const float* above,
                                       BF_GLOBAL int32_t* neurons BF_TEAM) {
  const bf_listed_neurons listed = {NULL, centre, below, above};
  return bf_list_squares(&image, &listed, neurons BF_OF_TEAM);
}

BF_FUNCTION int bf_list_image_inexact(bf_image image, BF_CONSTANT const bf_function* f,
                                      BF_GLOBAL const double* centre, BF_GLOBAL const float* below,
                                      BF_GLOBAL const float* above,
                                      BF_GLOBAL int32_t* neurons BF_TEAM) {
  const bf_listed_neurons listed = {f, centre, below, above};
  return bf_list_squares(&image, &listed, neurons BF_OF_TEAM);
}

// Live channels: at most half, more than half, or all, which stands for more than 7 of 8.
enum { BF_FEW_LIVE, BF_MANY_LIVE, BF_ALL_LIVE };

BF_FUNCTION bool bf_many(BF_GLOBAL const int32_t* live) {
  return live == NULL || live[0] >= BF_MANY_LIVE;
}

// Channels in a list, or `first` and those behind it where `channel` is null.
typedef struct bf_channels {
  BF_GLOBAL const int32_t* channel;
  int count;
} bf_channels;

BF_FUNCTION int bf_channel(const bf_channels* channels, int i) {
  return channels->channel == NULL ? i : (int)channels->channel[i];
}

// The live channels of a pixel; live: null where all are.
BF_FUNCTION bf_channels bf_live_at(BF_GLOBAL const int32_t* live, ptrdiff_t pixel, int channels) {
  bf_channels made = {NULL, channels};
  if (live == NULL) return made;
  BF_GLOBAL const int32_t* const own = live + 1 + pixel * (1 + channels);
  made.channel = own + 1;
  made.count = (int)own[0];
  return made;
}

BF_FUNCTION bf_channels bf_dead_at(BF_GLOBAL const int32_t* live, ptrdiff_t pixel, int channels) {
  bf_channels made = {NULL, 0};
  if (live == NULL) return made;
  BF_GLOBAL const int32_t* const own = live + 1 + pixel * (1 + channels);
  made.channel = own + 1 + own[0];
  made.count = channels - (int)own[0];
  return made;
}

// Writes the density of a list of n neurons; where nearly all are live, lists all.
BF_FUNCTION void bf_finish_list(const bf_image* image, int n, int live, BF_GLOBAL int32_t* list) {
  const int density = live > n - n / 8 ? BF_ALL_LIVE : live > n / 2 ? BF_MANY_LIVE : BF_FEW_LIVE;
  BF_ONCE list[0] = (int32_t)density;
  if (density != BF_ALL_LIVE) return;
  BF_EACH (pixel, n / image->channels) {
    BF_GLOBAL int32_t* const own = list + 1 + (ptrdiff_t)pixel * (1 + image->channels);
    own[0] = (int32_t)image->channels;
    for (int c = 0; c < image->channels; ++c) own[1 + c] = (int32_t)c;
  }
}

// The list of a layer of n neurons; radius: of its activations. A pixel's numbers are its live
// channels, in order, and from the end the dead ones.
BF_FUNCTION void bf_list_live_pixels(bf_image image, int n, BF_GLOBAL const float* radius,
                                     BF_GLOBAL int32_t* list BF_TEAM) {
  int live = 0;
  BF_EACH (pixel, n / image.channels) {
    BF_GLOBAL int32_t* const own = list + 1 + (ptrdiff_t)pixel * (1 + image.channels);
    const ptrdiff_t element = bf_first_of_pixel(&image, pixel);
    int count = 0;
    for (int c = 0; c < image.channels; ++c) {
      const float r = radius[element + (ptrdiff_t)c * image.at.channel];
      const bool dead = bf_is_zero_float(r);
      own[dead ? image.channels - (c - count) : 1 + count] = (int32_t)c;
      count += dead ? 0 : 1;
    }
    own[0] = (int32_t)count;
    live += count;
  }
#if BF_ITEMS > 1
  live = bf_count_together(live, team).all;
#endif
  bf_finish_list(&image, n, live, list);
}

// Adds a channel to a pixel's list of live ones, in order; false where it is there.
BF_FUNCTION bool bf_add_channel(BF_GLOBAL int32_t* own, int32_t channel) {
  int place = (int)own[0];
  while (place > 0 && own[place] >= channel) --place;
  if (place < (int)own[0] && own[place + 1] == channel) return false;
  for (int k = (int)own[0]; k > place; --k) own[k + 1] = own[k];
  own[place + 1] = channel;
  ++own[0];
  return true;
}

// Lists the channels behind a pixel's live ones that these leave out.
BF_FUNCTION void bf_add_dead(int channels, BF_GLOBAL int32_t* own) {
  BF_GLOBAL int32_t* dead = own + 1 + own[0];
  int32_t next = 0;
  for (int k = 1; k <= (int)own[0] + 1; ++k) {
    const int32_t end = k <= (int)own[0] ? own[k] : (int32_t)channels;
    for (; next < end; ++next) {
      *dead = next;
      ++dead;
    }
    next = end + 1;
  }
}

// The list of a layer that `count` maxima alone read: of its neurons those that they chose.
BF_FUNCTION void bf_list_chosen(bf_image image, int n, BF_GLOBAL const float* radius, int count,
                                BF_GLOBAL const int32_t* choice, BF_GLOBAL int32_t* list) {
  const ptrdiff_t step = 1 + image.channels;
  const ptrdiff_t pixels = n / image.channels;
  const bf_locator places = bf_locator_of(&image);
  int live = 0;
  for (ptrdiff_t pixel = 0; pixel < pixels; ++pixel) list[1 + pixel * step] = 0;
  for (int i = 0; i < count; ++i) {
    if (bf_is_zero_float(radius[choice[i]])) continue;
    int at[5];
    bf_locate(&places, (int)choice[i], at);
    if (bf_add_channel(list + 1 + bf_pixel_of(&image, at[0], at + 2) * step, (int32_t)at[1]))
      ++live;
  }
  for (ptrdiff_t pixel = 0; pixel < pixels; ++pixel)
    bf_add_dead(image.channels, list + 1 + pixel * step);
  bf_finish_list(&image, n, live, list);
}

// Clears live channels; rows_at: the order of the coefficients.
BF_FUNCTION void bf_clear_live(int rows, bf_image image, bf_image_strides rows_at, bf_window window,
                               BF_GLOBAL const int32_t* live, BF_GLOBAL float* coefficients) {
  bf_pixel_walk walk = bf_walk_of(&image, window);
  while (bf_next_pixel(&walk)) {
    const bf_channels channels = bf_live_at(live, walk.pixel, image.channels);
    for (int i = 0; i < channels.count; ++i)
      bf_clear_rows(
          rows, 1,
          coefficients + bf_element(rows_at, walk.n, bf_channel(&channels, i), walk.p) * rows);
  }
}

BF_FUNCTION void bf_clear_window(int rows, bf_image image, bf_window window,
                                 BF_GLOBAL float* coefficients) {
  bf_clear_live(rows, image, bf_by_pixels(image), window, NULL, coefficients);
}

// to += from of live channels, `from` pixel by pixel, `to` in the order rows_at.
BF_FUNCTION void bf_add_live(int rows, bf_image image, bf_image_strides rows_at, bf_window window,
                             BF_GLOBAL const int32_t* live, BF_GLOBAL const float* from,
                             BF_GLOBAL float* to) {
  bf_pixel_walk walk = bf_walk_of(&image, window);
  while (bf_next_pixel(&walk)) {
    const bf_channels channels = bf_live_at(live, walk.pixel, image.channels);
    for (int i = 0; i < channels.count; ++i) {
      const int c = bf_channel(&channels, i);
      bf_add_rows(rows, 1, from + (walk.pixel * image.channels + c) * rows,
                  to + bf_element(rows_at, walk.n, c, walk.p) * rows);
    }
  }
}

BF_FUNCTION void bf_add_window(int rows, bf_image image, bf_window window,
                               BF_GLOBAL const float* from, BF_GLOBAL float* to) {
  bf_add_live(rows, image, bf_by_pixels(image), window, NULL, from, to);
}

// bf_add_window() where `to` is in the order of the tensor's elements.
BF_FUNCTION void bf_spread_window(int rows, bf_image image, bf_window window,
                                  BF_GLOBAL const float* from, BF_GLOBAL float* to) {
  bf_add_live(rows, image, image.at, window, NULL, from, to);
}

// The first coefficients of rows +z_i and -z_i of rows / 2 neurons, through the identity.
BF_FUNCTION void bf_identity_start(int rows, bf_image image, BF_GLOBAL const int32_t* neurons,
                                   BF_GLOBAL float* coefficients) {
  const bf_locator places = bf_locator_of(&image);
  BF_EACH (r, rows / 2) {
    int at[5];
    bf_locate(&places, (int)neurons[r], at);
    bf_add_start(rows, bf_pixel_of(&image, at[0], at + 2) * image.channels + at[1], r, 1.0f,
                 coefficients);
  }
}

// The first coefficients through a convolution.
BF_FUNCTION void bf_conv_start(int rows, BF_CONSTANT const bf_conv_shape* shape,
                               BF_GLOBAL const float* weight, BF_GLOBAL const int32_t* neurons,
                               bool add, BF_GLOBAL float* coefficients) {
  bf_begin_rows(add, rows, bf_elements(shape->batch, shape->in_channels, shape->in_size),
                coefficients);
  const bf_image made = bf_image_made(shape);
  const bf_locator places = bf_locator_of(&made);
  const int group = bf_in_group(shape);
  const int plane = shape->kernel[1] * shape->kernel[2];
  BF_EACH (r, rows / 2) {
    int at[5];
    int q[3];
    bf_locate(&places, (int)neurons[r], at);
    const int o = at[1];
    for (int i = 0; i < group; ++i)
      for (int t = 0; t < bf_taps(shape); ++t) {
        q[0] = bf_read_by(shape, 0, at[2], t / plane);
        q[1] = bf_read_by(shape, 1, at[3], t % plane / shape->kernel[2]);
        q[2] = bf_read_by(shape, 2, at[4], t % shape->kernel[2]);
        if (q[0] < 0 || q[1] < 0 || q[2] < 0) continue;
        const int channel = o / bf_out_group(shape) * group + i;
        bf_add_start(rows, bf_element(shape->in, at[0], channel, q), r,
                     weight[bf_weight_place(shape, o, i, t)], coefficients);
      }
  }
}

// bf_relax_rows() on the live channels of a window of a layer of n neurons. rows_at: where
// coefficients are. zeros: those of dead channels become 0.
BF_FUNCTION void bf_relax_pixels(int rows, bf_image image, bf_image_strides rows_at,
                                 bf_window window, int n, BF_GLOBAL const float* table,
                                 BF_GLOBAL const float* offsets, BF_GLOBAL const int32_t* live,
                                 bool zeros, BF_GLOBAL const float* from, BF_GLOBAL float* to,
                                 BF_GLOBAL float* sums) {
  BF_EACH (r, rows) {
    bf_line_sum sum = bf_no_line_sum();
    bf_pixel_walk walk = bf_walk_of(&image, window);
    while (bf_next_pixel(&walk)) {
      const bf_channels channels = bf_live_at(live, walk.pixel, image.channels);
      for (int i = 0; i < channels.count; ++i) {
        const int c = bf_channel(&channels, i);
        const ptrdiff_t j = walk.element + (ptrdiff_t)c * image.at.channel;
        const ptrdiff_t at = bf_element(rows_at, walk.n, c, walk.p) * rows + r;
        to[at] = bf_relax_coefficient(from[at], table + j, offsets + j, n, &sum);
      }
      const bf_channels dead = bf_dead_at(zeros ? live : NULL, walk.pixel, image.channels);
      for (int i = 0; i < dead.count; ++i)
        to[bf_element(rows_at, walk.n, bf_channel(&dead, i), walk.p) * rows + r] = 0.0f;
    }
    bf_store_line_sum(&sum, sums + r);
  }
}

// Relaxes all channels, pixel by pixel.
BF_FUNCTION void bf_relax_window(int rows, bf_image image, bf_window window, int n,
                                 BF_GLOBAL const float* table, BF_GLOBAL const float* offsets,
                                 BF_GLOBAL const float* from, BF_GLOBAL float* to,
                                 BF_GLOBAL float* sums) {
  bf_relax_pixels(rows, image, bf_by_pixels(image), window, n, table, offsets, NULL, false, from,
                  to, sums);
}

// spread_r = the sum of |A_kr| radius_k over the window.
BF_FUNCTION void bf_concretize_window(int rows, bf_image image, bf_window window,
                                      BF_GLOBAL const float* coefficients,
                                      BF_GLOBAL const float* radius, BF_GLOBAL float* spread) {
  bf_clear_rows(rows, 1, spread);
  bf_pixel_walk walk = bf_walk_of(&image, window);
  while (bf_next_pixel(&walk))
    for (int c = 0; c < image.channels; ++c)
      BF_EACH (r, rows) {
        const float a = coefficients[(walk.pixel * image.channels + c) * rows + r];
        spread[r] += (a < 0.0f ? -a : a) * radius[walk.element + (ptrdiff_t)c * image.at.channel];
      }
}
