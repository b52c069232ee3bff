#pragma once

#include "bf/contract/integers.h"
#include "bf/sums/row_slack.h"
#include "bf/sums/terms.h"

// The part of a convolution in what the centres of its outputs may miss: row_slack.h.

namespace bf {

// So many output channels of one position are summed together.
constexpr int kSlackChannels = 8;

// Calls take(at, tap) for every tap that pairs the output position p with an element of the input,
// which is `at` in its first channel.
template <typename Take>
static inline void taps_of_output(const ConvShape& shape, int batch, int channel, const int (&p)[3],
                                  Take take) {
  int tap = 0, q[3];
  for (int z = 0; z < shape.kernel[0]; ++z)
    for (int y = 0; y < shape.kernel[1]; ++y)
      for (int x = 0; x < shape.kernel[2]; ++x, ++tap) {
        q[0] = read_by(shape, 0, p[0], z);
        q[1] = read_by(shape, 1, p[1], y);
        q[2] = read_by(shape, 2, p[2], x);
        if (q[0] >= 0 && q[1] >= 0 && q[2] >= 0) take(element(shape.in, batch, channel, q), tap);
      }
}

// Output channels o to o + channels - 1, all of one group, at one position.
static inline void position_row_slack(const ConvShape& shape, const float* weight,
                                      const double* centre, int batch, int o, int channels,
                                      const int (&p)[3], double* row) {
  double* const first = row + element(shape.out, batch, o, p);
  const auto at_channel = [&](int l) { return std::ptrdiff_t{l} * shape.out.channel; };
  bool open = false;
  for (int l = 0; l < channels; ++l) open = open || is_open_row(first[at_channel(l)]);
  if (!open) return;
  double sums[kSlackChannels] = {};
  const int group = in_group(shape);
  const int from = o / out_group(shape) * group;
  taps_of_output(shape, batch, from, p, [&](std::ptrdiff_t at, int tap) {
    for (int i = 0; i < group; ++i, at += shape.in.channel) {
      const double size = __builtin_fabs(centre[at]);
      if (size == 0) continue;
      const float* const w = weight + weight_place(shape, o, i, tap);
      for (int l = 0; l < channels; ++l)
        sums[l] += static_cast<double>(__builtin_fabsf(w[l])) * size;
    }
  });
  for (int l = 0; l < channels; ++l)
    if (is_open_row(first[at_channel(l)])) first[at_channel(l)] -= sums[l];
}

// weight: weight_place(). Shape: ConvShape, or what stands for one.
template <typename Shape>
BF_ROUTINE conv_row_slack(Shape fixed, const float* weight, const double* centre,
                          const double* slack, double* row) {
  if (!has_open_rows<1>(slack)) return;
  const ConvShape& shape = fixed;
  const int group = out_group(shape);
  for (int n = 0; n < shape.batch; ++n)
    for (int o = 0; o < shape.out_channels;) {
      const int left = group - o % group;
      const int channels = left < kSlackChannels ? left : kSlackChannels;
      int p[3];
      for (p[0] = 0; p[0] < shape.out_size[0]; ++p[0])
        for (p[1] = 0; p[1] < shape.out_size[1]; ++p[1])
          for (p[2] = 0; p[2] < shape.out_size[2]; ++p[2])
            position_row_slack(shape, weight, centre, n, o, channels, p, row);
      o += channels;
    }
}

}  // namespace bf
