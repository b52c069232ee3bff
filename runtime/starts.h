#pragma once

#include <cstddef>
#include <cstdint>

#include "backward.h"
#include "terms.h"

namespace bf {

// The first coefficients of backward rows of a sum layer: rows +z_i and -z_i of one term for kRows
// / 2 neurons. The weights are exact; an addition to another term's on the same tensor (`add`)
// rounds.

// The position of an element in one dimension of an image, by its place in memory: takes off
// `place` what the dimension adds to it. The dimensions fill the tensor, each element once, so the
// largest stride that is left tells its coordinate.
struct ImageDimension {
  int size, stride;
  int* coordinate;
};

static inline void locate(const ImageStrides& image, int batch, int channels, const int (&size)[3],
                          int place, int* n, int* c, int (&p)[3]) {
  ImageDimension dimensions[5] = {{batch, image.batch, n},
                                  {channels, image.channel, c},
                                  {size[0], image.spatial[0], &p[0]},
                                  {size[1], image.spatial[1], &p[1]},
                                  {size[2], image.spatial[2], &p[2]}};
  place -= image.offset;
  for (ImageDimension& each : dimensions) {
    *each.coordinate = 0;
    if (each.size > 1 && each.stride < 0) place -= each.stride * (each.size - 1);
  }
  for (int step = 0; step < 5; ++step) {
    ImageDimension* largest = nullptr;
    for (ImageDimension& each : dimensions)
      if (each.size > 1 &&
          (largest == nullptr || __builtin_abs(each.stride) > __builtin_abs(largest->stride)))
        largest = &each;
    if (largest == nullptr) return;
    const int stride = __builtin_abs(largest->stride);
    const int steps = place / stride;
    place -= steps * stride;
    *largest->coordinate = largest->stride < 0 ? largest->size - 1 - steps : steps;
    largest->size = 1;
  }
}

// Adds weight w of input k to row r and its negation.
template <int kRows>
static inline void add_start(std::ptrdiff_t k, int r, float w, float* coefficients) {
  coefficients[k * kRows + r] += w;
  coefficients[k * kRows + kRows / 2 + r] -= w;
}

template <int kRows>
BF_ROUTINE conv_start(const ConvShape& shape, const float* weight, const std::int32_t* neurons,
                      bool add, float* coefficients) {
  if (!add)
    clear_rows<kRows>(elements(shape.batch, shape.in_channels, shape.in_size), coefficients);
  const int group = in_group(shape);
  for (int r = 0; r < kRows / 2; ++r) {
    int n = 0, o = 0;
    int p[3] = {0, 0, 0}, q[3] = {0, 0, 0};
    locate(shape.out, shape.batch, shape.out_channels, shape.out_size, neurons[r], &n, &o, p);
    const float* w = weight + std::ptrdiff_t{o} * group * taps(shape);
    for (int i = 0; i < group; ++i)
      for (int tz = 0; tz < shape.kernel[0]; ++tz)
        for (int ty = 0; ty < shape.kernel[1]; ++ty)
          for (int tx = 0; tx < shape.kernel[2]; ++tx, ++w) {
            q[0] = read_by(shape, 0, p[0], tz);
            q[1] = read_by(shape, 1, p[1], ty);
            q[2] = read_by(shape, 2, p[2], tx);
            if (q[0] < 0 || q[1] < 0 || q[2] < 0) continue;
            const int channel = o / out_group(shape) * group + i;
            add_start<kRows>(element(shape.in, n, channel, q), r, *w, coefficients);
          }
  }
}

template <int kRows>
BF_ROUTINE sparse_start(const std::int32_t* row_start, const std::int32_t* column,
                        const float* weight, int in, const std::int32_t* neurons, bool add,
                        float* coefficients) {
  if (!add) clear_rows<kRows>(in, coefficients);
  for (int r = 0; r < kRows / 2; ++r)
    for (int k = row_start[neurons[r]]; k < row_start[neurons[r] + 1]; ++k)
      add_start<kRows>(column[k], r, weight[k], coefficients);
}

template <int kRows, typename Sources>
BF_ROUTINE gather_start(Sources source, int in, const std::int32_t* neurons, bool add,
                        float* coefficients) {
  if (!add) clear_rows<kRows>(in, coefficients);
  for (int r = 0; r < kRows / 2; ++r) {
    const int k = source_of(source, neurons[r]);
    if (k >= 0) add_start<kRows>(k, r, 1.0f, coefficients);
  }
}

}  // namespace bf
