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
//   spec       4 rows
//   workspace  64 bytes
//   weights    96 bytes
//   tasks      3
//
// This file and the headers that it includes may be used, changed and shipped by anyone,
// for any purpose, without attribution and without warranty (0BSD).
// clang-format off

#include "tiny_decide_generic.h"

#include "bf/contract/integers.h"
#include "bf/contract/spans.h"
#include "bf/core/bounds.h"
#include "bf/core/kernel.h"
#include "bf/search/branch_and_bound.h"
#include "bf/search/verdict.h"

static_assert(BF_ABI_VERSION == 2, "bf.h is of another version");

namespace {

using namespace bf::kernel;

// ---- constants

// Gemm 'fc1' + Relu 'relu1': [2, 2], as [1][2][2]
alignas(16) constexpr float h_weight[4] = {
    0x1p+0f, 0x1p-1f,
    -0x1p+1f, 0x1.8p+1f,
};

// Gemm 'fc1' + Relu 'relu1': [2, 2]
alignas(16) constexpr float h_bias[2] = {
    0x0p+0f, 0x1p+0f,
};

// Gemm 'fc2': [2, 2], as [1][2][2]
alignas(16) constexpr float y_weight[4] = {
    0x1p+0f, -0x1p-1f,
    -0x1p+0f, 0x1p-2f,
};

// Gemm 'fc2': [2, 2]
alignas(16) constexpr float y_bias[2] = {
    0x1p-1f, -0x1p+0f,
};

// Gemm 'fc2' + specification: [4, 2], as [1][2][4]
alignas(16) constexpr float y_spec_weight[8] = {
    0x1p+0f, 0x1.8p+0f, -0x1p-1f, 0x1p+1f,
    -0x1p+0f, -0x1.4p+0f, 0x1p-2f, -0x1.8p+0f,
};

// Gemm 'fc2' + specification: [4, 2]
alignas(16) constexpr float y_spec_bias[4] = {
    0x1p-1f, 0x1.8p+0f, -0x1p+0f, 0x1.4p+1f,
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
  float mid_tile[2] = {};
  float rad_tile[2] = {};
  for (int i = 0; i < 2; ++i) {
    const float c = centre[i];
    const float r = radius[i];
    BF_UNROLL(2)
    for (int v = 0; v < 2; ++v) {
      float w = weight[2 * i + v];
      mid_tile[v] += w * c;
      rad_tile[v] += magnitude(w) * r;
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
    const float spread = magnitude(z) * relative + (rad[v] * inflate + absolute);
    const float low = z - spread;
    const float high = z + spread;
    const float active_low = larger(0x0p+0f, low);
    const float active_high = larger(0x0p+0f, high);
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
  float mid_tile[2] = {};
  float rad_tile[2] = {};
  for (int i = 0; i < 2; ++i) {
    const float c = centre[i];
    const float r = radius[i];
    BF_UNROLL(2)
    for (int v = 0; v < 2; ++v) {
      float w = weight[2 * i + v];
      mid_tile[v] += w * c;
      rad_tile[v] += magnitude(w) * r;
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
    const float spread = magnitude(z) * relative + (rad[v] * inflate + absolute);
    const auto finite = spread <= 0x1.fffffep+127f;
    const float low = finite ? z - spread : -kInfinity;
    const float high = finite ? z + spread : kInfinity;
    lower[v] = low;
    upper[v] = high;
  }
}

// interval_affine.head/2x4/f32/panel4/lanes1/generic
//   lower <= W a + b <= upper for |a - centre| <= radius
//   schedule: 1 lanes x 4 vectors, chunks of 2, ends of tiles in a loop; longest sum: 4 roundings
BF_KERNEL interval_affine_head_2x4(const float* BF_RESTRICT weight, const float* BF_RESTRICT bias,
                                   const float* BF_RESTRICT centre,
                                   const float* BF_RESTRICT radius, float inflate, float relative,
                                   float absolute, float* BF_RESTRICT lower,
                                   float* BF_RESTRICT upper) {
  float mid_tile[4] = {};
  float rad_tile[4] = {};
  for (int i = 0; i < 2; ++i) {
    const float c = centre[i];
    const float r = radius[i];
    BF_UNROLL(4)
    for (int v = 0; v < 4; ++v) {
      float w = weight[4 * i + v];
      mid_tile[v] += w * c;
      rad_tile[v] += magnitude(w) * r;
    }
  }
  // Out of registers, for a loop over them.
  float mid[4];
  float rad[4];
  BF_UNROLL(4)
  for (int v = 0; v < 4; ++v) {
    mid[v] = mid_tile[v];
    rad[v] = rad_tile[v];
  }
  for (int v = 0; v < 4; ++v) {
    const float z = mid[v] + bias[v];
    const float spread = magnitude(z) * relative + (rad[v] * inflate + absolute);
    const auto finite = spread <= 0x1.fffffep+127f;
    const float low = finite ? z - spread : -kInfinity;
    const float high = finite ? z + spread : kInfinity;
    lower[v] = low;
    upper[v] = high;
  }
}

// evaluate_affine.relu/2x2/f32/panel2/lanes1/generic
//   y = relu(W x + b)
//   schedule: 1 lanes x 2 vectors, chunks of 2; longest sum: 4 roundings
BF_KERNEL evaluate_affine_relu_2x2(const float* BF_RESTRICT weight, const float* BF_RESTRICT bias,
                                   const float* BF_RESTRICT x, float* BF_RESTRICT y) {
  float sum[2] = {};
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
    y[v] = larger(sum[v] + bias[v], 0x0p+0f);
  }
}

// evaluate_affine.head/2x2/f32/panel2/lanes1/generic
//   y = W x + b
//   schedule: 1 lanes x 2 vectors, chunks of 2; longest sum: 4 roundings
BF_KERNEL evaluate_affine_head_2x2(const float* BF_RESTRICT weight, const float* BF_RESTRICT bias,
                                   const float* BF_RESTRICT x, float* BF_RESTRICT y) {
  float sum[2] = {};
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
constexpr float kGamma = 0x1.00000ep-22f;
constexpr float kGamma2 = 0x1.40001p-22f;

// kInflate: the factor on a computed radius or spread.
constexpr float kInflate = 0x1.00000ep+0f;

// kMagnitude: times a computed magnitude: roundings of what follows the sums.
constexpr float kMagnitude = 0x1.000008p-23f;

// kAbsolute: an addend for underflow and for what rounded biases lose.
constexpr float kAbsolute = 0x1.00001p-100f;

// ---- the property tiny_cases.vnnlib

namespace property {

constexpr float lower[6] = {
    -0x1p+0f, -0x1p+0f, 0x1.999998p-4f, -0x1p+0f, 0x1.4p+0f, 0x1.999998p-4f,
};
constexpr float upper[6] = {
    0x0p+0f, 0x1p+0f, 0x1p+0f, 0x1p+0f, 0x1.4p+0f, 0x1.99999ap-4f,
};
constexpr unsigned char inside[6] = {
    3, 3, 2, 3, 3, 0,
};
constexpr std::uint32_t case_clauses[4] = {
    0, 1, 4, 5,
};
constexpr std::uint32_t clause_terms[6] = {
    0, 1, 2, 4, 6, 7,
};
// row, at least, threshold
constexpr bf::VerdictTerm terms[7] = {
    {0, true, 0x1.4ccccep+1f}, {0, true, 0x1.b33334p+1f},
    {1, false, 0x0p+0f}, {2, true, 0x1.99999ap-3f},
    {0, true, 0x1.666668p-1f}, {0, false, 0x1.6b851ep-1f},
    {3, false, 0x0p+0f},
};
constexpr bf::PropertyTables tables = {2, 4, 3, lower, upper, inside,
                                       case_clauses, clause_terms, terms};

}  // namespace property

// What a change of each input can do to the rows at most, by which inputs are
// split; the greatest is 1.
constexpr float split_weights[2] = {
    0x1.45d174p-2f, 0x1p+0f,
};

}  // namespace

// ---- entry points

extern "C" {

bf_status tiny_bounds(const float* lower, const float* upper, float* out_lower, float* out_upper,
                      void* workspace, std::size_t workspace_bytes) {
  if (lower == nullptr || upper == nullptr || out_lower == nullptr || out_upper == nullptr)
    return BF_NULL_ARGUMENT;
  if (const bf_status status = bf::check_workspace(workspace, workspace_bytes,
                                                   TINY_WORKSPACE_BYTES, TINY_WORKSPACE_ALIGN))
    return status;
  const bf::Span spans[] = {{out_lower, 2 * sizeof(float)}, {out_upper, 2 * sizeof(float)},
                            {workspace, TINY_WORKSPACE_BYTES}, {lower, 2 * sizeof(float)},
                            {upper, 2 * sizeof(float)}};
  if (bf::overlap(spans, 5, 3)) return BF_OVERLAP;
  if (const bf_status status = bf::check_box(lower, upper, TINY_INPUTS)) return status;

  // The arena: what holds what, how many, in which tasks.
  float* const box_centre = at<float>(workspace, 0);  // [2], tasks 1 to 2
  float* const box_radius = at<float>(workspace, 16);  // [2], tasks 1 to 2
  float* const h_centre = at<float>(workspace, 32);  // [2], tasks 2 to 3
  float* const h_radius = at<float>(workspace, 48);  // [2], tasks 2 to 3

  // Task 1: bind box.
  bf::bind_box(lower, upper, 2, kGamma, box_centre, box_radius);

  // Task 2: forward h. Gemm 'fc1' + Relu 'relu1': [2] -> [2].
  interval_affine_relu_2x2(h_weight, h_bias, box_centre, box_radius, kInflate, kMagnitude,
                           kAbsolute, kGamma2, h_centre, h_radius);

  // Task 3: bound y. Gemm 'fc2': [2] -> [2].
  interval_affine_head_2x2(y_weight, y_bias, h_centre, h_radius, kInflate, kMagnitude, kAbsolute,
                           out_lower, out_upper);
  return BF_OK;
}

bf_status tiny_spec_bounds(const float* lower, const float* upper, float* out_lower,
                           float* out_upper, void* workspace, std::size_t workspace_bytes) {
  if (lower == nullptr || upper == nullptr || out_lower == nullptr || out_upper == nullptr)
    return BF_NULL_ARGUMENT;
  if (const bf_status status = bf::check_workspace(workspace, workspace_bytes,
                                                   TINY_WORKSPACE_BYTES, TINY_WORKSPACE_ALIGN))
    return status;
  const bf::Span spans[] = {{out_lower, 4 * sizeof(float)}, {out_upper, 4 * sizeof(float)},
                            {workspace, TINY_WORKSPACE_BYTES}, {lower, 2 * sizeof(float)},
                            {upper, 2 * sizeof(float)}};
  if (bf::overlap(spans, 5, 3)) return BF_OVERLAP;
  if (const bf_status status = bf::check_box(lower, upper, TINY_INPUTS)) return status;

  // The arena: what holds what, how many, in which tasks.
  float* const box_centre = at<float>(workspace, 0);  // [2], tasks 1 to 2
  float* const box_radius = at<float>(workspace, 16);  // [2], tasks 1 to 2
  float* const h_centre = at<float>(workspace, 32);  // [2], tasks 2 to 3
  float* const h_radius = at<float>(workspace, 48);  // [2], tasks 2 to 3

  // Task 1: bind box.
  bf::bind_box(lower, upper, 2, kGamma, box_centre, box_radius);

  // Task 2: forward h. Gemm 'fc1' + Relu 'relu1': [2] -> [2].
  interval_affine_relu_2x2(h_weight, h_bias, box_centre, box_radius, kInflate, kMagnitude,
                           kAbsolute, kGamma2, h_centre, h_radius);

  // Task 3: bound y_spec. Gemm 'fc2' + specification: [2] -> [4].
  interval_affine_head_2x4(y_spec_weight, y_spec_bias, h_centre, h_radius, kInflate, kMagnitude,
                           kAbsolute, out_lower, out_upper);
  return BF_OK;
}

bf_status tiny_verify(const float* lower, const float* upper, bf_result* result, void* workspace,
                      std::size_t workspace_bytes) {
  if (lower == nullptr || upper == nullptr || result == nullptr) return BF_NULL_ARGUMENT;
  if (const bf_status status = bf::check_workspace(workspace, workspace_bytes,
                                                   TINY_VERIFY_WORKSPACE_BYTES,
                                                   TINY_WORKSPACE_ALIGN))
    return status;
  const bf::Span spans[] = {{result, 1 * sizeof(bf_result)},
                            {workspace, TINY_VERIFY_WORKSPACE_BYTES}, {lower, 2 * sizeof(float)},
                            {upper, 2 * sizeof(float)}};
  if (bf::overlap(spans, 4, 2)) return BF_OVERLAP;
  if (bf::overlap(spans, 4, {result->counterexample, 2 * sizeof(float)})) return BF_OVERLAP;
  if (const bf_status status = bf::check_box(lower, upper, TINY_INPUTS)) return status;

  const auto bounds = [workspace](const float* low, const float* high, float* row_low,
                                  float* row_high) {
    return tiny_spec_bounds(low, high, row_low, row_high, workspace, TINY_WORKSPACE_BYTES);
  };
  return bf::verify_property(property::tables, lower, upper, result,
                             at<float>(workspace, TINY_WORKSPACE_BYTES), bounds);
}

bf_status tiny_property_box(std::size_t index, float* lower, float* upper) {
  if (lower == nullptr || upper == nullptr) return BF_NULL_ARGUMENT;
  const bf::Span spans[] = {{lower, 2 * sizeof(float)}, {upper, 2 * sizeof(float)}};
  if (bf::overlap(spans, 2, 2)) return BF_OVERLAP;
  if (index >= TINY_PROPERTY_CASES) return BF_NO_SUCH_CASE;
  for (std::size_t i = 0; i < TINY_INPUTS; ++i) {
    lower[i] = property::lower[index * TINY_INPUTS + i];
    upper[i] = property::upper[index * TINY_INPUTS + i];
  }
  return BF_OK;
}

bf_status tiny_decide(const float* lower, const float* upper, const bf_budget* budget,
                      bf_result* result, bf_search* search, void* workspace,
                      std::size_t workspace_bytes) {
  if (lower == nullptr || upper == nullptr || result == nullptr) return BF_NULL_ARGUMENT;
  if (const bf_status status = bf::check_workspace(workspace, workspace_bytes,
                                                   TINY_DECIDE_WORKSPACE_BYTES,
                                                   TINY_WORKSPACE_ALIGN))
    return status;
  const bf::Span spans[] = {{result, 1 * sizeof(bf_result)},
                            {search, search == nullptr ? 0 : 1 * sizeof(bf_search)},
                            {workspace, workspace_bytes}, {lower, 2 * sizeof(float)},
                            {upper, 2 * sizeof(float)},
                            {budget, budget == nullptr ? 0 : 1 * sizeof(bf_budget)}};
  if (bf::overlap(spans, 6, 3)) return BF_OVERLAP;
  if (bf::overlap(spans, 6, {result->counterexample, 2 * sizeof(float)})) return BF_OVERLAP;
  if (const bf_status status = bf::check_box(lower, upper, TINY_INPUTS)) return status;

  static_assert(TINY_OPEN_BOX_BYTES == bf::open_box_bytes(TINY_INPUTS)
                    && TINY_DECIDE_WORKSPACE_BYTES - TINY_WORKSPACE_BYTES
                           > bf::round_bytes(TINY_INPUTS, 4, 1, false) + 2 * TINY_OPEN_BOX_BYTES,
                "the workspace is of another version");
  const auto together = [workspace](std::size_t, const float* low, const float* high,
                                    float* row_low, float* row_high, float*, bf_status*) {
    return tiny_spec_bounds(low, high, row_low, row_high, workspace, TINY_WORKSPACE_BYTES);
  };
  return bf::decide_property(property::tables, split_weights, false, lower, upper, 1, budget,
                             result, search, at<float>(workspace, TINY_WORKSPACE_BYTES),
                             workspace_bytes - TINY_WORKSPACE_BYTES, together);
}

bf_status tiny_evaluate(const float* x, float* y, void* workspace, std::size_t workspace_bytes) {
  if (x == nullptr || y == nullptr) return BF_NULL_ARGUMENT;
  if (const bf_status status = bf::check_workspace(workspace, workspace_bytes,
                                                   TINY_WORKSPACE_BYTES, TINY_WORKSPACE_ALIGN))
    return status;
  const bf::Span spans[] = {{y, 2 * sizeof(float)}, {workspace, TINY_WORKSPACE_BYTES},
                            {x, 2 * sizeof(float)}};
  if (bf::overlap(spans, 3, 2)) return BF_OVERLAP;
  if (const bf_status status = bf::check_box(x, x, TINY_INPUTS)) return status;

  // The arena: what holds what, how many, in which tasks.
  float* const h_value = at<float>(workspace, 0);  // [2], tasks 1 to 2

  // Task 1: forward h. Gemm 'fc1' + Relu 'relu1': [2] -> [2].
  evaluate_affine_relu_2x2(h_weight, h_bias, x, h_value);

  // Task 2: evaluate y. Gemm 'fc2': [2] -> [2].
  evaluate_affine_head_2x2(y_weight, y_bias, h_value, y);
  return BF_OK;
}

const char* tiny_status_text(bf_status status) {
  __underlying_type(bf_status) number;
  __builtin_memcpy(&number, &status, sizeof number);
  switch (number) {
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
    case BF_NO_SUCH_CASE:
      return "no such case of the property";
    case BF_OVERLAP:
      return "arrays that overlap each other, the workspace or the context";
    default:
      break;
  }
  return "no status of this verifier";
}

const bf_model_info* tiny_info(void) {
  static constexpr bf_model_info info = {
      "tiny", TINY_MODEL_SHA256, "ibp", "real", "0.2.0",
      TINY_INPUTS, TINY_OUTPUTS, TINY_SPEC_ROWS,
      TINY_WORKSPACE_BYTES, TINY_WORKSPACE_ALIGN, TINY_WEIGHTS_BYTES, BF_ABI_VERSION};
  return &info;
}

}  // extern "C"
