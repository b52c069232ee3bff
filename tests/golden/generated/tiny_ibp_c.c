// tiny: guaranteed bounds on a network's outputs. Do not edit.
//
//   made by    bf-aot 0.2.0 from tiny.onnx
//   sha256     4616919cd2d1c35cf2c1fcbee30afbeb656c57832eff2fa7a25dbbc93f1aa30f
//   opset      13
//   method     ibp, semantics real, generic code for generic
//   covers     the network in exact arithmetic. An evaluation in float32, as that of
//              tiny_evaluate, rounds and may leave them: --semantics float32 covers it.
//   inputs     x [1, 2]
//   outputs    y [1, 2]
//   workspace  64 bytes
//   weights    48 bytes
//   tasks      3
//
// This file and the headers that it includes may be used, changed and shipped by anyone,
// for any purpose, without attribution and without warranty (0BSD).
// clang-format off

#include "tiny_ibp_c.h"

#include "bf/c/checks.h"
#include "bf/c/core.h"
#include "bf/c/bounds.h"

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

// Gemm 'fc2': [2, 2], as [1][2][2]
static const float y_weight[4] = {
    0x1p+0f, -0x1p-1f,
    -0x1p+0f, 0x1p-2f,
};

// Gemm 'fc2': [2, 2]
static const float y_bias[2] = {
    0x1p-1f, -0x1p+0f,
};

// ---- kernels

// interval_affine.relu/2x2/f32/panel2/lanes1/generic
//   centre and radius of W a + b for |a - centre| <= radius, after ReLU
//   schedule: 1 lanes x 2 vectors, chunks of 2, ends of tiles in a loop; longest sum: 4 roundings
BF_KERNEL interval_affine_relu_2x2(const float* BF_RESTRICT weight, const float* BF_RESTRICT bias,
                                   const float* BF_RESTRICT centre,
                                   const float* BF_RESTRICT radius, float inflate, float relative,
                                   float absolute, float gamma, float* BF_RESTRICT out_centre,
                                   float* BF_RESTRICT out_radius) {
  float mid_tile[2] = {0};
  float rad_tile[2] = {0};
  for (int i = 0; i < 2; ++i) {
    const float c = centre[i];
    const float r = radius[i];
    BF_UNROLL(2)
    for (int v = 0; v < 2; ++v) {
      float w = weight[2 * i + v];
      mid_tile[v] += w * c;
      rad_tile[v] += bf_magnitude_float(w) * r;
    }
  }
  // Out of registers, for a loop over them.
  float mid[2];
  float rad[2];
  BF_UNROLL(2)
  for (int v = 0; v < 2; ++v) {
    mid[v] = mid_tile[v];
    rad[v] = rad_tile[v];
  }
  for (int v = 0; v < 2; ++v) {
    const float z = mid[v] + bias[v];
    const float spread = bf_magnitude_float(z) * relative + (rad[v] * inflate + absolute);
    const float low = z - spread;
    const float high = z + spread;
    const float active_low = bf_larger_float(0x0p+0f, low);
    const float active_high = bf_larger_float(0x0p+0f, high);
    const float new_centre = 0x1p-1f * (active_low + active_high);
    const float width = active_high - active_low;
    out_centre[v] = new_centre;
    out_radius[v] = width * 0x1.000004p-1f + new_centre * gamma;
  }
}

// interval_affine.head/2x2/f32/panel2/lanes1/generic
//   lower <= W a + b <= upper for |a - centre| <= radius
//   schedule: 1 lanes x 2 vectors, chunks of 2, ends of tiles in a loop; longest sum: 4 roundings
BF_KERNEL interval_affine_head_2x2(const float* BF_RESTRICT weight, const float* BF_RESTRICT bias,
                                   const float* BF_RESTRICT centre,
                                   const float* BF_RESTRICT radius, float inflate, float relative,
                                   float absolute, float* BF_RESTRICT lower,
                                   float* BF_RESTRICT upper) {
  float mid_tile[2] = {0};
  float rad_tile[2] = {0};
  for (int i = 0; i < 2; ++i) {
    const float c = centre[i];
    const float r = radius[i];
    BF_UNROLL(2)
    for (int v = 0; v < 2; ++v) {
      float w = weight[2 * i + v];
      mid_tile[v] += w * c;
      rad_tile[v] += bf_magnitude_float(w) * r;
    }
  }
  // Out of registers, for a loop over them.
  float mid[2];
  float rad[2];
  BF_UNROLL(2)
  for (int v = 0; v < 2; ++v) {
    mid[v] = mid_tile[v];
    rad[v] = rad_tile[v];
  }
  for (int v = 0; v < 2; ++v) {
    const float z = mid[v] + bias[v];
    const float spread = bf_magnitude_float(z) * relative + (rad[v] * inflate + absolute);
    const bool finite = spread <= 0x1.fffffep+127f;
    const float low = finite ? z - spread : -BF_INFINITY;
    const float high = finite ? z + spread : BF_INFINITY;
    lower[v] = low;
    upper[v] = high;
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

// kGamma: gamma of the sums that a reader makes of it: times |x|.
static const float kGamma = 0x1.00000ep-22f;
static const float kGamma2 = 0x1.40001p-22f;

// kInflate: the factor on a computed radius or spread.
static const float kInflate = 0x1.00000ep+0f;

// kMagnitude: times a computed magnitude: roundings of what follows the sums.
static const float kMagnitude = 0x1.000008p-23f;

// kAbsolute: an addend for underflow and for what rounded biases lose.
static const float kAbsolute = 0x1.00001p-100f;

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
  float* const box_centre = BF_FLOAT_AT(workspace, 0);  // [2], tasks 1 to 2
  float* const box_radius = BF_FLOAT_AT(workspace, 16);  // [2], tasks 1 to 2
  float* const h_centre = BF_FLOAT_AT(workspace, 32);  // [2], tasks 2 to 3
  float* const h_radius = BF_FLOAT_AT(workspace, 48);  // [2], tasks 2 to 3

  // Task 1: bind box.
  bf_bind_float(lower, upper, 2, kGamma, box_centre, box_radius);

  // Task 2: forward h. Gemm 'fc1' + Relu 'relu1': [2] -> [2].
  interval_affine_relu_2x2(h_weight, h_bias, box_centre, box_radius, kInflate, kMagnitude,
                           kAbsolute, kGamma2, h_centre, h_radius);

  // Task 3: bound y. Gemm 'fc2': [2] -> [2].
  interval_affine_head_2x2(y_weight, y_bias, h_centre, h_radius, kInflate, kMagnitude, kAbsolute,
                           out_lower, out_upper);
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
      "tiny", TINY_MODEL_SHA256, "ibp", "real", "0.2.0",
      TINY_INPUTS, TINY_OUTPUTS, TINY_SPEC_ROWS,
      TINY_WORKSPACE_BYTES, TINY_WORKSPACE_ALIGN, TINY_WEIGHTS_BYTES, BF_ABI_VERSION};
  return &info;
}

