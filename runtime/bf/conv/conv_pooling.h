#pragma once

#include "bf/contract/integers.h"
#include "bf/conv/conv_taps.h"
#include "bf/core/columns.h"
#include "bf/core/vectors.h"

// Interval sums of a convolution of few output channels whose windows lie side by side in a row, as
// pooling has them: no input of a row enters two windows. Each column of a window adds up on its
// own, then neighbours do, until one sum is left. So lanes are inputs, each times the weight of its
// own tap, and nothing is copied. Where vectors are too short, or there are none, the sums are the
// same ones: their order depends on the shape alone.
//
// A product meets the roundings of a chain of in_group x kernel[1] products and log2(kernel[2])
// additions: no more than one chain of all of them has.

namespace bf {

// The extents of the walk through inputs in lanes. No lanes: inputs go one by one.
struct PoolingLanes {
  int inputs;    // of a row that windows read
  int lanes;     // of a vector
  int outputs;   // that a vector makes
  int vectors;   // of a row; the last one ends where the row does, perhaps within the one before
  int together;  // of them
};

constexpr PoolingLanes pooling_lanes(const ConvShape& shape) {
  constexpr int kMost = 4;  // registers of sums, for each of centres and radii
  PoolingLanes made = {};
  made.inputs = shape.out_size[2] * shape.kernel[2];
  made.lanes = kVectorBytes / 4;
  while (made.lanes > made.inputs) made.lanes /= 2;
  if (made.lanes < 4 || made.lanes % shape.kernel[2] != 0) return {};
  made.outputs = made.lanes / shape.kernel[2];
  made.vectors = ceil_div(made.inputs, made.lanes);
  made.together = made.vectors < kMost ? made.vectors : kMost;
  return made;
}

// Returns true if windows are summed so, which depends on the shape alone. Each output channel adds
// up neighbours anew: there must be fewer than kFew of them.
constexpr bool has_pooled_windows(const ConvShape& shape, int chain) {
  constexpr int kFew = 4, kWidest = 16, kLeast = 4;
  const int window = shape.kernel[2];
  const bool halves = window > 1 && window <= kWidest && (window & (window - 1)) == 0;
  const bool side_by_side = shape.stride[2] == window && shape.dilation[2] == 1 &&
                            shape.pad[2] == 0 && shape.out_size[2] * window <= shape.in_size[2] &&
                            shape.out_size[2] * window >= kLeast;
  if (shape.transposed || shape.kernel[0] > 1 || !halves || !side_by_side) return false;
  return shape.in.spatial[2] == 1 && shape.out.spatial[2] == 1 && out_group(shape) < kFew &&
         in_group(shape) * taps(shape) <= chain;
}

// A row of outputs of a channel, without lanes.
template <bool kAdd, int kWindow>
static inline void pool_row(const ConvShape& shape, const float* weight, const float* centre,
                            const float* radius, const TapRange& range, float* centre_out,
                            float* radius_out) {
  for (int x = 0; x < shape.out_size[2]; ++x) {
    float c[kWindow] = {}, r[kWindow] = {};
    for (int y = 0; y < range.count; ++y)
      for (int i = 0; i < in_group(shape); ++i) {
        const std::ptrdiff_t tap = std::ptrdiff_t{i} * taps(shape) + (range.first + y) * kWindow;
        const std::ptrdiff_t from = std::ptrdiff_t{i} * shape.in.channel +
                                    std::ptrdiff_t{y * shape.dilation[1]} * shape.in.spatial[1] +
                                    x * kWindow;
        for (int k = 0; k < kWindow; ++k) {
          const float w = weight[(tap + k) * out_group(shape)];
          c[k] += w * centre[from + k];
          r[k] += __builtin_fabsf(w) * radius[from + k];
        }
      }
    for (int left = kWindow / 2; left > 0; left /= 2)
      for (int k = 0; k < left; ++k) {
        c[k] = c[2 * k] + c[2 * k + 1];
        r[k] = r[2 * k] + r[2 * k + 1];
      }
    give<kAdd>(c[0], centre_out + x);
    give<kAdd>(r[0], radius_out + x);
  }
}

// Calls channel(weight, centre_in, radius_in, centre_out, radius_out) for each output channel of
// each image.
template <typename Channel>
__attribute__((always_inline)) static inline void pool_channels(
    const ConvShape& shape, const float* weight, const float* centre_in, const float* radius_in,
    float* centre_out, float* radius_out, const Channel& channel) {
  const int origin[3] = {0, 0, 0};
  for (int n = 0; n < shape.batch; ++n)
    for (int o = 0; o < shape.out_channels; ++o) {
      const int group = o / out_group(shape);
      const std::ptrdiff_t in = element(shape.in, n, group * in_group(shape), origin);
      const std::ptrdiff_t out = element(shape.out, n, o, origin);
      channel(weight + weight_place(shape, o, 0, 0), centre_in + in, radius_in + in,
              centre_out + out, radius_out + out);
    }
}

// Calls row(range, in, out) for each row of a channel's outputs: its taps, and how far its first
// input and output are from those of the image's first row.
template <typename Row>
__attribute__((always_inline)) static inline void pool_rows(const ConvShape& shape,
                                                            const TapSteps& how, const Row& row) {
  for (int z = 0; z < shape.out_size[0]; ++z) {
    const TapRange plane = clip(how, whole(shape.in_size), 0, all_taps(shape, how, true, 0, z));
    for (int y = 0; y < shape.out_size[1]; ++y) {
      TapRange range = clip(how, whole(shape.in_size), 1, all_taps(shape, how, true, 1, y));
      if (plane.count == 0) range.count = 0;
      row(range,
          std::ptrdiff_t{plane.position} * shape.in.spatial[0] +
              std::ptrdiff_t{range.position} * shape.in.spatial[1],
          std::ptrdiff_t{z} * shape.out.spatial[0] + std::ptrdiff_t{y} * shape.out.spatial[1]);
    }
  }
}

// Pools by a shape that has_pooled_windows(), but is not a constant.
template <bool kAdd, int kWindow = 16>
static inline void pool_outputs(const ConvShape& shape, const float* weight, const float* centre_in,
                                const float* radius_in, float* centre_out, float* radius_out) {
  if constexpr (kWindow > 2)
    if (shape.kernel[2] < kWindow)
      return pool_outputs<kAdd, kWindow / 2>(shape, weight, centre_in, radius_in, centre_out,
                                             radius_out);
  const TapSteps how = tap_steps(shape, true);
  pool_channels(
      shape, weight, centre_in, radius_in, centre_out, radius_out,
      [&](const float* w, const float* c, const float* r, float* c_out, float* r_out) {
        pool_rows(shape, how, [&](const TapRange& range, std::ptrdiff_t in, std::ptrdiff_t out) {
          pool_row<kAdd, kWindow>(shape, w, c + in, r + in, range, c_out + out, r_out + out);
        });
      });
}

template <bool kAdd, const ConvShape& kShape>
struct PoolingTiles {
  static constexpr PoolingLanes kHow = pooling_lanes(kShape);
  static constexpr int kWindow = kShape.kernel[2], kChannels = in_group(kShape);
  static constexpr bool kLanes = kHow.lanes > 0;
  using Vector = typename VectorOf<float, kLanes ? kHow.lanes : 1>::type;

