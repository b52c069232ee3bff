#pragma once

#include "bf/c/bounds.h"

// Terms of sum layers in C99: the images, convolutions, sparse matrices and gathers of
// bf/sums/terms.h, the slack of rows of bf/sums/row_slack.h, and their proofs.

// Undoes the double roundings of a sum of at most 2^22 terms >= 0 and a few operations more.
#define BF_SUM_SLACK 0x1.00000004p0

// Element (n, c, z, y, x) of an image is at
//   offset + n batch + c channel + z spatial[0] + y spatial[1] + x spatial[2].
typedef struct bf_image_strides {
  int offset;
  int batch;
  int channel;
  int spatial[3];
} bf_image_strides;

// A convolution, in the order of ConvShape.
typedef struct bf_conv_shape {
  int batch;
  int groups;
  int in_channels;
  int out_channels;
  int in_size[3];
  int out_size[3];
  int kernel[3];
  int stride[3];
  int dilation[3];
  int pad[3];
  bool transposed;
  bf_image_strides in;
  bf_image_strides out;
} bf_conv_shape;

BF_FUNCTION int bf_in_group(BF_CONSTANT const bf_conv_shape* shape) {
  return shape->in_channels / shape->groups;
}

BF_FUNCTION int bf_out_group(BF_CONSTANT const bf_conv_shape* shape) {
  return shape->out_channels / shape->groups;
}

BF_FUNCTION int bf_taps(BF_CONSTANT const bf_conv_shape* shape) {
  return shape->kernel[0] * shape->kernel[1] * shape->kernel[2];
}

BF_FUNCTION int bf_elements(int batch, int channels, BF_CONSTANT const int* size) {
  return batch * channels * size[0] * size[1] * size[2];
}

BF_FUNCTION ptrdiff_t bf_element(bf_image_strides image, int n, int c, const int* p) {
  return (ptrdiff_t)image.offset + (ptrdiff_t)n * image.batch + (ptrdiff_t)c * image.channel +
         (ptrdiff_t)p[0] * image.spatial[0] + (ptrdiff_t)p[1] * image.spatial[1] +
         (ptrdiff_t)p[2] * image.spatial[2];
}

// The position that tap t of dimension d pairs with `from`, or -1; up: from the strided side.
BF_FUNCTION int bf_paired(BF_CONSTANT const bf_conv_shape* shape, bool up, int d, int from, int t,
                          int size) {
  const int shift = t * shape->dilation[d] - shape->pad[d];
  const int to = up ? from * shape->stride[d] + shift : from - shift;
  if (up) return to >= 0 && to < size ? to : -1;
  if (to < 0 || to % shape->stride[d] != 0) return -1;
  return to / shape->stride[d] < size ? to / shape->stride[d] : -1;
}

// The input position that an output reads through tap t.
BF_FUNCTION int bf_read_by(BF_CONSTANT const bf_conv_shape* shape, int d, int output, int t) {
  return bf_paired(shape, !shape->transposed, d, output, t, shape->in_size[d]);
}

// Weights lie as [group][in][tap][out].
BF_FUNCTION ptrdiff_t bf_weight_place(BF_CONSTANT const bf_conv_shape* shape, int o, int i, int t) {
  const int readers = bf_out_group(shape);
  return (((ptrdiff_t)(o / readers) * bf_in_group(shape) + i) * bf_taps(shape) + t) * readers +
         o % readers;
}

// An output of a convolution.
typedef struct bf_output {
  int n;
  int channel;
  int p[3];
} bf_output;

// Output number i of all, the last dimension the fastest.
BF_FUNCTION bf_output bf_output_at(BF_CONSTANT const bf_conv_shape* shape, int i) {
  bf_output made;
  int left = i;
  for (int d = 2; d >= 0; --d) {
    made.p[d] = left % shape->out_size[d];
    left /= shape->out_size[d];
  }
  made.channel = left % shape->out_channels;
  made.n = left / shape->out_channels;
  return made;
}

BF_FUNCTION int bf_outputs(BF_CONSTANT const bf_conv_shape* shape) {
  return bf_elements(shape->batch, shape->out_channels, shape->out_size);
}

