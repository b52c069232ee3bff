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
//   spec       4 rows
//   workspace  320 bytes
//   weights    144 bytes
//   tasks      3
//
// This file and the headers that it includes may be used, changed and shipped by anyone,
// for any purpose, without attribution and without warranty (0BSD).
// clang-format off

#include "tiny_neurons_generic.h"

#include "bf/contract/integers.h"
#include "bf/contract/spans.h"
#include "bf/core/bounds.h"
#include "bf/core/kernel.h"
#include "bf/core/relax.h"
#include "bf/sums/row_slack.h"
#include "bf/search/neuron_splits.h"
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

// Gemm 'fc1' + Relu 'relu1': [2, 2]
alignas(16) constexpr double h_bias_double[2] = {
    0x0p+0, 0x1p+0,
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

// Gemm 'fc2': [2, 2]
alignas(16) constexpr double y_bias_double[2] = {
    0x1p-1, -0x1p+0,
};

// Gemm 'fc2' + specification: [4, 2], as [1][2][4]
alignas(16) constexpr float y_spec_weight[8] = {
    0x1p+0f, 0x1.8p+0f, -0x1p-1f, 0x1p+1f,
    -0x1p+0f, -0x1.4p+0f, 0x1p-2f, -0x1.8p+0f,
};

// Gemm 'fc2' + specification: [4, 2]
alignas(16) constexpr double y_spec_bias_double[4] = {
    0x1p-1, 0x1.8p+0, -0x1p+0, 0x1.4p+1,
};

// ---- kernels

// centre_affine/2x2/f32/panel2/lanes1/generic
//   out_centre = W centre + b in double, out_radius = |W| radius
//   schedule: 1 lanes x 2 vectors, chunks of 2; longest sum: 4 roundings
BF_KERNEL centre_affine_2x2(const float* BF_RESTRICT weight, const double* BF_RESTRICT bias,
                            const double* BF_RESTRICT centre, const float* BF_RESTRICT radius,
                            double* BF_RESTRICT out_centre, float* BF_RESTRICT out_radius) {
  {
    float rad[2] = {};
    for (int i = 0; i < 2; ++i) {
      const float r = radius[i];
      BF_UNROLL(2)
      for (int v = 0; v < 2; ++v) {
        const float w = weight[2 * i + v];
        rad[v] += magnitude(w) * r;
      }
    }
    BF_UNROLL(2)
    for (int v = 0; v < 2; ++v) {
      out_radius[v] = rad[v];
    }
  }
  {
    double mid[2] = {};
    for (int i = 0; i < 2; ++i) {
      const double c = centre[i];
      BF_UNROLL(2)
      for (int v = 0; v < 2; ++v) {
        const double w = static_cast<double>(weight[2 * i + v]);
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
    float offset[4] = {};
    for (int j = 0; j < 2; ++j) {
      const float slope_upper = table[j];
      const float slope_lower = table[j + 2];
      const float offset_upper = table[j + 4];
      const float offset_lower = table[j + 6];
      BF_UNROLL(4)
      for (int v = 0; v < 4; ++v) {
        const float a = coefficients[4 * j + v];
        const auto negative = a < 0x0p+0f;
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
    float sum[2][4] = {};
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
  float sum[4] = {};
  for (int k = 0; k < 2; ++k) {
    const float radius_k = radius[k];
    BF_UNROLL(4)
    for (int v = 0; v < 4; ++v) {
      const float a = coefficients[4 * k + v];
      sum[v] += magnitude(a) * radius_k;
    }
  }
  BF_UNROLL(4)
  for (int v = 0; v < 4; ++v) {
    spread[v] = sum[v];
  }
}

// centre_affine/2x4/f32/panel4/lanes1/generic
//   out_centre = W centre + b in double, out_radius = |W| radius
//   schedule: 1 lanes x 4 vectors, chunks of 2; longest sum: 4 roundings
BF_KERNEL centre_affine_2x4(const float* BF_RESTRICT weight, const double* BF_RESTRICT bias,
                            const double* BF_RESTRICT centre, const float* BF_RESTRICT radius,
                            double* BF_RESTRICT out_centre, float* BF_RESTRICT out_radius) {
  {
    float rad[4] = {};
    for (int i = 0; i < 2; ++i) {
      const float r = radius[i];
      BF_UNROLL(4)
      for (int v = 0; v < 4; ++v) {
        const float w = weight[4 * i + v];
        rad[v] += magnitude(w) * r;
      }
    }
    BF_UNROLL(4)
    for (int v = 0; v < 4; ++v) {
      out_radius[v] = rad[v];
    }
  }
  {
    double mid[4] = {};
    for (int i = 0; i < 2; ++i) {
      const double c = centre[i];
      BF_UNROLL(4)
      for (int v = 0; v < 4; ++v) {
        const double w = static_cast<double>(weight[4 * i + v]);
        mid[v] += w * c;
      }
    }
    BF_UNROLL(4)
    for (int v = 0; v < 4; ++v) {
      out_centre[v] = mid[v] + bias[v];
    }
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

// kInflate: the factor on a computed radius or spread.
constexpr double kInflate = 0x1.0000040001205p+0;

// kAbsolute: an addend for underflow and for what rounded biases lose.
constexpr double kAbsolute = 0x1.3000000000002p-144;
constexpr double kAbsolute2 = 0x1.8p-145;
constexpr double kAbsolute3 = 0x1.0000000000002p-144;
constexpr double kAbsolute4 = 0x1.3000000000003p-144;

// kCentreRelative: gamma of a centre in double.
constexpr double kCentreRelative = 0x1.400000000140cp-50;

// kRowNorm: the largest sum of magnitudes of a row of weights.
constexpr double kRowNorm = 0x1.c000000000009p+1;
constexpr double kRowNorm2 = 0x1.0000000000007p+1;
constexpr double kRowNorm3 = 0x1.c00000000000dp+1;

// kBiasNorm: the largest magnitude of a bias.
constexpr double kBiasNorm = 0x1.0000000000005p+0;
constexpr double kBiasNorm2 = 0x1.4000000000006p+1;

// kRowBias: times a bias: 1, and what it may miss itself, relative to its centre's gamma.
constexpr double kRowBias = 0x1p+0;

// kProduct: gamma of a product with weights, and what rounded weights lose.
constexpr double kProduct = 0x1.0000040000105p-22;

// kWideProduct: gamma of a product in double, and what rounded weights lose.
constexpr double kWideProduct = 0x1.0000000000007p-51;

// kStored: rounding of a sum in double to float, relative.
constexpr double kStored = 0x1p-24;

// kSlope: rounding of coefficient times slope, relative.
constexpr double kSlope = 0x1p-24;

// kOffset: gamma of the sum of coefficients times offsets.
constexpr double kOffset = 0x1.c0000c4000564p-22;

// kConcretize: the factor on the computed sum of magnitudes of coefficients.
constexpr double kConcretize = 0x1.0000040000205p+0;

// kWeightRelative: what the rounded weights of a row lose, relative to its radius.
constexpr double kWeightRelative = 0x0p+0;

// kUnderflow: a product that underflows, for each that relaxations counted.
constexpr double kUnderflow = 0x1p-147;

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
  double* const box_centre = at<double>(workspace, 0);  // [2], tasks 1 to 2
  float* const box_radius = at<float>(workspace, 176);  // [2], tasks 1 to 3
  double* const h_centre = at<double>(workspace, 112);  // [2], tasks 2 to 3
  float* const h_radius = at<float>(workspace, 128);  // [2], tasks 2 to 3
  float* const h_below = at<float>(workspace, 80);  // [2], task 2
  double* const h_slack = at<double>(workspace, 48);  // [4], tasks 2 to 3
  double* const h_row_slack = at<double>(workspace, 96);  // [2], task 2
  float* const h_relaxation = at<float>(workspace, 0);  // [12], tasks 2 to 3
  double* const y_centre = at<double>(workspace, 192);  // [2], task 3
  float* const y_radius = at<float>(workspace, 208);  // [2], task 3
  float* const y_below = at<float>(workspace, 224);  // [2], task 3
  float* const y_above = at<float>(workspace, 240);  // [2], task 3
  double* const y_slack = at<double>(workspace, 80);  // [4], task 3
  double* const y_row_slack = at<double>(workspace, 256);  // [2], task 3
  std::int32_t* const y_rows = at<std::int32_t>(workspace, 272);  // [2], task 3
  float* const y_sums = at<float>(workspace, 80);  // [8], task 3
  float* const y_over_h = at<float>(workspace, 112);  // [8], task 3
  float* const y_over_box = at<float>(workspace, 144);  // [8], task 3

  // Task 1: bind box.
  bf::bind_box(lower, upper, 2, box_centre, box_radius);

  // Task 2: forward + relax h. Gemm 'fc1' + Relu 'relu1': [2] -> [2].
  centre_affine_2x2(h_weight, h_bias_double, box_centre, box_radius, h_centre, h_radius);
  bf::centre_slack(box_centre, box_radius, 2, kCentreRelative, kRowNorm, kBiasNorm, kAbsolute,
                   h_slack);
  bf::start_row_slack<1>(h_bias_double, 2, 1, h_radius, kRowBias, h_slack, h_row_slack);
  bf::dense_row_slack<1>(h_weight, 2, 2, box_centre, 2, h_slack, h_row_slack);
  bf::finish_row_slack<1>(2, kCentreRelative, kAbsolute2, h_slack, h_row_slack);
  bf::interval_around(h_radius, 2, kInflate, h_row_slack, h_below, h_below);
  bf::relax(2, true, h_centre, h_below, h_below, h_radius,
            bf::RelaxErrors{kProduct, kWideProduct, kStored, kSlope, kOffset, kInflate}, h_slack,
            h_row_slack, h_relaxation, h_centre, h_radius);

  // Task 3: forward + backward + write y. Gemm 'fc2': [2] -> [2].
  centre_affine_2x2(y_weight, y_bias_double, h_centre, h_radius, y_centre, y_radius);
  bf::centre_slack(h_centre, h_radius, 2, kCentreRelative, kRowNorm2, kBiasNorm, kAbsolute3,
                   y_slack);
  bf::start_row_slack<1>(y_bias_double, 2, 1, y_radius, kRowBias, y_slack, y_row_slack);
  bf::dense_row_slack<1>(y_weight, 2, 2, h_centre, 2, y_slack, y_row_slack);
  bf::finish_row_slack<1>(2, kCentreRelative, kAbsolute2, y_slack, y_row_slack);
  bf::interval_around(y_radius, 2, kInflate, y_row_slack, y_below, y_above);
  {
    const int count = bf::list_all(2, y_rows);
    bf::pad_list(y_rows, count, 2);
    const bf::RowErrors errors{kConcretize, kWeightRelative, kInflate,
                               kUnderflow * (2 + h_slack[2]), y_row_slack};
    for (int first = 0; first < count; first += 2) {
      bf::start_rows<2>(y_weight, 2, 2, y_rows + first, y_over_h);
      for (int i = 0; i < 4; ++i) y_sums[i] = 0;
      backward_affine_2x2_rows4(h_weight, h_relaxation, y_over_h, y_sums, y_over_box);
      concretize_2_rows4(y_over_box, box_radius, y_sums + 4);
      bf::tighten_rows(y_rows + first, smaller(2, count - first), 2, y_sums, errors, y_radius,
                       y_below, y_above);
    }
  }
  bf::write_bounds(2, false, y_centre, y_below, y_above, out_lower, out_upper);
  return BF_OK;
}

bf_status tiny_spec_bounds(const float* lower, const float* upper, float* out_lower,
                           float* out_upper, void* workspace, std::size_t workspace_bytes) {
  return tiny_spec_ranges(lower, upper, out_lower, out_upper, nullptr, workspace, workspace_bytes);
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

bf_status tiny_spec_ranges(const float* lower, const float* upper, float* out_lower,
                           float* out_upper, float* ranges, void* workspace,
                           std::size_t workspace_bytes) {
  if (lower == nullptr || upper == nullptr || out_lower == nullptr || out_upper == nullptr)
    return BF_NULL_ARGUMENT;
  if (const bf_status status = bf::check_workspace(workspace, workspace_bytes,
                                                   TINY_WORKSPACE_BYTES, TINY_WORKSPACE_ALIGN))
    return status;
  const bf::Span spans[] = {{out_lower, 4 * sizeof(float)}, {out_upper, 4 * sizeof(float)},
                            {ranges, ranges == nullptr ? 0 : 12 * sizeof(float)},
                            {workspace, TINY_WORKSPACE_BYTES}, {lower, 2 * sizeof(float)},
                            {upper, 2 * sizeof(float)}};
  if (bf::overlap(spans, 6, 4)) return BF_OVERLAP;
  if (const bf_status status = bf::check_box(lower, upper, TINY_INPUTS)) return status;

  // The arena: what holds what, how many, in which tasks.
  double* const box_centre = at<double>(workspace, 0);  // [2], tasks 1 to 2
  float* const box_radius = at<float>(workspace, 240);  // [2], tasks 1 to 3
  double* const h_centre = at<double>(workspace, 176);  // [2], tasks 2 to 3
  float* const h_radius = at<float>(workspace, 192);  // [2], tasks 2 to 3
  float* const h_below = at<float>(workspace, 80);  // [2], task 2
  double* const h_slack = at<double>(workspace, 48);  // [4], tasks 2 to 3
  double* const h_row_slack = at<double>(workspace, 96);  // [2], task 2
  float* const h_relaxation = at<float>(workspace, 0);  // [12], tasks 2 to 3
  double* const y_spec_centre = at<double>(workspace, 80);  // [4], task 3
  float* const y_spec_radius = at<float>(workspace, 256);  // [4], task 3
  float* const y_spec_below = at<float>(workspace, 272);  // [4], task 3
  float* const y_spec_above = at<float>(workspace, 288);  // [4], task 3
  double* const y_spec_slack = at<double>(workspace, 112);  // [4], task 3
  double* const y_spec_row_slack = at<double>(workspace, 144);  // [4], task 3
  std::int32_t* const y_spec_rows = at<std::int32_t>(workspace, 304);  // [4], task 3
  float* const y_spec_sums = at<float>(workspace, 112);  // [8], task 3
  float* const y_spec_over_h = at<float>(workspace, 176);  // [8], task 3
  float* const y_spec_over_box = at<float>(workspace, 208);  // [8], task 3

  // Task 1: bind box.
  bf::bind_box(lower, upper, 2, box_centre, box_radius);

  // Task 2: forward + relax h. Gemm 'fc1' + Relu 'relu1': [2] -> [2].
  centre_affine_2x2(h_weight, h_bias_double, box_centre, box_radius, h_centre, h_radius);
  bf::centre_slack(box_centre, box_radius, 2, kCentreRelative, kRowNorm, kBiasNorm, kAbsolute,
                   h_slack);
  bf::start_row_slack<1>(h_bias_double, 2, 1, h_radius, kRowBias, h_slack, h_row_slack);
  bf::dense_row_slack<1>(h_weight, 2, 2, box_centre, 2, h_slack, h_row_slack);
  bf::finish_row_slack<1>(2, kCentreRelative, kAbsolute2, h_slack, h_row_slack);
  bf::interval_around(h_radius, 2, kInflate, h_row_slack, h_below, h_below);
  bf::keep_ranges(2, h_centre, h_below, h_below, 0, 6, ranges);
  bf::relax(2, true, h_centre, h_below, h_below, h_radius,
            bf::RelaxErrors{kProduct, kWideProduct, kStored, kSlope, kOffset, kInflate}, h_slack,
            h_row_slack, h_relaxation, h_centre, h_radius);

  // Task 3: forward + backward + write y_spec. Gemm 'fc2' + specification: [2] -> [4].
  centre_affine_2x4(y_spec_weight, y_spec_bias_double, h_centre, h_radius, y_spec_centre,
                    y_spec_radius);
  bf::centre_slack(h_centre, h_radius, 2, kCentreRelative, kRowNorm3, kBiasNorm2, kAbsolute4,
                   y_spec_slack);
  bf::start_row_slack<1>(y_spec_bias_double, 4, 1, y_spec_radius, kRowBias, y_spec_slack,
                         y_spec_row_slack);
  bf::dense_row_slack<1>(y_spec_weight, 2, 4, h_centre, 4, y_spec_slack, y_spec_row_slack);
  bf::finish_row_slack<1>(4, kCentreRelative, kAbsolute2, y_spec_slack, y_spec_row_slack);
  bf::interval_around(y_spec_radius, 4, kInflate, y_spec_row_slack, y_spec_below, y_spec_above);
  {
    const int count = bf::list_all(4, y_spec_rows);
    bf::pad_list(y_spec_rows, count, 2);
    const bf::RowErrors errors{kConcretize, kWeightRelative, kInflate,
                               kUnderflow * (2 + h_slack[2]), y_spec_row_slack};
    for (int first = 0; first < count; first += 2) {
      bf::start_rows<2>(y_spec_weight, 2, 4, y_spec_rows + first, y_spec_over_h);
      for (int i = 0; i < 4; ++i) y_spec_sums[i] = 0;
      backward_affine_2x2_rows4(h_weight, h_relaxation, y_spec_over_h, y_spec_sums,
                                y_spec_over_box);
      concretize_2_rows4(y_spec_over_box, box_radius, y_spec_sums + 4);
      bf::tighten_rows(y_spec_rows + first, smaller(2, count - first), 2, y_spec_sums, errors,
                       y_spec_radius, y_spec_below, y_spec_above);
    }
  }
  bf::write_bounds(4, false, y_spec_centre, y_spec_below, y_spec_above, out_lower, out_upper);
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

  static_assert(TINY_WORKSPACE_BYTES % alignof(double) == 0
                    && TINY_OPEN_BOX_BYTES == bf::open_node_bytes(6, 8)
                    && TINY_DECIDE_WORKSPACE_BYTES - TINY_WORKSPACE_BYTES
                           >= bf::split_bytes({TINY_INPUTS, TINY_SPEC_ROWS, 6, 4, 2, 8, 6, 0, 0})
                                  + 2 * TINY_OPEN_BOX_BYTES,
                "the workspace is of another version");
  // map, source, inputs, weights, panel, starts of rows, columns, shape
  const bf::SplitPart parts[2] = {
      {bf::SplitMap::kDense, -1, 2, h_weight, 2, nullptr, nullptr, nullptr},
      {bf::SplitMap::kDense, 0, 2, y_spec_weight, 4, nullptr, nullptr, nullptr},
  };
  // role, function, parts, how many, neurons, the first neuron, choice and curve, bias,
  // neurons that share one, errors of weights and bias
  const bf::SplitLayer layers[2] = {
      {bf::SplitRole::kRelu, nullptr, parts + 0, 1, 2, 0, 0, 0,
       h_bias_double, 1, 0x0p+0, 0x0p+0},
      {bf::SplitRole::kLinear, nullptr, parts + 1, 1, 4, 2, 2, 0,
       y_spec_bias_double, 1, 0x0p+0, 0x0p+0},
  };
  // The rows of the specification, by head: its first neuron, and how many there are.
  static constexpr std::int32_t row_first[1] = {2};
  static constexpr std::int32_t row_count[1] = {4};
  const bf::SplitNetwork network = {layers, 2, TINY_INPUTS, 6, 6, 0, false,
                                    nullptr, 4, TINY_SPEC_ROWS, 8,
                                    row_first, row_count, 0x1.a8p+6, 0x1.8p+3};
  const auto bounds = [workspace](const float* low, const float* high, float* row_low,
                                  float* row_high, float* ranges) {
    return tiny_spec_ranges(low, high, row_low, row_high, ranges, workspace, TINY_WORKSPACE_BYTES);
  };
  return bf::decide_by_neurons(property::tables, network, lower, upper, budget, result, search,
                               at<float>(workspace, TINY_WORKSPACE_BYTES),
                               workspace_bytes - TINY_WORKSPACE_BYTES, bounds);
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
      "tiny", TINY_MODEL_SHA256, "crown", "real", "0.2.0",
      TINY_INPUTS, TINY_OUTPUTS, TINY_SPEC_ROWS,
      TINY_WORKSPACE_BYTES, TINY_WORKSPACE_ALIGN, TINY_WEIGHTS_BYTES, BF_ABI_VERSION};
  return &info;
}

}  // extern "C"
