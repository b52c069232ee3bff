#pragma once

#include "bf/contract/integers.h"
#include "bf/contract/tiles.h"
#include "bf/conv/conv_taps.h"

// Outputs of a convolution of few channels to a group: by rows of pixels. `Tiles`: see
// conv_outputs.h.

namespace bf {

// The pixels of a row that tap t pairs: input from + k from_step with output to + k to_step, k <
// count; outputs from `first`, at most `most` of them.
struct PixelRun {
  int from, to, from_step, to_step, count;
};

static inline PixelRun pixel_run(const ConvShape& shape, int t, int first, int most) {
  // Position s of the strided side pairs with s step + shift of the other, which is in [far, end).
  const int step = shape.stride[2];
  const int shift = t * shape.dilation[2] - shape.pad[2];
  const bool up = !shape.transposed;
  const int near = up ? first : 0, near_end = up ? first + most : shape.in_size[2];
  const int far = up ? 0 : first, far_end = up ? shape.in_size[2] : first + most;
  int s = ceil_div(far - shift, step);
  int end = ceil_div(far_end - shift, step);
  s = s < near ? near : s;
  end = end > near_end ? near_end : end;
  const int other = s * step + shift;
  return {up ? other : s, (up ? s : other) - first, up ? step : 1, up ? 1 : step, end - s};
}

// centre and radius: sums of the run's outputs. c, r: the row's first pixel, `pixel` apart.
template <typename Number>
static inline void add_run(const PixelRun& run, Number w, Number size, const Number* c,
                           const float* r, std::ptrdiff_t pixel, Number* centre, Number* radius) {
  if (run.count <= 0) return;
  c += run.from * pixel;
  r += run.from * pixel;
  centre += run.to;
  radius += run.to;
  const std::ptrdiff_t step = run.from_step * pixel;
  if (step == 1 && run.to_step == 1) {
    for (int k = 0; k < run.count; ++k) {
      centre[k] += w * c[k];
      radius[k] += size * static_cast<Number>(r[k]);
    }
  } else {
    for (std::ptrdiff_t k = 0; k < run.count; ++k) {
      centre[k * run.to_step] += w * c[k * step];
      radius[k * run.to_step] += size * static_cast<Number>(r[k * step]);
    }
  }
}

// Every product of the outputs (n, o, p) to (n, o, p + count - 1), tap by tap, each with the input
// channels begin to end - 1 of the group: visit(tap, i, place of the weight, the channel's first
// pixel in the row that is read, run).
template <typename Visit>
static inline void strip_products(const ConvShape& shape, int n, int o, const int (&p)[3],
                                  int count, int begin, int end, Visit visit) {
  const int first = o / out_group(shape) * in_group(shape);
  int q[3] = {0, 0, 0}, tap = 0;
  for (int tz = 0; tz < shape.kernel[0]; ++tz) {
    q[0] = read_by(shape, 0, p[0], tz);
    for (int ty = 0; ty < shape.kernel[1]; ++ty) {
      q[1] = read_by(shape, 1, p[1], ty);
      if (q[0] < 0 || q[1] < 0) {
        tap += shape.kernel[2];
        continue;
      }
      for (int tx = 0; tx < shape.kernel[2]; ++tx, ++tap) {
        const PixelRun run = pixel_run(shape, tx, p[2], count);
        for (int i = begin; i < end; ++i)
          visit(tap, i, weight_place(shape, o, i, tap), element(shape.in, n, first + i, q), run);
      }
    }
  }
}

// All outputs, in strips.
template <typename Tiles>
static inline void conv_strips(const ConvShape& shape, const float* weight, const float* residual,
                               const typename Tiles::Number* centre_in, const float* radius_in,
                               typename Tiles::Out out) {
  int p[3] = {0, 0, 0};
  for (int n = 0; n < shape.batch; ++n)
    for (int o = 0; o < shape.out_channels; ++o)
      for (p[0] = 0; p[0] < shape.out_size[0]; ++p[0])
        for (p[1] = 0; p[1] < shape.out_size[1]; ++p[1])
          for (p[2] = 0; p[2] < shape.out_size[2]; p[2] += kStrip) {
            const int left = shape.out_size[2] - p[2];
            Tiles::strip(shape, weight, residual, centre_in, radius_in, n, o, p,
                         left < kStrip ? left : kStrip, out);
          }
}

}  // namespace bf