BF_FUNCTION int bf_ceil_div(int a, int b) {
  return a / b + (a % b > 0 ? 1 : 0);
}

// Where a gather reads: a table, the identity, or a view whose element i is, by the digits of i in
// base (.., count1, count2, count3), the last one the fastest, at offset + the sum of digits times
// strides.
typedef struct bf_sources {
  BF_GLOBAL const int32_t* table;
  bool strided;
  int offset;
  int stride0;
  int count1;
  int stride1;
  int count2;
  int stride2;
  int count3;
  int stride3;
} bf_sources;

BF_FUNCTION bf_sources bf_listed(BF_GLOBAL const int32_t* table) {
  const bf_sources made = {table, false, 0, 0, 1, 0, 1, 0, 1, 0};
  return made;
}

BF_FUNCTION bf_sources bf_same(void) {
  return bf_listed(NULL);
}

BF_FUNCTION bf_sources bf_strided(int offset, int stride0, int count1, int stride1, int count2,
                                  int stride2, int count3, int stride3) {
  const bf_sources made = {NULL,    true,   offset,  stride0, count1,
                           stride1, count2, stride2, count3,  stride3};
  return made;
}

// The element that element i reads, or -1.
BF_FUNCTION int bf_source_of(const bf_sources* source, int i) {
  if (source->table != NULL) return (int)source->table[i];
  if (!source->strided) return i;
  const int third = i / source->count3;
  const int second = third / source->count2;
  return source->offset + i % source->count3 * source->stride3 +
         third % source->count2 * source->stride2 + second % source->count1 * source->stride1 +
         second / source->count1 * source->stride0;
}

// Adds to z's centre and radius what one term gives them; one product alone is exact in double.
BF_FUNCTION void bf_add_term(double centre, double radius, int entries, double rounding,
                             BF_GLOBAL double* centre_out, BF_GLOBAL float* radius_out) {
  const double before = (double)*radius_out;
  const bool exact = entries <= 1 && bf_is_zero(before);
  *centre_out += centre;
  *radius_out = bf_float_up(exact ? radius : (before + radius) * rounding);
}

// Row i has the entries row_start[i] <= k < row_start[i + 1]. residual may be null.
BF_FUNCTION void bf_sparse_centre(int rows, BF_GLOBAL const int32_t* row_start,
                                  BF_GLOBAL const int32_t* column, BF_GLOBAL const float* weight,
                                  BF_GLOBAL const float* residual,
                                  BF_GLOBAL const double* centre_in,
                                  BF_GLOBAL const float* radius_in, double rounding,
                                  BF_GLOBAL double* centre_out, BF_GLOBAL float* radius_out) {
  BF_EACH (i, rows) {
    double centre = 0.0;
    double radius = 0.0;
    for (int32_t k = row_start[i]; k < row_start[i + 1]; ++k) {
      const double narrow = (double)weight[k];
      const double w = residual != NULL ? narrow + (double)residual[k] : narrow;
      centre += w * centre_in[column[k]];
      radius += bf_magnitude_double(narrow) * (double)radius_in[column[k]];
    }
    const int entries = (int)(row_start[i + 1] - row_start[i]);
    if (entries > 0) bf_add_term(centre, radius, entries, rounding, centre_out + i, radius_out + i);
  }
}

BF_FUNCTION void bf_gather_centre(int rows, bf_sources source, BF_GLOBAL const double* centre_in,
                                  BF_GLOBAL const float* radius_in, double rounding,
                                  BF_GLOBAL double* centre_out, BF_GLOBAL float* radius_out) {
  BF_EACH (i, rows) {
    const int k = bf_source_of(&source, i);
    if (k >= 0)
      bf_add_term(centre_in[k], (double)radius_in[k], 1, rounding, centre_out + i, radius_out + i);
  }
}

// bias: null for zeros; `run` neurons side by side share each.
BF_FUNCTION void bf_start_sum(BF_GLOBAL const double* bias, int n, int run,
                              BF_GLOBAL double* centre_out, BF_GLOBAL float* radius_out) {
  BF_EACH (i, n) {
    centre_out[i] = bias == NULL ? 0.0 : bias[i / run];
    radius_out[i] = 0.0f;
  }
}