  // The weights of a channel's windows, as often as a vector has outputs.
  struct Weights {
    Vector of[kShape.kernel[1]][kChannels];

    __attribute__((always_inline)) void repeat(const float* weight) {
      alignas(64) float lanes[kHow.lanes];
      for (int i = 0; i < kChannels; ++i)
        for (int y = 0; y < kShape.kernel[1]; ++y) {
          const float* const from =
              weight + std::ptrdiff_t{i * taps(kShape) + y * kWindow} * out_group(kShape);
          for (int k = 0; k < kHow.lanes; ++k) lanes[k] = from[k % kWindow * out_group(kShape)];
          of[y][i] = load_rows<Vector>(lanes);
        }
    }
  };

  // Sums of every kLeft neighbours of c and, behind them, of r.
  template <int kLeft>
  __attribute__((always_inline)) static Vector halve(Vector c, Vector r) {
    if constexpr (kLeft == 1) return c;
    constexpr typename ListLanes<kHow.lanes>::type lanes = {};
    const Vector sums = every_second<0>(c, r, lanes) + every_second<1>(c, r, lanes);
    return halve<kLeft / 2>(sums, sums);
  }

  // kCount vectors of a row of outputs of a channel, from `first` on.
  template <int kCount>
  __attribute__((always_inline)) static void tile(const Weights& weights, const float* centre,
                                                  const float* radius, const TapRange& range,
                                                  int first, float* centre_out, float* radius_out) {
    constexpr int kLast = kHow.inputs - kHow.lanes;
    Vector c[kCount] = {}, r[kCount] = {};
    for (int y = 0; y < range.count; ++y)
      for (int i = 0; i < kChannels; ++i) {
        const Vector w = weights.of[range.first + y][i], size = magnitude<float>(w);
        const std::ptrdiff_t row = std::ptrdiff_t{i} * kShape.in.channel +
                                   std::ptrdiff_t{y * kShape.dilation[1]} * kShape.in.spatial[1];
        BF_UNROLL_ROWS for (int v = 0; v < kCount; ++v) {
          const int at = (first + v) * kHow.lanes;
          const std::ptrdiff_t from = row + (at < kLast ? at : kLast);
          c[v] += w * load_rows<Vector>(centre + from);
          r[v] += size * load_rows<Vector>(radius + from);
        }
      }
    BF_UNROLL_ROWS for (int v = 0; v < kCount; ++v) {
      const int at = (first + v) * kHow.lanes;
      const Vector sums = halve<kWindow>(c[v], r[v]);
      const char* const made = reinterpret_cast<const char*>(&sums);
      const auto give = [&](auto skip, int to) __attribute__((always_inline)) {
        constexpr int kSkip = decltype(skip)::value;
        put_lanes<kAdd, kSkip, kHow.outputs>(made, centre_out + to);
        put_lanes<kAdd, kSkip, kHow.outputs>(made + kHow.outputs * 4, radius_out + to);
      };
      constexpr int kAgain = (kHow.vectors * kHow.lanes - kHow.inputs) / kWindow;
      if (at <= kLast)
        give(Count<0>{}, at / kWindow);
      else
        give(Count<kAgain>{}, kLast / kWindow);
    }
  }

