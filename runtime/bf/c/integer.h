#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bf.h"
#include "bf/c/spans.h"
#include "bf/c/words/bytes.h"

// Plans of integers in C99: the routines of bf/integer/, which say why they are right, with types
// as arguments instead of template parameters. No floating point.

// ---- tables

// Weights of 8 bits, of 16 bits, or, where both are null, all 1.
typedef struct {
  const int8_t* narrow;
  const int16_t* wide;
} bf_weights;

static inline bf_weights bf_int8_weights(const int8_t* weights) {
  const bf_weights made = {weights, NULL};
  return made;
}

static inline bf_weights bf_int16_weights(const int16_t* weights) {
  const bf_weights made = {NULL, weights};
  return made;
}

static inline bf_weights bf_ones(void) {
  const bf_weights made = {NULL, NULL};
  return made;
}

// Number i of a table, or, where there is none, i times `step`.
typedef struct {
  const uint16_t* narrow;
  const uint32_t* wide;
  int step;
} bf_indices;

static inline bf_indices bf_own(void) {
  const bf_indices made = {NULL, NULL, 1};
  return made;
}

static inline bf_indices bf_first(void) {
  const bf_indices made = {NULL, NULL, 0};
  return made;
}

static inline bf_indices bf_uint16_indices(const uint16_t* table) {
  const bf_indices made = {table, NULL, 0};
  return made;
}

static inline bf_indices bf_uint32_indices(const uint32_t* table) {
  const bf_indices made = {NULL, table, 0};
  return made;
}

static inline int bf_index(bf_indices table, int i) {
  if (table.narrow != NULL) return (int)table.narrow[i];
  if (table.wide != NULL) return (int)table.wide[i];
  return i * table.step;
}

// ---- codes from sums

// A row's function from sums to codes; the narrow one has a multiplier of 32 bits.
typedef struct {
  int64_t addend;
  int32_t multiplier;
  uint8_t shift, odd, low, high;
} bf_requantizer;

typedef struct {
  int64_t addend;
  int64_t multiplier;
  uint8_t shift, odd, low, high;
} bf_wide_requantizer;

// A row of steps: code first + k from the sum steps[k - 1] on.
typedef struct {
  const int32_t* steps;
  uint8_t first, count;
} bf_step_row;

// The rows of a layer, of one of the three kinds. half_even: numbers are rounded to the nearest, in
// the middle of two to the one that is even before an offset of parity `odd` is added; else down.
typedef struct {
  const bf_requantizer* narrow;
  const bf_wide_requantizer* wide;
  const bf_step_row* steps;
  bool half_even;
} bf_codes;

static inline bf_codes bf_floor_codes(const bf_requantizer* rows) {
  const bf_codes made = {rows, NULL, NULL, false};
  return made;
}

static inline bf_codes bf_half_even_codes(const bf_requantizer* rows) {
  const bf_codes made = {rows, NULL, NULL, true};
  return made;
}

static inline bf_codes bf_wide_floor_codes(const bf_wide_requantizer* rows) {
  const bf_codes made = {NULL, rows, NULL, false};
  return made;
}

static inline bf_codes bf_wide_half_even_codes(const bf_wide_requantizer* rows) {
  const bf_codes made = {NULL, rows, NULL, true};
  return made;
}

static inline bf_codes bf_step_codes(const bf_step_row* rows) {
  const bf_codes made = {NULL, NULL, rows, false};
  return made;
}

static inline uint8_t bf_clamped(int64_t code, int low, int high) {
  if (code < low) return (uint8_t)low;
  return code > high ? (uint8_t)high : (uint8_t)code;
}

// scaled / 2^shift, rounded. Compilers that the verifier is for have arithmetic shifts.
static inline int64_t bf_rounded(int64_t scaled, int shift, int odd, bool half_even) {
  if (!half_even) return scaled >> shift;
  const int64_t half = (int64_t)1 << (shift - 1);
  const int64_t up = ((scaled >> shift) ^ odd) & 1;
  return (scaled + half - 1 + up) >> shift;
}