BF_FUNCTION void bf_clear_slack(BF_GLOBAL double* slack) {
  for (int i = 0; i < BF_SLACK; ++i) slack[i] = 0.0;
}

BF_FUNCTION void bf_add_centre_slack(BF_GLOBAL const double* centre, BF_GLOBAL const float* radius,
                                     int n, double row_norm, BF_GLOBAL double* slack BF_TEAM) {
  const bf_sizes sizes = bf_sizes_of(centre, radius, n BF_OF_TEAM);
  BF_ONCE {
    slack[BF_CENTRE_SLACK] += row_norm * sizes.largest * BF_DOUBLE_SLACK;
    slack[BF_RADIUS_SLACK] += sizes.radii * (1.0 + 0x1p-20);
  }
}

BF_FUNCTION void bf_finish_slack(double relative, double bias_norm, double absolute,
                                 BF_GLOBAL double* slack) {
  slack[BF_CENTRE_SLACK] =
      (relative * (slack[BF_CENTRE_SLACK] + bias_norm) + absolute) * BF_DOUBLE_SLACK;
  slack[BF_RADIUS_SLACK] *= 1.0 + 0x1p-20;
}

// Values of a head at a point, whose centres they are, rounded to nearest.
BF_FUNCTION void bf_write_values(int n, bool relu, BF_GLOBAL const double* centre,
                                 BF_GLOBAL float* y) {
  BF_EACH (j, n) {
    const float value = (float)centre[j];
    y[j] = relu && value < 0.0f ? 0.0f : value;
  }
}

// An open row is minus what it has summed, its sign set even for 0.
BF_FUNCTION bool bf_is_open_row(double row) {
  return (bf_bits_of(row) >> 63) != 0u;
}

BF_FUNCTION bool bf_has_open_rows(BF_GLOBAL const double* slack) {
  return slack[BF_OPEN_ROWS] > 0.0;
}

// Every row has the layer's slack.
BF_FUNCTION void bf_common_slack(int n, BF_GLOBAL double* slack, BF_GLOBAL double* row) {
  BF_ONCE slack[BF_OPEN_ROWS] = 0.0;
  BF_EACH (j, n) row[j] = slack[BF_CENTRE_SLACK];
}

// Opens the rows that need a slack of their own. bias, run: as of bf_start_sum(). On a device the
// number of open rows is a sum of the items' numbers, which is exact.
BF_FUNCTION void bf_start_row_slack(BF_GLOBAL const double* bias, int n, int run,
                                    BF_GLOBAL const float* radius, double factor,
                                    BF_GLOBAL double* slack, BF_GLOBAL double* row BF_TEAM) {
  const double common = slack[BF_CENTRE_SLACK];
  double open = 0.0;
  BF_EACH (j, n) {
    const double size = bias == NULL ? 0.0 : factor * bf_magnitude_double(bias[j / run]);
    const bool small = common <= 0x1p-24 * (double)radius[j];
    row[j] = small ? common : -size;
    open += small ? 0.0 : 1.0;
  }
#if BF_ITEMS > 1
  open = (double)bf_count_together((int)open, team).all;
#endif
  BF_ONCE slack[BF_OPEN_ROWS] = open;
}

// weight: [out / panel][in][panel], the last panel padded.
BF_FUNCTION void bf_dense_row_slack(BF_GLOBAL const float* weight, int in, int panel,
                                    BF_GLOBAL const double* centre, int n,
                                    BF_GLOBAL const double* slack, BF_GLOBAL double* row) {
  if (!bf_has_open_rows(slack)) return;
  BF_EACH (j, n) {
    if (!bf_is_open_row(row[j])) continue;
    BF_GLOBAL const float* const first = weight + (ptrdiff_t)(j / panel) * panel * in + j % panel;
    double sum = 0.0;
    for (int k = 0; k < in; ++k) {
      const double size = bf_magnitude_double(centre[k]);
      if (!bf_is_zero(size)) sum += (double)bf_magnitude_float(first[(ptrdiff_t)k * panel]) * size;
    }
    row[j] -= sum;
  }
}

