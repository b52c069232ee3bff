#pragma once

#include "bf/contract/integers.h"
#include "bf/conv/conv_backward.h"
#include "bf/sums/backward.h"
#include "bf/sums/row_windows.h"
#include "bf/sums/terms.h"

namespace bf {

// The first coefficients of backward rows of a sum layer: rows +z_i and -z_i of one term for kRows
// / 2 neurons. The weights are exact; an addition to another term's on the same tensor (`add`)
// rounds.

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
    const float* w = weight + weight_place(shape, o, 0, 0);
    for (int i = 0; i < group; ++i)
      for (int tz = 0; tz < shape.kernel[0]; ++tz)
        for (int ty = 0; ty < shape.kernel[1]; ++ty)
          for (int tx = 0; tx < shape.kernel[2]; ++tx, w += out_group(shape)) {
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
