// tiny: guaranteed bounds on a network's outputs. Do not edit.
//
//   made by    bf-aot 0.2.0 from tiny.onnx
//   sha256     4616919cd2d1c35cf2c1fcbee30afbeb656c57832eff2fa7a25dbbc93f1aa30f
//   opset      13
//   method     crown, semantics real, generic code for generic
//   covers     the network in exact arithmetic. An evaluation in float32, as that of
//              tiny_evaluate, rounds and may leave them: --semantics float32 covers it.
//   inputs     x [1, 2]
//   outputs    y [1, 2]
//   workspace  288 bytes
//   weights    80 bytes
//   tasks      3
//
// This file and the headers that it includes may be used, changed and shipped by anyone,
// for any purpose, without attribution and without warranty (0BSD).
// clang-format off

#include "tiny_crown_c.h"

#include "bf/c/checks.h"
#include "bf/c/core.h"
#include "bf/c/bounds.h"
#include "bf/c/terms.h"
#include "bf/c/relax.h"

#if BF_ABI_VERSION != 2
#error "bf.h is of another version"
#endif

// ---- constants

// Gemm 'fc1' + Relu 'relu1': [2, 2], as [1][2][2]
static const float h_weight[4] = {
    0x1p+0f, 0x1p-1f,
    -0x1p+1f, 0x1.8p+1f,
};

// Gemm 'fc1' + Relu 'relu1': [2, 2]
static const float h_bias[2] = {
    0x0p+0f, 0x1p+0f,
};

// Gemm 'fc1' + Relu 'relu1': [2, 2]
static const double h_bias_double[2] = {
    0x0p+0, 0x1p+0,
};

// Gemm 'fc2': [2, 2], as [1][2][2]
static const float y_weight[4] = {
    0x1p+0f, -0x1p-1f,
    -0x1p+0f, 0x1p-2f,
};

// Gemm 'fc2': [2, 2]
static const float y_bias[2] = {
    0x1p-1f, -0x1p+0f,
};

// Gemm 'fc2': [2, 2]
static const double y_bias_double[2] = {
    0x1p-1, -0x1p+0,
};

// ---- kernels

// centre_affine/2x2/f32/panel2/lanes1/generic
//   out_centre = W centre + b in double, out_radius = |W| radius
//   schedule: 1 lanes x 2 vectors, chunks of 2; longest sum: 4 roundings
BF_KERNEL centre_affine_2x2(const float* BF_RESTRICT weight, const double* BF_RESTRICT bias,
                            const double* BF_RESTRICT centre, const float* BF_RESTRICT radius,
                            double* BF_RESTRICT out_centre, float* BF_RESTRICT out_radius) {
  {
    float rad[2] = {0};
    for (int i = 0; i < 2; ++i) {
      const float r = radius[i];
      BF_UNROLL(2)
      for (int v = 0; v < 2; ++v) {
        const float w = weight[2 * i + v];
        rad[v] += bf_magnitude_float(w) * r;
      }
    }
    BF_UNROLL(2)
    for (int v = 0; v < 2; ++v) {
      out_radius[v] = rad[v];
    }
  }
  {
    double mid[2] = {0};
    for (int i = 0; i < 2; ++i) {
      const double c = centre[i];
      BF_UNROLL(2)
      for (int v = 0; v < 2; ++v) {
        const double w = (double)(weight[2 * i + v]);
        mid[v] += w * c;
      }
    }
    BF_UNROLL(2)
    for (int v = 0; v < 2; ++v) {
      out_centre[v] = mid[v] + bias[v];
    }
  }
}

// backward_affine/2x2/rows4/f32/panel2/lanes1/generic
//   coefficients over relu(z) -> slopes x coefficients over z -> result over a
//   schedule: 1 lanes x 4 vectors x 2 columns, chunks of 2; longest sum: 4 roundings
BF_KERNEL backward_affine_2x2_rows4(const float* BF_RESTRICT weight,
                                    const float* BF_RESTRICT table,
                                    float* BF_RESTRICT coefficients, float* BF_RESTRICT sums,
                                    float* BF_RESTRICT result) {
  {
    float offset[4] = {0};
    for (int j = 0; j < 2; ++j) {
      const float slope_upper = table[j];
      const float slope_lower = table[j + 2];
      const float offset_upper = table[j + 4];
      const float offset_lower = table[j + 6];
      BF_UNROLL(4)
      for (int v = 0; v < 4; ++v) {
        const float a = coefficients[4 * j + v];
        const bool negative = a < 0x0p+0f;
        coefficients[4 * j + v] = a * (negative ? slope_upper : slope_lower);
        offset[v] += a * (negative ? offset_upper : offset_lower);
      }
    }
    BF_UNROLL(4)
    for (int v = 0; v < 4; ++v) {
      sums[v] = sums[v] + offset[v];
    }
  }
  {
    float sum[2][4] = {{0}};
    for (int j = 0; j < 2; ++j) {
      BF_UNROLL(2)
      for (int k = 0; k < 2; ++k) {
        const float w = weight[2 * k + j];
        BF_UNROLL(4)
        for (int v = 0; v < 4; ++v) {
          const float a = coefficients[4 * j + v];
          sum[k][v] += w * a;
        }
      }
    }
    BF_UNROLL(2)
    for (int k = 0; k < 2; ++k) {
      BF_UNROLL(4)
      for (int v = 0; v < 4; ++v) {
        result[4 * k + v] = sum[k][v];
      }
    }
  }
}

