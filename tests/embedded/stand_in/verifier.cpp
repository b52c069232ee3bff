#include "verifier.h"

#include "runtime/bf/core/rounding.h"

namespace {

constexpr float kW[2][2] = {{0x1p+0f, -0x1.8p+0f}, {0x1.99999ap-4f, 0x1.555556p-2f}};
constexpr float kB[2] = {0x1p-2f, -0x1.99999ap-3f};
constexpr float kV[1][2] = {{-0x1p+1f, 0x1.8p+1f}};
constexpr float kC[1] = {0x1.333334p-2f};

// y = W x + b on a box: each term takes the end of x that its weight's sign asks for.
void affine(const float* weights, const float* bias, size_t rows, const float* lower,
            const float* upper, float* y_lower, float* y_upper) {
  for (size_t i = 0; i < rows; ++i) {
    float low = bias[i], high = bias[i];
    for (size_t j = 0; j < 2; ++j) {
      const float w = weights[2 * i + j];
      low = bf::add_down(low, bf::mul_down(w, w < 0 ? upper[j] : lower[j]));
      high = bf::add_up(high, bf::mul_up(w, w < 0 ? lower[j] : upper[j]));
    }
    y_lower[i] = low;
    y_upper[i] = high;
  }
}

bf_status check_box(const float* lower, const float* upper) {
  for (size_t i = 0; i < STAND_IN_INPUTS; ++i) {
    if (lower[i] != lower[i] || upper[i] != upper[i]) return BF_NAN_INPUT;
    if (lower[i] - lower[i] != 0 || upper[i] - upper[i] != 0) return BF_INFINITE_BOX;
    if (lower[i] > upper[i]) return BF_EMPTY_BOX;
  }
  return BF_OK;
}

}  // namespace

extern "C" bf_status stand_in_bounds(const float* lower, const float* upper, float* out_lower,
                                     float* out_upper, void* workspace, size_t workspace_bytes) {
  if (!lower || !upper || !out_lower || !out_upper || !workspace) return BF_NULL_ARGUMENT;
  if (workspace_bytes < STAND_IN_WORKSPACE_BYTES) return BF_WORKSPACE_TOO_SMALL;
  if (reinterpret_cast<uintptr_t>(workspace) % STAND_IN_WORKSPACE_ALIGN != 0) {
    return BF_WORKSPACE_MISALIGNED;
  }
  if (!bf::float_environment_ok()) return BF_FLOAT_ENVIRONMENT;
  const bf_status status = check_box(lower, upper);
  if (status != BF_OK) return status;

  float* const hidden_lower = static_cast<float*>(workspace);
  float* const hidden_upper = hidden_lower + 2;
  affine(kW[0], kB, 2, lower, upper, hidden_lower, hidden_upper);
  for (size_t i = 0; i < 2; ++i) {
    if (hidden_lower[i] < 0) hidden_lower[i] = 0;
    if (hidden_upper[i] < 0) hidden_upper[i] = 0;
  }
  affine(kV[0], kC, 1, hidden_lower, hidden_upper, out_lower, out_upper);
  return BF_OK;
}