// The number of those among `count` keys, which never decrease, that are at most `key`.
static inline int bf_count_up_to(const int32_t* keys, int count, int32_t key) {
  int low = 0;
  int high = count;
  while (low < high) {
    const int middle = (low + high) / 2;
    if (keys[middle] <= key)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

static inline int bf_count_up_to_wide(const int64_t* keys, int count, int64_t key) {
  int low = 0;
  int high = count;
  while (low < high) {
    const int middle = (low + high) / 2;
    if (keys[middle] <= key)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

static inline uint8_t bf_code(bf_codes codes, int row, int32_t sum) {
  if (codes.steps != NULL) {
    const bf_step_row* const r = codes.steps + row;
    return (uint8_t)(r->first + bf_count_up_to(r->steps, r->count, sum));
  }
  if (codes.wide != NULL) {
    const bf_wide_requantizer* const r = codes.wide + row;
    const int64_t scaled = r->multiplier * sum + r->addend;
    return bf_clamped(bf_rounded(scaled, r->shift, r->odd, codes.half_even), r->low, r->high);
  }
  const bf_requantizer* const r = codes.narrow + row;
  const int64_t scaled = (int64_t)r->multiplier * sum + r->addend;
  return bf_clamped(bf_rounded(scaled, r->shift, r->odd, codes.half_even), r->low, r->high);
}

// ---- the caller's floats

#define BF_INFINITY_BITS 0x7f800000u

static inline uint32_t bf_bits_at(const float* x) {
  uint32_t bits;
  BF_COPY_BYTES(&bits, x, sizeof bits);
  return bits;
}

// Rises with the float; both zeros have key 0. Not for NaN.
static inline int32_t bf_key_of(uint32_t bits) {
  const int32_t magnitude = (int32_t)(bits & 0x7fffffffu);
  return (bits >> 31) != 0 ? -magnitude : magnitude;
}

static inline bf_status bf_integer_check_box(const float* lower, const float* upper, int n) {
  bool empty = false;
  bool infinite = false;
  for (int i = 0; i < n; ++i) {
    const uint32_t low = bf_bits_at(lower + i);
    const uint32_t high = bf_bits_at(upper + i);
    const uint32_t low_magnitude = low & 0x7fffffffu;
    const uint32_t high_magnitude = high & 0x7fffffffu;
    if (low_magnitude > BF_INFINITY_BITS || high_magnitude > BF_INFINITY_BITS) return BF_NAN_INPUT;
    infinite = infinite || low_magnitude == BF_INFINITY_BITS || high_magnitude == BF_INFINITY_BITS;
    empty = empty || bf_key_of(low) > bf_key_of(high);
  }
  if (empty) return BF_EMPTY_BOX;
  return infinite ? BF_INFINITE_BOX : BF_OK;
}

static inline bf_status bf_integer_check_workspace(const void* workspace, size_t bytes,
                                                   size_t needed, size_t align) {
  if (workspace == NULL) return needed == 0 ? BF_OK : BF_NULL_ARGUMENT;
  if (bytes < needed) return BF_WORKSPACE_TOO_SMALL;
  return (uintptr_t)workspace % align == 0 ? BF_OK : BF_WORKSPACE_MISALIGNED;
}

// codes_i = how many of the keys of element i's table are at most x's key. The tables follow each
// other, `keys` numbers each.
static inline void bf_integer_quantize(const float* x, bf_indices source, const int32_t* tables,
                                       int keys, bf_indices table, int n, uint8_t* codes) {
  for (int i = 0; i < n; ++i)
    codes[i] = (uint8_t)bf_count_up_to(tables + keys * bf_index(table, i), keys,
                                       bf_key_of(bf_bits_at(x + bf_index(source, i))));
}

// The bits of the outputs' bounds, [tables][256].
typedef struct {
  const uint32_t* lower;
  const uint32_t* upper;
  bool falls;
} bf_code_bounds;

static inline void bf_integer_dequantize(const uint8_t* lower, const uint8_t* upper,
                                         bf_indices source, const bf_code_bounds* tables,
                                         bf_indices table, int n, float* out_lower,
                                         float* out_upper) {
  for (int i = 0; i < n; ++i) {
    const bf_code_bounds* const bounds = tables + bf_index(table, i);
    const int from = bf_index(source, i);
    const uint8_t low = bounds->falls ? upper[from] : lower[from];
    const uint8_t high = bounds->falls ? lower[from] : upper[from];
    BF_COPY_BYTES(out_lower + i, bounds->lower + low, sizeof *out_lower);
    BF_COPY_BYTES(out_upper + i, bounds->upper + high, sizeof *out_upper);
  }
}

// ---- layers

// Bounds of a sum of products.
typedef struct {
  int32_t low, high;
} bf_sums;

static inline void bf_add_product(bf_sums* sums, int32_t weight, int32_t low_code,
                                  int32_t high_code) {
  if (weight >= 0) {
    sums->low += weight * low_code;
    sums->high += weight * high_code;
  } else {
    sums->low += weight * high_code;
    sums->high += weight * low_code;
  }
}

// The sums of weights `first` and on times all of so many codes.
static inline bf_sums bf_row_sums(bf_weights weights, int first, int columns, const uint8_t* lower,
                                  const uint8_t* upper) {
  bf_sums sums = {0, 0};
  if (weights.narrow != NULL) {
    const int8_t* const row = weights.narrow + first;
    for (int k = 0; k < columns; ++k) bf_add_product(&sums, row[k], lower[k], upper[k]);
  } else {
    const int16_t* const row = weights.wide + first;
    for (int k = 0; k < columns; ++k) bf_add_product(&sums, row[k], lower[k], upper[k]);
  }
  return sums;
}

// The rows of W x, to every `stride`-th code. weights: [rows][columns], from `first` on; codes:
// from `first_row` on.
static inline void bf_dense_rows(bf_weights weights, int first, bf_codes codes, int first_row,
                                 int rows, int columns, const uint8_t* lower, const uint8_t* upper,
                                 uint8_t* out_lower, uint8_t* out_upper, int stride) {
  for (int i = 0; i < rows; ++i) {
    const bf_sums sums = bf_row_sums(weights, first + i * columns, columns, lower, upper);
    out_lower[i * stride] = bf_code(codes, first_row + i, sums.low);
    out_upper[i * stride] = bf_code(codes, first_row + i, sums.high);
  }
}

static inline void bf_integer_dense(bf_weights weights, bf_codes codes, int rows, int columns,
                                    const uint8_t* lower, const uint8_t* upper, uint8_t* out_lower,
                                    uint8_t* out_upper) {
  bf_dense_rows(weights, 0, codes, 0, rows, columns, lower, upper, out_lower, out_upper, 1);
}

// The bits of the largest float that is at most `number` 2^-shift, or, `up`, of the smallest that
// is at least that. |number| < 2^62, 0 <= shift <= 100: no float is subnormal or infinite.
static inline uint32_t bf_float_bits(int64_t number, int shift, bool up) {
  if (number == 0) return 0;
  const bool negative = number < 0;
  uint64_t magnitude = (uint64_t)(negative ? -number : number);
  int exponent = 127 + 23 - shift;  // of a magnitude of 24 bits
  bool rest = false;
  while (magnitude >= ((uint64_t)1 << 24)) {
    rest = rest || (magnitude & 1) != 0;
    magnitude >>= 1;
    ++exponent;
  }
  for (; magnitude < ((uint64_t)1 << 23); --exponent) magnitude <<= 1;
  // A carry into the exponent is the next float, too.
  uint32_t bits = ((uint32_t)exponent << 23) + ((uint32_t)magnitude & 0x7fffffu);
  if (rest && up != negative) ++bits;
  return negative ? bits | 0x80000000u : bits;
}

// multiplier sum + low_addend and + high_addend are on both sides of 2^shift times an output.
typedef struct {
  int64_t multiplier, low_addend, high_addend;
} bf_sum_bounds;

// Bounds of outputs that are sums themselves. weights: [rows][columns].
static inline void bf_integer_dequantize_sums(bf_weights weights, const bf_sum_bounds* bounds,
                                              int shift, int rows, int columns,
                                              const uint8_t* lower, const uint8_t* upper,
                                              float* out_lower, float* out_upper) {
  for (int i = 0; i < rows; ++i) {
    const bf_sums sums = bf_row_sums(weights, i * columns, columns, lower, upper);
    const bf_sum_bounds* const of = bounds + i;
    const uint32_t low = bf_float_bits(of->multiplier * sums.low + of->low_addend, shift, false);
    const uint32_t high = bf_float_bits(of->multiplier * sums.high + of->high_addend, shift, true);
    BF_COPY_BYTES(out_lower + i, &low, sizeof low);
    BF_COPY_BYTES(out_upper + i, &high, sizeof high);
  }
}

// Steps between neighbours of an image in memory, elements.
typedef struct {
  int offset, batch, channel, z, y, x;
} bf_integer_strides;

// Three spatial dimensions, z y x.
typedef struct {
  int batch, groups, in_group, out_group;
  int in_size[3], out_size[3], kernel[3], stride[3], dilation[3], pad[3];
  bf_integer_strides in, out;
} bf_integer_convolution;

// Codes of one window, [in_group][taps], which begins at position `from`; `zero` outside of the
// image. `at`: of the first channel at position 0.
static inline void bf_copy_window(const bf_integer_convolution* c, int at, const int from[3],
                                  uint8_t zero, const uint8_t* lower, const uint8_t* upper,
                                  uint8_t* window_lower, uint8_t* window_upper) {
  int made = 0;
  for (int i = 0; i < c->in_group; ++i)
    for (int a = 0; a < c->kernel[0]; ++a) {
      const int z = from[0] + a * c->dilation[0];
      for (int b = 0; b < c->kernel[1]; ++b) {
        const int y = from[1] + b * c->dilation[1];
        const bool inside = z >= 0 && z < c->in_size[0] && y >= 0 && y < c->in_size[1];
        const int row = at + i * c->in.channel + z * c->in.z + y * c->in.y;
        for (int d = 0; d < c->kernel[2]; ++d) {
          const int x = from[2] + d * c->dilation[2];
          const bool in = inside && x >= 0 && x < c->in_size[2];
          window_lower[made] = in ? lower[row + x * c->in.x] : zero;
          window_upper[made] = in ? upper[row + x * c->in.x] : zero;
          ++made;
        }
      }
    }
}

// The outputs of position z, y, x of image n: one window for each group.
static inline void bf_convolve_at(const bf_integer_convolution* c, const int position[3], int n,
                                  bf_weights weights, bf_codes codes, uint8_t zero,
                                  const uint8_t* lower, const uint8_t* upper, uint8_t* window_lower,
                                  uint8_t* window_upper, uint8_t* out_lower, uint8_t* out_upper) {
  const int filter = c->in_group * c->kernel[0] * c->kernel[1] * c->kernel[2];
  int from[3];
  for (int d = 0; d < 3; ++d) from[d] = position[d] * c->stride[d] - c->pad[d];
  const int in = c->in.offset + n * c->in.batch;
  const int out = c->out.offset + n * c->out.batch + position[0] * c->out.z +
                  position[1] * c->out.y + position[2] * c->out.x;
  for (int g = 0; g < c->groups; ++g) {
    const int row = g * c->out_group;
    bf_copy_window(c, in + g * c->in_group * c->in.channel, from, zero, lower, upper, window_lower,
                   window_upper);
    bf_dense_rows(weights, row * filter, codes, row, c->out_group, filter, window_lower,
                  window_upper, out_lower + out + row * c->out.channel,
                  out_upper + out + row * c->out.channel, c->out.channel);
  }
}

// weights: [out_channels][in_group][taps]; codes: of each output channel; zero: the code of what
// lies outside of the image.
static inline void bf_integer_convolve(const bf_integer_convolution* c, bf_weights weights,
                                       bf_codes codes, uint8_t zero, const uint8_t* lower,
                                       const uint8_t* upper, uint8_t* window_lower,
                                       uint8_t* window_upper, uint8_t* out_lower,
                                       uint8_t* out_upper) {
  int at[3];
  for (int n = 0; n < c->batch; ++n)
    for (at[0] = 0; at[0] < c->out_size[0]; ++at[0])
      for (at[1] = 0; at[1] < c->out_size[1]; ++at[1])
        for (at[2] = 0; at[2] < c->out_size[2]; ++at[2])
          bf_convolve_at(c, at, n, weights, codes, zero, lower, upper, window_lower, window_upper,
                         out_lower, out_upper);
}

// Row i sums weights_k x_{column_k} for start_i <= k < start_{i + 1}. rows_of: bf_own(), or
// bf_first() where all rows have the same function to codes.
static inline void bf_integer_sparse(bf_indices rows_of, bf_indices start, bf_indices column,
                                     bf_weights weights, bf_codes codes, int rows,
                                     const uint8_t* lower, const uint8_t* upper, uint8_t* out_lower,
                                     uint8_t* out_upper) {
  for (int i = 0; i < rows; ++i) {
    bf_sums sums = {0, 0};
    const int end = bf_index(start, i + 1);
    for (int k = bf_index(start, i); k < end; ++k) {
      const int from = bf_index(column, k);
      bf_add_product(&sums, weights.wide != NULL ? weights.wide[k] : 1, lower[from], upper[from]);
    }
    const int row = bf_index(rows_of, i);
    out_lower[i] = bf_code(codes, row, sums.low);
    out_upper[i] = bf_code(codes, row, sums.high);
  }
}

// a_weight a + b_weight b + addend, elementwise; both weights are positive.
typedef struct {
  int64_t a_weight, b_weight, addend;
  uint8_t shift, odd, low, high;
} bf_pair_sum;

static inline void bf_integer_add_rounded(const bf_pair_sum* sum, bool half_even, const uint8_t* a,
                                          const uint8_t* b, int n, uint8_t* out) {
  for (int i = 0; i < n; ++i) {
    const int64_t scaled = sum->a_weight * a[i] + sum->b_weight * b[i] + sum->addend;
    out[i] = bf_clamped(bf_rounded(scaled, sum->shift, sum->odd, half_even), sum->low, sum->high);
  }
}

static inline void bf_integer_add_floor(const bf_pair_sum* sum, const uint8_t* a, const uint8_t* b,
                                        int n, uint8_t* out) {
  bf_integer_add_rounded(sum, false, a, b, n, out);
}

static inline void bf_integer_add_half_even(const bf_pair_sum* sum, const uint8_t* a,
                                            const uint8_t* b, int n, uint8_t* out) {
  bf_integer_add_rounded(sum, true, a, b, n, out);
}

// A sum with codes `first` + how many of `count` steps are at most a_weight a + b_weight b.
typedef struct {
  int64_t a_weight, b_weight;
  const int64_t* steps;
  uint8_t first, count;
} bf_pair_steps;

static inline void bf_integer_add_steps(const bf_pair_steps* sum, const uint8_t* a,
                                        const uint8_t* b, int n, uint8_t* out) {
  for (int i = 0; i < n; ++i) {
    const int64_t of = sum->a_weight * a[i] + sum->b_weight * b[i];
    out[i] = (uint8_t)(sum->first + bf_count_up_to_wide(sum->steps, sum->count, of));
  }
}

// The largest of x_{source_k} for start_i <= k < start_{i + 1}; no row is empty.
static inline void bf_integer_largest(bf_indices start, bf_indices source, int rows,
                                      const uint8_t* x, uint8_t* out) {
  for (int i = 0; i < rows; ++i) {
    uint8_t most = 0;
    const int end = bf_index(start, i + 1);
    for (int k = bf_index(start, i); k < end; ++k) {
      const uint8_t one = x[bf_index(source, k)];
      if (one > most) most = one;
    }
    out[i] = most;
  }
}

// x_{source_i}.
static inline void bf_integer_gather(bf_indices source, int n, const uint8_t* x, uint8_t* out) {
  for (int i = 0; i < n; ++i) out[i] = x[bf_index(source, i)];
}

// Each bound `slack` codes further out, from 0 to `highest`.
static inline void bf_integer_loosen(int slack, int highest, int n, const uint8_t* lower,
                                     const uint8_t* upper, uint8_t* out_lower, uint8_t* out_upper) {
  for (int i = 0; i < n; ++i) {
    out_lower[i] = bf_clamped(lower[i] - slack, 0, highest);
    out_upper[i] = bf_clamped(upper[i] + slack, 0, highest);
  }
}

typedef enum { BF_CODES_RISE, BF_CODES_FALL, BF_CODES_DO_NEITHER } bf_code_order;

typedef struct {
  const uint8_t* code;  // [256]
  bf_code_order order;
} bf_code_table;

// Functions of single codes: the least and the largest that a table has between the bounds.
static inline void bf_integer_look_up(const bf_code_table* tables, bf_indices source,
                                      bf_indices table, int n, const uint8_t* lower,
                                      const uint8_t* upper, uint8_t* out_lower,
                                      uint8_t* out_upper) {
  for (int i = 0; i < n; ++i) {
    const bf_code_table* const of = tables + bf_index(table, i);
    const int from = bf_index(source, i);
    const int low = lower[from];
    const int high = upper[from];
    uint8_t least = of->code[of->order == BF_CODES_FALL ? high : low];
    uint8_t most = of->code[of->order == BF_CODES_FALL ? low : high];
    if (of->order == BF_CODES_DO_NEITHER)
      for (int c = low; c <= high; ++c) {
        if (of->code[c] < least) least = of->code[c];
        if (of->code[c] > most) most = of->code[c];
      }
    out_lower[i] = least;
    out_upper[i] = most;
  }
}