// concretize/2/rows4/f32/panel0/lanes1/generic
//   spread = sum_k |coefficients_k| radius_k
//   schedule: 1 lanes x 4 vectors; longest sum: 4 roundings
BF_KERNEL concretize_2_rows4(const float* BF_RESTRICT coefficients,
                             const float* BF_RESTRICT radius, float* BF_RESTRICT spread) {
  float sum[4] = {0};
  for (int k = 0; k < 2; ++k) {
    const float radius_k = radius[k];
    BF_UNROLL(4)
    for (int v = 0; v < 4; ++v) {
      const float a = coefficients[4 * k + v];
      sum[v] += bf_magnitude_float(a) * radius_k;
    }
  }
  BF_UNROLL(4)
  for (int v = 0; v < 4; ++v) {
    spread[v] = sum[v];
  }
}

// evaluate_affine.relu/2x2/f32/panel2/lanes1/generic
//   y = relu(W x + b)
//   schedule: 1 lanes x 2 vectors, chunks of 2; longest sum: 4 roundings
BF_KERNEL evaluate_affine_relu_2x2(const float* BF_RESTRICT weight, const float* BF_RESTRICT bias,
                                   const float* BF_RESTRICT x, float* BF_RESTRICT y) {
  float sum[2] = {0};
  for (int i = 0; i < 2; ++i) {
    const float a = x[i];
    BF_UNROLL(2)
    for (int v = 0; v < 2; ++v) {
      const float w = weight[2 * i + v];
      sum[v] += w * a;
    }
  }
  BF_UNROLL(2)
  for (int v = 0; v < 2; ++v) {
    y[v] = bf_larger_float(sum[v] + bias[v], 0x0p+0f);
  }
}

// evaluate_affine.head/2x2/f32/panel2/lanes1/generic
//   y = W x + b
//   schedule: 1 lanes x 2 vectors, chunks of 2; longest sum: 4 roundings
BF_KERNEL evaluate_affine_head_2x2(const float* BF_RESTRICT weight, const float* BF_RESTRICT bias,
                                   const float* BF_RESTRICT x, float* BF_RESTRICT y) {
  float sum[2] = {0};
  for (int i = 0; i < 2; ++i) {
    const float a = x[i];
    BF_UNROLL(2)
    for (int v = 0; v < 2; ++v) {
      const float w = weight[2 * i + v];
      sum[v] += w * a;
    }
  }
  BF_UNROLL(2)
  for (int v = 0; v < 2; ++v) {
    y[v] = sum[v] + bias[v];
  }
}

// ---- error constants: what rounding may cost, rounded up

// kInflate: the factor on a computed radius or spread.
static const double kInflate = 0x1.0000040001205p+0;

// kAbsolute: an addend for underflow and for what rounded biases lose.
static const double kAbsolute = 0x1.3000000000002p-144;
static const double kAbsolute2 = 0x1.8p-145;
static const double kAbsolute3 = 0x1.0000000000002p-144;

// kCentreRelative: gamma of a centre in double.
static const double kCentreRelative = 0x1.400000000140cp-50;

// kRowNorm: the largest sum of magnitudes of a row of weights.
static const double kRowNorm = 0x1.c000000000009p+1;
static const double kRowNorm2 = 0x1.0000000000007p+1;

// kBiasNorm: the largest magnitude of a bias.
static const double kBiasNorm = 0x1.0000000000005p+0;

// kRowBias: times a bias: 1, and what it may miss itself, relative to its centre's gamma.
static const double kRowBias = 0x1p+0;

// kProduct: gamma of a product with weights, and what rounded weights lose.
static const double kProduct = 0x1.0000040000105p-22;

