#pragma once

#include "aot/engine/prebuilt/forward.h"

// Kernels of forward lines: a layer's weights times columns of lines, and |W| times their spreads.
// Lanes are outputs, or boxes.

namespace bf_aot::engine {
namespace {

struct Lines {
  const float* from;  // [lines][in], of each box
  float* to;          // [lines][stride], of each box
  std::ptrdiff_t stride;
  int count;
};

// The number of columns of lines that fit in registers beside `others` vectors or outputs.
constexpr int most_lines(int others) {
  const int columns = (kRegisters - others - 2) / others;
  return columns > 8 ? 8 : columns;
}

// Computes the lines first .. end - 1, kLines at a time, for kVectors vectors of outputs.
template <int kVectors, int kLines>
__attribute__((noinline)) void lines_tile(const Layer& layer, const Lines& lines, int o,
                                          const float* weight, int first, int end) {
  const std::ptrdiff_t panel = layer.panel;
  for (; first < end; first += kLines) {
    const float* from[kLines];
    BF_UNROLL(8)
    for (int c = 0; c < kLines; ++c) from[c] = lines.from + std::ptrdiff_t{layer.in} * (first + c);
    Floats sum[kLines][kVectors] = {};
    chunks<false>(layer, [&](int chunk, int chunk_end) {
      Floats part[kLines][kVectors] = {};
      for (std::ptrdiff_t i = chunk; i < chunk_end; ++i) {
        Floats w[kVectors];
        BF_UNROLL(4)
        for (int v = 0; v < kVectors; ++v) w[v] = load<Floats>(weight + panel * i + kLanes * v);
        BF_UNROLL(8)
        for (int c = 0; c < kLines; ++c) {
          const Floats m = broadcast<Floats>(from[c][i]);
          BF_UNROLL(4)
          for (int v = 0; v < kVectors; ++v) part[c][v] += w[v] * m;
        }
      }
      BF_UNROLL(8)
      for (int c = 0; c < kLines; ++c) BF_UNROLL(4)
      for (int v = 0; v < kVectors; ++v) sum[c][v] += part[c][v];
    });
    BF_UNROLL(8)
    for (int c = 0; c < kLines; ++c) BF_UNROLL(4)
    for (int v = 0; v < kVectors; ++v)
      store(lines.to + lines.stride * (first + c) + o + kLanes * v, sum[c][v]);
  }
}

// Computes the lines first .. end - 1, kLines at a time, for kOutputs outputs of all boxes.
template <int kOutputs, int kLines>
__attribute__((noinline)) void lines_boxes(const Layer& layer, const Lines& lines, int o,
                                           const float* weight, int first, int end) {
  const std::ptrdiff_t panel = layer.panel;
  const std::ptrdiff_t line = std::ptrdiff_t{layer.in} * kLanes;
  for (; first < end; first += kLines) {
    const float* from[kLines];
    BF_UNROLL(8)
    for (int c = 0; c < kLines; ++c) from[c] = lines.from + line * (first + c);
    Floats sum[kLines][kOutputs] = {};
    chunks<false>(layer, [&](int chunk, int chunk_end) {
      Floats part[kLines][kOutputs] = {};
      for (std::ptrdiff_t i = chunk; i < chunk_end; ++i) {
        const float* const weight_at = bf::kernel::pinned(weight + panel * i);
        Floats w[kOutputs];
        BF_UNROLL(4)
        for (int k = 0; k < kOutputs; ++k) w[k] = broadcast<Floats>(weight_at[k]);
        BF_UNROLL(8)
        for (int c = 0; c < kLines; ++c) {
          const Floats m = load<Floats>(from[c] + kLanes * i);
          BF_UNROLL(4)
          for (int k = 0; k < kOutputs; ++k) part[c][k] += w[k] * m;
        }
      }
      BF_UNROLL(8)
      for (int c = 0; c < kLines; ++c) BF_UNROLL(4)
      for (int k = 0; k < kOutputs; ++k) sum[c][k] += part[c][k];
    });
    BF_UNROLL(8)
    for (int c = 0; c < kLines; ++c) BF_UNROLL(4)
    for (int k = 0; k < kOutputs; ++k)
      store(lines.to + lines.stride * (first + c) + std::ptrdiff_t{kLanes} * (o + k), sum[c][k]);
  }
}

// Computes as many lines at a time as fit, then half as many, and so on down to one.
template <bool kBoxes, int kOthers, int kLines>
void lines_columns(const Layer& layer, const Lines& lines, int o, const float* weight, int first) {
  const int end = first + (lines.count - first) / kLines * kLines;
  if (first < end) {
    if constexpr (kBoxes)
      lines_boxes<kOthers, kLines>(layer, lines, o, weight, first, end);
    else
      lines_tile<kOthers, kLines>(layer, lines, o, weight, first, end);
  }
  if constexpr (kLines > 1)
    lines_columns<kBoxes, kOthers, kLines / 2>(layer, lines, o, weight, end);
}

template <bool kBoxes>
void call_lines(const Value* values, void*) {
  Arguments arguments(values);
  const KernelExtents& extents = arguments.extents();
  const Layer layer(extents, arguments.pointer<const float>());
  Lines lines;
  lines.from = arguments.pointer<const float>();
  const float* const spread = arguments.pointer<const float>();
  lines.to = arguments.pointer<float>();
  float* const out_spread = arguments.pointer<float>();
  lines.count = extents.lines;
  const auto columns = [&](auto count, int o, const float* weight) {
    constexpr int kOthers = decltype(count)::value;
    lines_columns<kBoxes, kOthers, most_lines(kOthers)>(layer, lines, o, weight, 0);
  };
  if constexpr (kBoxes) {
    lines.stride = std::ptrdiff_t{kLanes} * layer.out;
    tiles_of_outputs<true, 4>(layer, columns);
  } else {
    lines.stride = std::ptrdiff_t{layer.out + layer.panel - 1} / layer.panel * layer.panel;
    tiles_of_outputs<false, kMostVectors>(layer, columns);
  }
  radius_layer<kBoxes, false>(layer, spread, out_spread);
}

}  // namespace
}  // namespace bf_aot::engine
