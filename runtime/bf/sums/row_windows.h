#pragma once

#include "bf/contract/integers.h"
#include "bf/core/bounds.h"
#include "bf/sums/backward.h"
#include "bf/sums/terms.h"

// Backward rows of neurons of an image see a part of each image below: the window of the tile's
// rows. Coefficients outside of it are zero, and are neither stored nor read.
//
// Proof: docs/proofs/windows.md.

namespace bf {

// Element (n, c, z, y, x) of a tensor lies where `at` says; every element is one of these.
struct Image {
  int batch, channels;
  int size[3];
  ImageStrides at;
};

constexpr ImageStrides by_pixels(const Image& image) {
  return by_pixels(image.channels, image.size);
}

// The image that a convolution makes.
constexpr Image image_made(const ConvShape& shape) {
  return {shape.batch,
          shape.out_channels,
          {shape.out_size[0], shape.out_size[1], shape.out_size[2]},
          shape.out};
}

// ---- windows

// The smallest window that holds both.
static inline Window unite(Window a, const Window& b) {
  for (int d = 0; d < 3; ++d) {
    a.begin[d] = b.begin[d] < a.begin[d] ? b.begin[d] : a.begin[d];
    a.end[d] = b.end[d] > a.end[d] ? b.end[d] : a.end[d];
  }
  return a;
}

// The smallest window of a convolution's inputs that holds all that a window of outputs reads; not
// empty, even where that is nothing.
static inline Window read_window(const ConvShape& shape, const Window& out) {
  Window in = {};
  for (int d = 0; d < 3; ++d) {
    const int reach = (shape.kernel[d] - 1) * shape.dilation[d];
    int begin = out.begin[d] * shape.stride[d] - shape.pad[d];
    int end = (out.end[d] - 1) * shape.stride[d] - shape.pad[d] + reach + 1;
    if (shape.transposed) {  // q stride - pad + t dilation lies within
      begin = ceil_div(out.begin[d] + shape.pad[d] - reach, shape.stride[d]);
      end = ceil_div(out.end[d] + shape.pad[d], shape.stride[d]);
    }
    const int last = shape.in_size[d] - 1;
    in.begin[d] = begin < 0 ? 0 : begin > last ? last : begin;
    in.end[d] = end > last + 1 ? last + 1 : end <= in.begin[d] ? in.begin[d] + 1 : end;
  }
  return in;
}

// Finds positions of elements by their places in memory. The dimensions fill the tensor, each
// element once, so the largest stride that is left tells its coordinate.
class Locator {
 public:
  enum Coordinate { kBatch, kChannel, kZ, kY, kX, kCoordinates };

  Locator(const ImageStrides& at, int batch, int channels, const int (&size)[3])
      : first_(at.offset) {
    const int sizes[kCoordinates] = {batch, channels, size[0], size[1], size[2]};
    const int strides[kCoordinates] = {at.batch, at.channel, at.spatial[0], at.spatial[1],
                                       at.spatial[2]};
    for (int d = 0; d < kCoordinates; ++d) {
      if (sizes[d] == 1) continue;
      const Dimension own = {d, __builtin_abs(strides[d]), strides[d] < 0 ? sizes[d] - 1 : -1};
      if (strides[d] < 0) first_ += strides[d] * (sizes[d] - 1);
      int i = count_++;
      for (; i > 0 && dimensions_[i - 1].stride < own.stride; --i)
        dimensions_[i] = dimensions_[i - 1];
      dimensions_[i] = own;
    }
  }

  void locate(int place, int (&position)[kCoordinates]) const {
    for (int& coordinate : position) coordinate = 0;
    place -= first_;
    for (int i = 0; i < count_; ++i) {
      const Dimension& own = dimensions_[i];
      const int steps = place / own.stride;
      place -= steps * own.stride;
      position[own.coordinate] = own.last < 0 ? steps : own.last - steps;
    }
  }