// kWideProduct: gamma of a product in double, and what rounded weights lose.
static const double kWideProduct = 0x1.0000000000007p-51;

// kStored: rounding of a sum in double to float, relative.
static const double kStored = 0x1p-24;

// kSlope: rounding of coefficient times slope, relative.
static const double kSlope = 0x1p-24;

// kOffset: gamma of the sum of coefficients times offsets.
static const double kOffset = 0x1.8000090000367p-22;

// kConcretize: the factor on the computed sum of magnitudes of coefficients.
static const double kConcretize = 0x1.0000040000205p+0;

// kWeightRelative: what the rounded weights of a row lose, relative to its radius.
static const double kWeightRelative = 0x0p+0;

// kUnderflow: a product that underflows, for each that relaxations counted.
static const double kUnderflow = 0x1p-147;

// ---- entry points

bf_status tiny_bounds(const float *lower, const float *upper, float *out_lower, float *out_upper,
                      void *workspace, size_t workspace_bytes) {
  if (lower == NULL || upper == NULL || out_lower == NULL || out_upper == NULL)
    return BF_NULL_ARGUMENT;
  const bf_status memory = bf_check_workspace(workspace, workspace_bytes, TINY_WORKSPACE_BYTES,
                                              TINY_WORKSPACE_ALIGN);
  if (memory != BF_OK) return memory;
  const bf_span spans[] = {{out_lower, 2 * sizeof(float)}, {out_upper, 2 * sizeof(float)},
                           {workspace, TINY_WORKSPACE_BYTES}, {lower, 2 * sizeof(float)},
                           {upper, 2 * sizeof(float)}};
  if (bf_overlap(spans, 5, 3)) return BF_OVERLAP;
  const bf_status box = bf_check_box(lower, upper, TINY_INPUTS);
  if (box != BF_OK) return box;

  // The arena: what holds what, how many, in which tasks.
  double* const box_centre = BF_DOUBLE_AT(workspace, 0);  // [2], tasks 1 to 2
  float* const box_radius = BF_FLOAT_AT(workspace, 176);  // [2], tasks 1 to 3
  double* const h_centre = BF_DOUBLE_AT(workspace, 112);  // [2], tasks 2 to 3
  float* const h_radius = BF_FLOAT_AT(workspace, 128);  // [2], tasks 2 to 3
  float* const h_below = BF_FLOAT_AT(workspace, 80);  // [2], task 2
  double* const h_slack = BF_DOUBLE_AT(workspace, 48);  // [4], tasks 2 to 3
  double* const h_row_slack = BF_DOUBLE_AT(workspace, 96);  // [2], task 2
  float* const h_relaxation = BF_FLOAT_AT(workspace, 0);  // [12], tasks 2 to 3
  double* const y_centre = BF_DOUBLE_AT(workspace, 192);  // [2], task 3
  float* const y_radius = BF_FLOAT_AT(workspace, 208);  // [2], task 3
  float* const y_below = BF_FLOAT_AT(workspace, 224);  // [2], task 3
  float* const y_above = BF_FLOAT_AT(workspace, 240);  // [2], task 3
  double* const y_slack = BF_DOUBLE_AT(workspace, 80);  // [4], task 3
  double* const y_row_slack = BF_DOUBLE_AT(workspace, 256);  // [2], task 3
  int32_t* const y_rows = BF_INT32_AT(workspace, 272);  // [2], task 3
  float* const y_sums = BF_FLOAT_AT(workspace, 80);  // [8], task 3
  float* const y_over_h = BF_FLOAT_AT(workspace, 112);  // [8], task 3
  float* const y_over_box = BF_FLOAT_AT(workspace, 144);  // [8], task 3

  // Task 1: bind box.
  bf_bind_double(lower, upper, 2, box_centre, box_radius);

  // Task 2: forward + relax h. Gemm 'fc1' + Relu 'relu1': [2] -> [2].
  centre_affine_2x2(h_weight, h_bias_double, box_centre, box_radius, h_centre, h_radius);
  bf_centre_slack(box_centre, box_radius, 2, kCentreRelative, kRowNorm, kBiasNorm, kAbsolute,
                  h_slack);
  bf_start_row_slack(h_bias_double, 2, 1, h_radius, kRowBias, h_slack, h_row_slack);
  bf_dense_row_slack(h_weight, 2, 2, box_centre, 2, h_slack, h_row_slack);
  bf_finish_row_slack(2, kCentreRelative, kAbsolute2, h_slack, h_row_slack);
  bf_interval_around(h_radius, 2, kInflate, h_row_slack, h_below, h_below);
  bf_relax(2, true, h_centre, h_below, h_below, h_radius,
           &(const bf_relax_errors){kProduct, kWideProduct, kStored, kSlope, kOffset, kInflate},
           h_slack, h_row_slack, h_relaxation, h_centre, h_radius);

  // Task 3: forward + backward + write y. Gemm 'fc2': [2] -> [2].
  centre_affine_2x2(y_weight, y_bias_double, h_centre, h_radius, y_centre, y_radius);
  bf_centre_slack(h_centre, h_radius, 2, kCentreRelative, kRowNorm2, kBiasNorm, kAbsolute3,
                  y_slack);
  bf_start_row_slack(y_bias_double, 2, 1, y_radius, kRowBias, y_slack, y_row_slack);
  bf_dense_row_slack(y_weight, 2, 2, h_centre, 2, y_slack, y_row_slack);
  bf_finish_row_slack(2, kCentreRelative, kAbsolute2, y_slack, y_row_slack);
  bf_interval_around(y_radius, 2, kInflate, y_row_slack, y_below, y_above);
  {
    const int count = bf_list_all(2, y_rows);
    bf_pad_list(y_rows, count, 2);
    const bf_row_errors errors = {kConcretize, kWeightRelative, kInflate,
                                  kUnderflow * (2 + h_slack[2]), y_row_slack};
    for (int first = 0; first < count; first += 2) {
      bf_start_rows(2, y_weight, 2, 2, y_rows + first, y_over_h, NULL);
      for (int i = 0; i < 4; ++i) y_sums[i] = 0;
      backward_affine_2x2_rows4(h_weight, h_relaxation, y_over_h, y_sums, y_over_box);
      concretize_2_rows4(y_over_box, box_radius, y_sums + 4);
      bf_tighten_rows(y_rows + first, bf_smaller(2, count - first), 2, y_sums, &errors, y_radius,
                      y_below, y_above);
    }
  }
  bf_write_bounds(2, false, y_centre, y_below, y_above, out_lower, out_upper);
  return BF_OK;
}