  static void outputs(const float* weight, const float* centre_in, const float* radius_in,
                      float* centre_out, float* radius_out) {
    pool_channels(kShape, weight, centre_in, radius_in, centre_out, radius_out, channel);
  }

  // A row of outputs of a channel.
  static void row(const float* weight, const float* centre, const float* radius,
                  const TapRange& range, float* centre_out, float* radius_out) {
    pool_row<kAdd, kWindow>(kShape, weight, centre, radius, range, centre_out, radius_out);
  }

  // A row of outputs of a channel, in lanes.
  static void row(const Weights& weights, const float* centre, const float* radius,
                  const TapRange& range, float* centre_out, float* radius_out) {
    const auto some = [&](int first, auto count) __attribute__((always_inline)) {
      tile<decltype(count)::value>(weights, centre, radius, range, first, centre_out, radius_out);
    };
    constexpr int kRest = kHow.vectors % kHow.together;
    for (int v = 0; v + kHow.together <= kHow.vectors; v += kHow.together)
      some(v, Count<kHow.together>{});
    if constexpr (kRest > 0) some(kHow.vectors - kRest, Count<kRest>{});
  }

  // All outputs of a channel of one image.
  static void channel(const float* weight, const float* centre_in, const float* radius_in,
                      float* centre_out, float* radius_out) {
    if constexpr (kLanes) {
      Weights weights;
      weights.repeat(weight);
      rows(weights, centre_in, radius_in, centre_out, radius_out);
    } else {
      rows(weight, centre_in, radius_in, centre_out, radius_out);
    }
  }

  template <typename Window>
  static void rows(const Window& weights, const float* centre_in, const float* radius_in,
                   float* centre_out, float* radius_out) {
    constexpr TapSteps kSteps = tap_steps(kShape, true);
    pool_rows(kShape, kSteps, [&](const TapRange& range, std::ptrdiff_t in, std::ptrdiff_t out) {
      row(weights, centre_in + in, radius_in + in, range, centre_out + out, radius_out + out);
    });
  }
};

}  // namespace bf