 private:
  struct Dimension {
    int coordinate, stride;
    int last;  // where its coordinates fall as places rise; else -1
  };
  int first_;  // the least place
  int count_ = 0;
  Dimension dimensions_[kCoordinates] = {};
};

static inline void locate(const ImageStrides& image, int batch, int channels, const int (&size)[3],
                          int place, int* n, int* c, int (&p)[3]) {
  int position[Locator::kCoordinates];
  Locator(image, batch, channels, size).locate(place, position);
  *n = position[Locator::kBatch];
  *c = position[Locator::kChannel];
  for (int d = 0; d < 3; ++d) p[d] = position[Locator::kZ + d];
}

// The smallest window that holds `count` >= 1 neurons.
static inline Window window_of(const Image& image, const std::int32_t* neurons, int count) {
  Window window = {};
  for (int r = 0; r < count; ++r) {
    int n = 0, c = 0;
    int p[3] = {0, 0, 0};
    locate(image.at, image.batch, image.channels, image.size, neurons[r], &n, &c, p);
    const Window own = {{p[0], p[1], p[2]}, {p[0] + 1, p[1] + 1, p[2] + 1}};
    window = r == 0 ? own : unite(window, own);
  }
  return window;
}

// Coefficients of a tensor with a window lie pixel by pixel: by_pixels() of its image. The elements
// of a tensor with the pixel (n, z, y, x), channel 0, and where its coefficients are:
static inline int element_of(const Image& image, int n, const int (&p)[3]) {
  return static_cast<int>(element(image.at, n, 0, p));
}
static inline std::ptrdiff_t row_of(const Image& image, int n, const int (&p)[3]) {
  return ((static_cast<std::ptrdiff_t>(n) * image.size[0] + p[0]) * image.size[1] + p[1]) *
             image.size[2] * image.channels +
         static_cast<std::ptrdiff_t>(p[2]) * image.channels;
}

// Calls run(n, p) for the first pixel of each row of a window.
template <typename Run>
static inline void for_pixel_rows(const Image& image, const Window& window, const Run& run) {
  int p[3] = {0, 0, window.begin[2]};
  for (int n = 0; n < image.batch; ++n)
    for (p[0] = window.begin[0]; p[0] < window.end[0]; ++p[0])
      for (p[1] = window.begin[1]; p[1] < window.end[1]; ++p[1]) run(n, p);
}

// Calls run(first, row) for each pixel of a window: its first element and coefficient.
template <typename Run>
static inline void for_pixels(const Image& image, const Window& window, const Run& run) {
  for_pixel_rows(image, window, [&](int n, const int(&p)[3]) {
    const int first = element_of(image, n, p);
    const std::ptrdiff_t row = row_of(image, n, p);
    for (int x = 0; x < window.end[2] - window.begin[2]; ++x)
      run(first + x * image.at.spatial[2], row + std::ptrdiff_t{x} * image.channels);
  });
}

// Lists the neurons j with open(j) so that neighbours in the list are neighbours in the image: by
// squares of pixels, all channels of a pixel together. Returns their number.
template <typename Open>
static inline int list_image(const Image& image, const Open& open, std::int32_t* neurons) {
  constexpr int kSquare = 4;
  const ImageStrides& at = image.at;
  int count = 0;
  for (int n = 0; n < image.batch; ++n)
    for (int z = 0; z < image.size[0]; ++z)
      for (int top = 0; top < image.size[1]; top += kSquare)
        for (int left = 0; left < image.size[2]; left += kSquare)
          for (int y = top; y < top + kSquare && y < image.size[1]; ++y)
            for (int x = left; x < left + kSquare && x < image.size[2]; ++x)
              for (int c = 0; c < image.channels; ++c) {
                const int j = at.offset + n * at.batch + c * at.channel + z * at.spatial[0] +
                              y * at.spatial[1] + x * at.spatial[2];
                if (open(j)) neurons[count++] = j;
              }
  return count;
}

// A pixel's numbers: its live channels, `step` elements apart, in order, and from the end the dead
// ones. Returns how many live ones there are. Not inlined: what changes stays in registers.
__attribute__((noinline, unused)) static int list_pixel(const float* radius, std::ptrdiff_t step,
                                                        int channels, std::int32_t* own) {
  std::int32_t* const live = own + 1;
  std::int32_t* dead = own + channels;  // with as many dead as live behind it, the next place
  std::ptrdiff_t count = 0;
  for (int c = 0; c < channels; ++c, --dead, radius += step) {
    live[count] = dead[count] = c;  // the next channels go over what is wrong
    std::uint32_t bits;             // a comparison of floats asks for NaN apart
    __builtin_memcpy(&bits, radius, sizeof bits);
    count += bits << 1 != 0 ? 1 : 0;
  }
  own[0] = static_cast<std::int32_t>(count);
  return own[0];
}

// Writes the Density of a list of n neurons; where nearly all are live, lists all.
static inline void finish_list(const Image& image, int n, int live, std::int32_t* list) {
  list[0] = live > n - n / 8 ? kAllLive : live > n / 2 ? kManyLive : kFewLive;
  if (list[0] != kAllLive) return;
  for (std::int32_t* own = list + 1; own < list + 1 + n / image.channels * (1 + image.channels);
       own += 1 + image.channels) {
    own[0] = image.channels;
    for (int c = 0; c < image.channels; ++c) own[1 + c] = c;
  }
}

// The list of a layer of n neurons: docs/proofs/live-pixels.md. radius: of its activations.
BF_ROUTINE list_live(const Image& image, int n, const float* radius, std::int32_t* list) {
  int live = 0;
  for_pixel_rows(image, whole(image.size), [&](int batch, const int(&p)[3]) {
    const std::ptrdiff_t pixel = row_of(image, batch, p) / image.channels;
    std::int32_t* const own = list + 1 + pixel * (1 + image.channels);
    const float* const first = radius + element_of(image, batch, p);
    for (std::ptrdiff_t x = 0; x < image.size[2]; ++x)
      live += list_pixel(first + x * image.at.spatial[2], image.at.channel, image.channels,
                         own + x * (1 + image.channels));
  });
  finish_list(image, n, live, list);
}

// The list of a layer that `count` maxima alone read: of its neurons those that they chose. Rows
// have exactly 0 as coefficients of the others, which they may then pass by as dead ones.
BF_ROUTINE list_chosen(const Image& image, int n, const float* radius, int count,
                       const std::int32_t* choice, std::int32_t* list) {
  const std::ptrdiff_t step = 1 + image.channels;
  std::int32_t* const end = list + 1 + n / image.channels * step;
  for (std::int32_t* own = list + 1; own < end; own += step) own[0] = 0;
  const Locator places(image.at, image.batch, image.channels, image.size);
  int live = 0;
  for (int i = 0; i < count; ++i) {
    if (radius[choice[i]] == 0) continue;
    int at[Locator::kCoordinates];
    places.locate(choice[i], at);
    std::ptrdiff_t pixel = at[Locator::kBatch];
    for (int d = 0; d < 3; ++d) pixel = pixel * image.size[d] + at[Locator::kZ + d];
    std::int32_t* const own = list + 1 + pixel * step;
    const int channel = at[Locator::kChannel];
    int place = own[0];  // behind those of lower channels; choices mostly come in order
    while (place > 0 && own[place] >= channel) --place;
    if (place < own[0] && own[place + 1] == channel) continue;  // two windows chose it
    for (int k = own[0]; k > place; --k) own[k + 1] = own[k];
    own[place + 1] = channel;
    ++own[0];
    ++live;
  }
  for (std::int32_t* own = list + 1; own < end; own += step) {
    std::int32_t* dead = own + 1 + own[0];
    int next = 0;
    for (int k = 1; k <= own[0]; ++k, ++next)
      for (; next < own[k]; ++next) *dead++ = next;
    for (; next < image.channels; ++next) *dead++ = next;
  }
  finish_list(image, n, live, list);
}

// ---- rows

// Clears live channels for routines that add to them; rows: the order of the coefficients.
template <int kRows>
BF_ROUTINE clear_live(const Image& image, const ImageStrides& rows, const Window& window,
                      LivePixels live, float* coefficients) {
  for_pixel_rows(image, window, [&](int n, const int(&p)[3]) {
    const std::ptrdiff_t pixel = row_of(image, n, p) / image.channels, at = element(rows, n, 0, p);
    for (int x = 0; x < window.end[2] - window.begin[2]; ++x) {
      float* const to = coefficients + (at + std::ptrdiff_t{x} * rows.spatial[2]) * kRows;
      const ChannelList channels = live.at(pixel + x, image.channels);
      for (int i = 0; i < channels.count; ++i)
        clear_rows<kRows>(1, to + std::ptrdiff_t{channels[i]} * rows.channel * kRows);
    }
  });
}

template <int kRows>
BF_ROUTINE clear_window(const Image& image, const Window& window, float* coefficients) {
  const int count = (window.end[2] - window.begin[2]) * image.channels;
  for_pixel_rows(image, window, [&](int n, const int(&p)[3]) {
    clear_rows<kRows>(count, coefficients + row_of(image, n, p) * kRows);
  });
}

// to += from: through the identity.
template <int kRows>
BF_ROUTINE add_window(const Image& image, const Window& window, const float* BF_RESTRICT from,
                      float* BF_RESTRICT to) {
  const int count = (window.end[2] - window.begin[2]) * image.channels;
  for_pixel_rows(image, window, [&](int n, const int(&p)[3]) {
    const std::ptrdiff_t row = row_of(image, n, p) * kRows;
    for (std::ptrdiff_t i = 0; i < std::ptrdiff_t{count} * kRows; ++i) to[row + i] += from[row + i];
  });
}

// add_window() where `to` is in the order of the tensor's elements.
template <int kRows>
BF_ROUTINE spread_window(const Image& image, const Window& window, const float* BF_RESTRICT from,
                         float* BF_RESTRICT to) {
  for_pixels(image, window, [&](int first, std::ptrdiff_t row) {
    for (int c = 0; c < image.channels; ++c)
      for (int r = 0; r < kRows; ++r)
        to[(std::ptrdiff_t{first} + std::ptrdiff_t{c} * image.at.channel) * kRows + r] +=
            from[(row + c) * kRows + r];
  });
}

// add_window() of live channels; rows: the order of `to`, by pixels or as the tensor's elements.
template <int kRows>
BF_ROUTINE add_live(const Image& image, const ImageStrides& rows, const Window& window,
                    LivePixels live, const float* BF_RESTRICT from, float* BF_RESTRICT to) {
  for_pixel_rows(image, window, [&](int n, const int(&p)[3]) {
    const std::ptrdiff_t row = row_of(image, n, p), out = element(rows, n, 0, p);
    for (int x = 0; x < window.end[2] - window.begin[2]; ++x) {
      const float* const a = from + (row + std::ptrdiff_t{x} * image.channels) * kRows;
      float* const sum = to + (out + std::ptrdiff_t{x} * rows.spatial[2]) * kRows;
      const ChannelList channels = live.at(row / image.channels + x, image.channels);
      for (int i = 0; i < channels.count; ++i)
        for (int r = 0; r < kRows; ++r)
          sum[std::ptrdiff_t{channels[i]} * rows.channel * kRows + r] +=
              a[std::ptrdiff_t{channels[i]} * kRows + r];
    }
  });
}

// The first coefficients of rows +z_i and -z_i of kRows / 2 neurons, through the identity: added to
// what is there.
template <int kRows>
BF_ROUTINE identity_start(const Image& image, const std::int32_t* neurons, float* coefficients) {
  for (int r = 0; r < kRows / 2; ++r) {
    int n = 0, c = 0;
    int p[3] = {0, 0, 0};
    locate(image.at, image.batch, image.channels, image.size, neurons[r], &n, &c, p);
    float* const to = coefficients + (row_of(image, n, p) + c) * kRows + r;
    to[0] += 1;
    to[kRows / 2] -= 1;
  }
}

// relax_rows() on the live channels of a window of a layer of n neurons. rows: where coefficients
// are, by_pixels() of its image or the places of its elements. zeros: those of dead channels
// become 0, for readers of all.
template <int kRows, typename Live>
BF_ROUTINE relax_pixels(const Image& image, const ImageStrides& rows, const Window& window, int n,
                        const float* table, const float* offsets, Live live, bool zeros,
                        const float* from, float* to, float* sums) {
  LineSums<kRows> made;
  for_pixel_rows(image, window, [&](int batch, const int(&p)[3]) {
    const std::ptrdiff_t pixel = row_of(image, batch, p) / image.channels;
    const int channels = image.channels;
    const PixelLine run = {window.end[2] - window.begin[2],
                           element_of(image, batch, p),
                           image.at.channel,
                           element(rows, batch, 0, p),
                           rows.channel,
                           image.at.spatial[2],
                           rows.spatial[2]};
    relax_run(
        n, table, offsets, run, [=](int x) { return live.at(pixel + x, channels); }, from, to,
        made);
    for (int x = 0; zeros && x < run.pixels; ++x) {
      const auto dead = live.dead_at(pixel + x, channels);
      for (int i = 0; i < dead.count; ++i)
        clear_rows<kRows>(1, to + (run.row + x * run.next_row + dead[i] * run.row_step) * kRows);
    }
  });
  made.store(sums);
}

// Relaxes all channels, pixel by pixel.
template <int kRows>
static inline void relax_window(const Image& image, const Window& window, int n, const float* table,
                                const float* offsets, const float* from, float* to, float* sums) {
  relax_pixels<kRows>(image, by_pixels(image), window, n, table, offsets, AllLive{}, false, from,
                      to, sums);
}

// spread_r = the sum of |A_kr| radius_k over the window: a chain of at most as many roundings as
// the elements of the image.
template <int kRows>
BF_ROUTINE concretize_window(const Image& image, const Window& window, const float* coefficients,
                             const float* radius, float* spread) {
  constexpr int kLanes = lanes_of<float>(kRows);
  constexpr int kVectors = kRows / kLanes;
  using Floats = typename VectorOf<float, kLanes>::type;
  Floats sum[kVectors] = {};
  for_pixels(image, window, [&](int first, std::ptrdiff_t row) {
    for (int c = 0; c < image.channels; ++c) {
      const Floats r = radius[first + c * image.at.channel] - Floats{};
      BF_UNROLL_ROWS for (int v = 0; v < kVectors; ++v) {
        const Floats a = load_rows<Floats>(coefficients + (row + c) * kRows + v * kLanes);
        sum[v] += (a < Floats{} ? -a : a) * r;
      }
    }
  });
  BF_UNROLL_ROWS for (int v = 0; v < kVectors; ++v) store_rows(spread + v * kLanes, sum[v]);
}

}  // namespace bf