bf_status tiny_evaluate(const float *x, float *y, void *workspace, size_t workspace_bytes) {
  if (x == NULL || y == NULL) return BF_NULL_ARGUMENT;
  const bf_status memory = bf_check_workspace(workspace, workspace_bytes, TINY_WORKSPACE_BYTES,
                                              TINY_WORKSPACE_ALIGN);
  if (memory != BF_OK) return memory;
  const bf_span spans[] = {{y, 2 * sizeof(float)}, {workspace, TINY_WORKSPACE_BYTES},
                           {x, 2 * sizeof(float)}};
  if (bf_overlap(spans, 3, 2)) return BF_OVERLAP;
  const bf_status box = bf_check_box(x, x, TINY_INPUTS);
  if (box != BF_OK) return box;

  // The arena: what holds what, how many, in which tasks.
  float* const h_value = BF_FLOAT_AT(workspace, 0);  // [2], tasks 1 to 2

  // Task 1: forward h. Gemm 'fc1' + Relu 'relu1': [2] -> [2].
  evaluate_affine_relu_2x2(h_weight, h_bias, x, h_value);

  // Task 2: evaluate y. Gemm 'fc2': [2] -> [2].
  evaluate_affine_head_2x2(y_weight, y_bias, h_value, y);
  return BF_OK;
}

const char *tiny_status_text(bf_status status) {
  switch (status) {
    case BF_OK:
      return "ok";
    case BF_NULL_ARGUMENT:
      return "null pointer argument";
    case BF_NAN_INPUT:
      return "NaN in the input box";
    case BF_EMPTY_BOX:
      return "lower bound greater than upper bound";
    case BF_INFINITE_BOX:
      return "infinite bound in the input box";
    case BF_WORKSPACE_TOO_SMALL:
      return "workspace too small";
    case BF_WORKSPACE_MISALIGNED:
      return "workspace misaligned";
    case BF_FLOAT_ENVIRONMENT:
      return "rounding not to nearest, subnormals flushed to zero, or products fused";
    case BF_OVERLAP:
      return "arrays that overlap each other, the workspace or the context";
    default:
      break;
  }
  return "no status of this verifier";
}

const bf_model_info *tiny_info(void) {
  static const bf_model_info info = {
      "tiny", TINY_MODEL_SHA256, "crown", "real", "0.2.0",
      TINY_INPUTS, TINY_OUTPUTS, TINY_SPEC_ROWS,
      TINY_WORKSPACE_BYTES, TINY_WORKSPACE_ALIGN, TINY_WEIGHTS_BYTES, BF_ABI_VERSION};
  return &info;
}

