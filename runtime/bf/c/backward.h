#pragma once

#include "bf/c/relax.h"
#include "bf/c/terms.h"

// Backward rows through layers that are not dense: bf/sums/backward.h in C99. Coefficients are
// [element][rows] floats, sums of rows [2][rows]: offsets, spreads. A row's sums do not depend on
// the others, which go one after the other here, or are dealt out to the items of a group.

// Neurons of a float32 chain of products with offsets: kSumChain in bf/contract/chains.h.
#define BF_SUM_CHAIN 8

BF_FUNCTION void bf_clear_rows(int rows, int n, BF_GLOBAL float* coefficients) {
  BF_EACH_OF(ptrdiff_t, i, (ptrdiff_t)n * rows) coefficients[i] = 0.0f;
}

// Clears the coefficients over n neurons that rows are then added to, unless they hold others.
// Whoever adds deals out rows: each has one item, whatever neurons its products come to.
BF_FUNCTION void bf_begin_rows(bool add, int rows, int n, BF_GLOBAL float* coefficients) {
  if (!add) {
    bf_clear_rows(rows, n, coefficients);
    BF_BARRIER;
  }
}

// to += from, n neurons.
BF_FUNCTION void bf_add_rows(int rows, int n, BF_GLOBAL const float* from, BF_GLOBAL float* to) {
  BF_EACH_OF(ptrdiff_t, i, (ptrdiff_t)n * rows) to[i] += from[i];
}

// A row's sum of A offset over a layer's neurons: float chains of BF_SUM_CHAIN, then doubles.
typedef struct bf_line_sum {
  float chain;
  int used;
  double total;
} bf_line_sum;

BF_FUNCTION bf_line_sum bf_no_line_sum(void) {
  const bf_line_sum made = {0.0f, 0, 0.0};
  return made;
}

// Returns A slope with the line of the sign of A, whose offset goes to the sum. line: the first
// neuron's column of a table of n; offsets: of the rows of offsets.
BF_FUNCTION float bf_relax_coefficient(float a, BF_GLOBAL const float* line,
                                       BF_GLOBAL const float* offsets, ptrdiff_t n,
                                       bf_line_sum* sum) {
  const bool negative = a < 0.0f;
  if (sum->used == BF_SUM_CHAIN) {
    sum->total += (double)sum->chain;
    sum->chain = 0.0f;
    sum->used = 0;
  }
  sum->chain += a * (negative ? offsets[0] : offsets[n]);
  ++sum->used;
  return a * (negative ? line[0] : line[n]);
}

BF_FUNCTION void bf_store_line_sum(const bf_line_sum* sum, BF_GLOBAL float* to) {
  *to = (float)((double)*to + (sum->total + (double)sum->chain));
}

// Passes rows through the relaxation of n neurons. table: as bf_relax() makes it; offsets: its two
// rows for the products that follow. In place, or not.
BF_FUNCTION void bf_relax_rows(int rows, int n, BF_GLOBAL const float* table,
                               BF_GLOBAL const float* offsets, BF_GLOBAL const float* from,
                               BF_GLOBAL float* to, BF_GLOBAL float* sums) {
  BF_EACH (r, rows) {
    bf_line_sum sum = bf_no_line_sum();
    for (int j = 0; j < n; ++j) {
      const ptrdiff_t at = (ptrdiff_t)j * rows + r;
      to[at] = bf_relax_coefficient(from[at], table + j, offsets + j, n, &sum);
    }
    bf_store_line_sum(&sum, sums + r);
  }
}

// Adds a coefficient times a weight to the rows of an input.
BF_FUNCTION void bf_add_scaled(int rows, float w, BF_GLOBAL const float* from,
                               BF_GLOBAL float* to) {
  BF_EACH (r, rows) to[r] += w * from[r];
}

BF_FUNCTION void bf_sparse_backward(int rows, int n, BF_GLOBAL const int32_t* row_start,
                                    BF_GLOBAL const int32_t* column, BF_GLOBAL const float* weight,
                                    int in, BF_GLOBAL const float* from, bool add,
                                    BF_GLOBAL float* to) {
  bf_begin_rows(add, rows, in, to);
  for (int i = 0; i < n; ++i)
    for (int32_t k = row_start[i]; k < row_start[i + 1]; ++k)
      bf_add_scaled(rows, weight[k], from + (ptrdiff_t)i * rows, to + (ptrdiff_t)column[k] * rows);
}

BF_FUNCTION void bf_gather_backward(int rows, int n, bf_sources source, int in,
                                    BF_GLOBAL const float* from, bool add, BF_GLOBAL float* to) {
  bf_begin_rows(add, rows, in, to);
  for (int i = 0; i < n; ++i) {
    const int k = bf_source_of(&source, i);
    if (k >= 0) bf_add_rows(rows, 1, from + (ptrdiff_t)i * rows, to + (ptrdiff_t)k * rows);
  }
}

// Adds weight w of input k to row r and its negation.
BF_FUNCTION void bf_add_start(int rows, ptrdiff_t k, int r, float w,
                              BF_GLOBAL float* coefficients) {
  coefficients[k * rows + r] += w;
  coefficients[k * rows + rows / 2 + r] -= w;
}

// The first coefficients of rows +z_i and -z_i of one term for rows / 2 neurons.
BF_FUNCTION void bf_sparse_start(int rows, BF_GLOBAL const int32_t* row_start,
                                 BF_GLOBAL const int32_t* column, BF_GLOBAL const float* weight,
                                 int in, BF_GLOBAL const int32_t* neurons, bool add,
                                 BF_GLOBAL float* coefficients) {
  bf_begin_rows(add, rows, in, coefficients);
  BF_EACH (r, rows / 2)
    for (int32_t k = row_start[neurons[r]]; k < row_start[neurons[r] + 1]; ++k)
      bf_add_start(rows, (ptrdiff_t)column[k], r, weight[k], coefficients);
}

BF_FUNCTION void bf_gather_start(int rows, bf_sources source, int in,
                                 BF_GLOBAL const int32_t* neurons, bool add,
                                 BF_GLOBAL float* coefficients) {
  bf_begin_rows(add, rows, in, coefficients);
  BF_EACH (r, rows / 2) {
    const int k = bf_source_of(&source, (int)neurons[r]);
    if (k >= 0) bf_add_start(rows, k, r, 1.0f, coefficients);
  }
}
