// tiny: guaranteed bounds on a network's outputs. Do not edit.
//
//   made by    bf-aot 0.2.0 from tiny.onnx
//   sha256     4616919cd2d1c35cf2c1fcbee30afbeb656c57832eff2fa7a25dbbc93f1aa30f
//   opset      13
//   method     ibp, semantics real, vector code for x86-64-v3
//   covers     the network in exact arithmetic. An evaluation in float32, as that of
//              tiny_evaluate, rounds and may leave them: --semantics float32 covers it.
//   inputs     x [1, 2]
//   outputs    y [1, 2]
//   workspace  128 bytes
//   weights    192 bytes
//   tasks      3
//
// This file and the headers that it includes may be used, changed and shipped by anyone,
// for any purpose, without attribution and without warranty (0BSD).
// clang-format off

#include "tiny_ibp_vector.h"

#include "bf/contract/integers.h"
#include "bf/contract/spans.h"
#include "bf/core/bounds.h"
#include "bf/core/kernel.h"

static_assert(BF_ABI_VERSION == 2, "bf.h is of another version");

#if !defined(__AVX2__)
#error "this verifier is for x86-64-v3: compile it with -march=x86-64-v3"
#endif

namespace {

using namespace bf::kernel;

using f32x8 = float __attribute__((vector_size(32)));

// ---- constants

// Gemm 'fc1' + Relu 'relu1': [2, 2], as [1][2][8]
alignas(32) constexpr float h_weight[16] = {
    0x1p+0f, 0x1p-1f, 0x0p+0f, 0x0p+0f, 0x0p+0f, 0x0p+0f,
    0x0p+0f, 0x0p+0f, -0x1p+1f, 0x1.8p+1f, 0x0p+0f, 0x0p+0f,
    0x0p+0f, 0x0p+0f, 0x0p+0f, 0x0p+0f,
};

// Gemm 'fc1' + Relu 'relu1': [2, 2]
alignas(32) constexpr float h_bias[8] = {
    0x0p+0f, 0x1p+0f, 0x0p+0f, 0x0p+0f, 0x0p+0f, 0x0p+0f,
    0x0p+0f, 0x0p+0f,
};

// Gemm 'fc2': [2, 2], as [1][2][8]
alignas(32) constexpr float y_weight[16] = {
    0x1p+0f, -0x1p-1f, 0x0p+0f, 0x0p+0f, 0x0p+0f, 0x0p+0f,
    0x0p+0f, 0x0p+0f, -0x1p+0f, 0x1p-2f, 0x0p+0f, 0x0p+0f,
    0x0p+0f, 0x0p+0f, 0x0p+0f, 0x0p+0f,
};

// Gemm 'fc2': [2, 2]
alignas(32) constexpr float y_bias[8] = {
    0x1p-1f, -0x1p+0f, 0x0p+0f, 0x0p+0f, 0x0p+0f, 0x0p+0f,
    0x0p+0f, 0x0p+0f,
};

// ---- kernels

// interval_affine.relu/2x2/f32/panel8/lanes8/x86-64-v3
//   centre and radius of W a + b for |a - centre| <= radius, after ReLU
//   schedule: 8 lanes x 1 vectors, chunks of 2; longest sum: 4 roundings
BF_KERNEL interval_affine_relu_2x2(const float* BF_RESTRICT weight, const float* BF_RESTRICT bias,
                                   const float* BF_RESTRICT centre,
                                   const float* BF_RESTRICT radius, float inflate, float relative,
                                   float absolute, float gamma, float* BF_RESTRICT out_centre,
                                   float* BF_RESTRICT out_radius) {
  f32x8 mid = {};
  f32x8 rad = {};
  for (int i = 0; i < 2; ++i) {
    const f32x8 c = broadcast<f32x8>(centre[i]);
    const f32x8 r = broadcast<f32x8>(radius[i]);
    f32x8 w = load<f32x8>(weight + 8 * i);
    BF_KEEP(w);
    mid += w * c;
    rad += magnitude(w) * r;
  }
  const f32x8 z = mid + load<f32x8>(bias);
  const f32x8 spread = magnitude(z) * broadcast<f32x8>(relative) +
      (rad * broadcast<f32x8>(inflate) + broadcast<f32x8>(absolute));
  const f32x8 low = z - spread;
  const f32x8 high = z + spread;
  const f32x8 active_low = larger(broadcast<f32x8>(0x0p+0f), low);
  const f32x8 active_high = larger(broadcast<f32x8>(0x0p+0f), high);
  const f32x8 new_centre = broadcast<f32x8>(0x1p-1f) * (active_low + active_high);
  const f32x8 width = active_high - active_low;
  store(out_centre, new_centre);
  store(out_radius,
        width * broadcast<f32x8>(0x1.000004p-1f) + new_centre * broadcast<f32x8>(gamma));
}

// interval_affine.head/2x2/f32/panel8/lanes8/x86-64-v3
//   lower <= W a + b <= upper for |a - centre| <= radius
//   schedule: 8 lanes x 1 vectors, chunks of 2; longest sum: 4 roundings
BF_KERNEL interval_affine_head_2x2(const float* BF_RESTRICT weight, const float* BF_RESTRICT bias,
                                   const float* BF_RESTRICT centre,
                                   const float* BF_RESTRICT radius, float inflate, float relative,
                                   float absolute, float* BF_RESTRICT lower,
                                   float* BF_RESTRICT upper) {
  f32x8 mid = {};
  f32x8 rad = {};
  for (int i = 0; i < 2; ++i) {
    const f32x8 c = broadcast<f32x8>(centre[i]);
    const f32x8 r = broadcast<f32x8>(radius[i]);
    f32x8 w = load<f32x8>(weight + 8 * i);
    BF_KEEP(w);
    mid += w * c;
    rad += magnitude(w) * r;
  }
  const f32x8 z = mid + load<f32x8>(bias);
  const f32x8 spread = magnitude(z) * broadcast<f32x8>(relative) +
      (rad * broadcast<f32x8>(inflate) + broadcast<f32x8>(absolute));
  const auto finite = spread <= broadcast<f32x8>(0x1.fffffep+127f);
  const f32x8 low = finite ? z - spread : broadcast<f32x8>(-kInfinity);
  const f32x8 high = finite ? z + spread : broadcast<f32x8>(kInfinity);
  store_first(lower, low, 2);
  store_first(upper, high, 2);
}

// evaluate_affine.relu/2x2/f32/panel8/lanes8/x86-64-v3
//   y = relu(W x + b)
//   schedule: 8 lanes x 1 vectors, chunks of 2; longest sum: 4 roundings
BF_KERNEL evaluate_affine_relu_2x2(const float* BF_RESTRICT weight, const float* BF_RESTRICT bias,
                                   const float* BF_RESTRICT x, float* BF_RESTRICT y) {
  f32x8 sum = {};
  for (int i = 0; i < 2; ++i) {
    const f32x8 a = broadcast<f32x8>(x[i]);
    const f32x8 w = load<f32x8>(weight + 8 * i);
    sum += w * a;
  }
  store(y, larger(sum + load<f32x8>(bias), broadcast<f32x8>(0x0p+0f)));
}

// evaluate_affine.head/2x2/f32/panel8/lanes8/x86-64-v3
//   y = W x + b
//   schedule: 8 lanes x 1 vectors, chunks of 2; longest sum: 4 roundings
BF_KERNEL evaluate_affine_head_2x2(const float* BF_RESTRICT weight, const float* BF_RESTRICT bias,
                                   const float* BF_RESTRICT x, float* BF_RESTRICT y) {
  f32x8 sum = {};
  for (int i = 0; i < 2; ++i) {
    const f32x8 a = broadcast<f32x8>(x[i]);
    const f32x8 w = load<f32x8>(weight + 8 * i);
    sum += w * a;
  }
  store_first(y, sum + load<f32x8>(bias), 2);
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
  float* const box_radius = at<float>(workspace, 32);  // [2], tasks 1 to 2
  float* const h_centre = at<float>(workspace, 64);  // [8], tasks 2 to 3
  float* const h_radius = at<float>(workspace, 96);  // [8], tasks 2 to 3

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
  float* const h_value = at<float>(workspace, 0);  // [8], tasks 1 to 2

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