BF_FUNCTION void bf_sparse_row_slack(int rows, BF_GLOBAL const int32_t* row_start,
                                     BF_GLOBAL const int32_t* column, BF_GLOBAL const float* weight,
                                     BF_GLOBAL const double* centre, BF_GLOBAL const double* slack,
                                     BF_GLOBAL double* row) {
  if (!bf_has_open_rows(slack)) return;
  BF_EACH (i, rows) {
    if (!bf_is_open_row(row[i])) continue;
    double sum = 0.0;
    for (int32_t k = row_start[i]; k < row_start[i + 1]; ++k)
      sum += (double)bf_magnitude_float(weight[k]) * bf_magnitude_double(centre[column[k]]);
    row[i] -= sum;
  }
}

BF_FUNCTION void bf_gather_row_slack(int rows, bf_sources source, BF_GLOBAL const double* centre,
                                     BF_GLOBAL const double* slack, BF_GLOBAL double* row) {
  if (!bf_has_open_rows(slack)) return;
  BF_EACH (i, rows) {
    const int k = bf_source_of(&source, i);
    if (k >= 0 && bf_is_open_row(row[i])) row[i] -= bf_magnitude_double(centre[k]);
  }
}

// The products of one tap of a convolution with the magnitudes of what it reads. weight, centre: of
// the first channel.
BF_FUNCTION double bf_tap_row_slack(BF_CONSTANT const bf_conv_shape* shape,
                                    BF_GLOBAL const float* weight, BF_GLOBAL const double* centre,
                                    double before) {
  const ptrdiff_t step = (ptrdiff_t)bf_taps(shape) * bf_out_group(shape);
  double sum = before;
  for (int i = 0; i < bf_in_group(shape); ++i) {
    const double size = bf_magnitude_double(centre[(ptrdiff_t)i * shape->in.channel]);
    if (!bf_is_zero(size)) sum += (double)bf_magnitude_float(weight[i * step]) * size;
  }
  return sum;
}

// The products of all taps of one output.
BF_FUNCTION double bf_output_row_slack(BF_CONSTANT const bf_conv_shape* shape,
                                       BF_GLOBAL const float* weight,
                                       BF_GLOBAL const double* centre, int n, int o, const int* p) {
  const int plane = shape->kernel[1] * shape->kernel[2];
  const int first = o / bf_out_group(shape) * bf_in_group(shape);
  double sum = 0.0;
  int q[3];
  for (int tap = 0; tap < bf_taps(shape); ++tap) {
    q[0] = bf_read_by(shape, 0, p[0], tap / plane);
    q[1] = bf_read_by(shape, 1, p[1], tap % plane / shape->kernel[2]);
    q[2] = bf_read_by(shape, 2, p[2], tap % shape->kernel[2]);
    if (q[0] >= 0 && q[1] >= 0 && q[2] >= 0)
      sum = bf_tap_row_slack(shape, weight + bf_weight_place(shape, o, 0, tap),
                             centre + bf_element(shape->in, n, first, q), sum);
  }
  return sum;
}

BF_FUNCTION void bf_conv_row_slack(BF_CONSTANT const bf_conv_shape* shape,
                                   BF_GLOBAL const float* weight, BF_GLOBAL const double* centre,
                                   BF_GLOBAL const double* slack, BF_GLOBAL double* row) {
  if (!bf_has_open_rows(slack)) return;
  BF_EACH (i, bf_outputs(shape)) {
    const bf_output to = bf_output_at(shape, i);
    const ptrdiff_t at = bf_element(shape->out, to.n, to.channel, to.p);
    if (bf_is_open_row(row[at]))
      row[at] -= bf_output_row_slack(shape, weight, centre, to.n, to.channel, to.p);
  }
}

// Closes the rows that are open.
BF_FUNCTION void bf_finish_row_slack(int n, double relative, double absolute,
                                     BF_GLOBAL const double* slack, BF_GLOBAL double* row) {
  if (!bf_has_open_rows(slack)) return;
  BF_EACH (j, n) {
    if (!bf_is_open_row(row[j])) continue;
    const double common = slack[BF_CENTRE_SLACK];
    const double own = (relative * -row[j] * (1.0 + 0x1p-20) + absolute) * BF_DOUBLE_SLACK;
    row[j] = own < common ? own : common;
  }
}
