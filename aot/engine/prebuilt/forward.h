#pragma once

#include "aot/engine/prebuilt/lanes.h"

// Forward kernels. Lanes are outputs of a panel of the weight table, [out / panel][in][panel], or
// boxes. Sums over a chunk of inputs are added to the sums over all chunks.

namespace bf_aot::engine {
namespace {

// Vectors of outputs that are summed together; when lanes are boxes, outputs.
constexpr int kMostVectors = 4;
constexpr int kMostOutputs = kRegisters == 32 ? 8 : 4;

// A layer of the inputs that `list` has; null: of all. The weights of an output for neighbouring
// inputs are `panel` apart.
struct Layer {
  const float* weight;
  const std::int32_t* list;
  int in, out, panel, chunk;

  Layer(const KernelExtents& extents, const float* from)
      : weight(from),
        list(nullptr),
        in(extents.in),
        out(extents.out),
        panel(extents.panel),
        chunk(extents.chunk) {}
};

// Calls body(first place, last place + 1) for each chunk.
template <bool kListed, typename Body>
__attribute__((always_inline)) inline void chunks(const Layer& layer, const Body& body) {
  const Numbers<kListed> inputs = {layer.list, layer.in};
  for (int chunk = 0; chunk < layer.in; chunk += layer.chunk)
    body(inputs.place(chunk), inputs.place(smaller(chunk + layer.chunk, layer.in)));
}

// Calls tile(Count, output, its weights) for all tiles of outputs. When lanes are outputs, tiles
// consist of vectors, and the padding of panels is computed, too; when lanes are boxes, tiles end
// with `out`.
template <bool kBoxes, int kMost, typename Tile>
void tiles_of_outputs(const Layer& layer, const Tile& tile) {
  constexpr int kUnit = kBoxes ? 1 : kLanes;
  for (int panel = 0; panel < layer.out; panel += layer.panel) {
    const float* const weight = layer.weight + std::ptrdiff_t{panel} * layer.in;
    const int count = kBoxes ? smaller(layer.panel, layer.out - panel) : layer.panel / kUnit;
    tiles<kMost>(0, count, [&](auto size, int first, int end) {
      for (; first < end; first += decltype(size)::value)
        tile(size, panel + first * kUnit, weight + first * kUnit);
    });
  }
}

// Stores the first `count` elements, or all if there are fewer.
inline void store_some(float* to, Floats x, int count) {
  if (count >= kLanes)
    store(to, x);
  else
    bf::kernel::store_first(to, x, count);
}

// ---- intervals

struct Interval {
  const float* bias;
  const float* centre;
  const float* radius;
  float inflate, relative, absolute;
  float gamma;    // of centre and radius
  float* first;   // lower or centre
  float* second;  // upper or radius
  bool relu, head;

  // Writes the results from element `at` on; a head's first `count` alone are stored.
  void end(Floats mid, Floats rad, Floats biases, std::ptrdiff_t at, int count) const {
    const Floats zero = broadcast<Floats>(0.0f);
    const Floats z = mid + biases;
    const Floats spread = magnitude(z) * broadcast<Floats>(relative) +
                          (rad * broadcast<Floats>(inflate) + broadcast<Floats>(absolute));
    if (head) {
      const Floats infinity = broadcast<Floats>(bf::kernel::kInfinity);
      const auto finite = spread <= broadcast<Floats>(0x1.fffffep+127f);
      Floats low = finite ? z - spread : -infinity;
      Floats high = finite ? z + spread : infinity;
      if (relu) {
        low = larger(low, zero);
        high = larger(high, zero);
      }
      store_some(first + at, low, count);
      store_some(second + at, high, count);
      return;
    }
    Floats low = z - spread;
    Floats high = z + spread;
    if (relu) {
      low = larger(zero, low);
      high = larger(zero, high);
    }
    const Floats middle = broadcast<Floats>(0.5f) * (low + high);
    const Floats width = high - low;
    const Floats size = relu ? middle : magnitude(middle);
    store(first + at, middle);
    store(second + at, width * broadcast<Floats>(0x1.000004p-1f) + size * broadcast<Floats>(gamma));
  }
};

template <bool kListed, int kVectors>
__attribute__((noinline)) void interval_tile(const Layer& layer, const Interval& interval, int o,
                                             const float* weight) {
  const Numbers<kListed> inputs = {layer.list, layer.in};
  const float* const centre = interval.centre;
  const float* const radius = interval.radius;
  const std::ptrdiff_t panel = layer.panel;
  Floats mid[kVectors] = {}, rad[kVectors] = {};
  chunks<kListed>(layer, [&](int first, int end) {
    Floats mid_part[kVectors] = {}, rad_part[kVectors] = {};
    for (int place = first; place < end; ++place) {
      const std::ptrdiff_t i = inputs[place];
      const Floats c = broadcast<Floats>(centre[i]);
      const Floats r = broadcast<Floats>(radius[i]);
      BF_UNROLL(4)
      for (int v = 0; v < kVectors; ++v) {
        Floats w = load<Floats>(weight + panel * i + kLanes * v);
        BF_KEEP(w);
        mid_part[v] += w * c;
        rad_part[v] += magnitude(w) * r;
      }
    }
    BF_UNROLL(4)
    for (int v = 0; v < kVectors; ++v) {
      mid[v] += mid_part[v];
      rad[v] += rad_part[v];
    }
  });
  BF_UNROLL(4)
  for (int v = 0; v < kVectors; ++v) {
    const int at = o + kLanes * v;
    interval.end(mid[v], rad[v], load<Floats>(interval.bias + at), at, layer.out - at);
  }
}

template <bool kListed, int kOutputs>
__attribute__((noinline)) void interval_boxes(const Layer& layer, const Interval& interval, int o,
                                              const float* weight) {
  const Numbers<kListed> inputs = {layer.list, layer.in};
  const float* const centre = interval.centre;
  const float* const radius = interval.radius;
  const std::ptrdiff_t panel = layer.panel;
  Floats mid[kOutputs] = {}, rad[kOutputs] = {};
  chunks<kListed>(layer, [&](int first, int end) {
    Floats mid_part[kOutputs] = {}, rad_part[kOutputs] = {};
    for (int place = first; place < end; ++place) {
      const std::ptrdiff_t i = inputs[place];
      const float* const weight_at = bf::kernel::pinned(weight + panel * i);
      const Floats c = load<Floats>(centre + kLanes * i);
      const Floats r = load<Floats>(radius + kLanes * i);
      BF_UNROLL(8)
      for (int k = 0; k < kOutputs; ++k) {
        const Floats w = broadcast<Floats>(weight_at[k]);
        mid_part[k] += w * c;
        rad_part[k] += magnitude(w) * r;
      }
    }
    BF_UNROLL(8)
    for (int k = 0; k < kOutputs; ++k) {
      mid[k] += mid_part[k];
      rad[k] += rad_part[k];
    }
  });
  BF_UNROLL(8)
  for (int k = 0; k < kOutputs; ++k)
    interval.end(mid[k], rad[k], broadcast<Floats>(interval.bias[o + k]),
                 std::ptrdiff_t{kLanes} * (o + k), kLanes);
}

template <bool kBoxes, bool kListed>
__attribute__((noinline)) void interval_layer(const Layer& layer, const Interval& interval) {
  if constexpr (kBoxes)
    tiles_of_outputs<true, kMostOutputs>(layer, [&](auto count, int o, const float* weight) {
      interval_boxes<kListed, decltype(count)::value>(layer, interval, o, weight);
    });
  else
    tiles_of_outputs<false, kMostVectors>(layer, [&](auto count, int o, const float* weight) {
      interval_tile<kListed, decltype(count)::value>(layer, interval, o, weight);
    });
}

template <bool kBoxes, bool kLiveIn, bool kRelu, bool kHead>
void call_interval(const Value* values, void*) {
  Arguments arguments(values);
  const KernelExtents& extents = arguments.extents();
  Layer layer(extents, arguments.pointer<const float>());
  Interval interval;
  interval.bias = arguments.pointer<const float>();
  interval.centre = arguments.pointer<const float>();
  interval.radius = arguments.pointer<const float>();
  interval.inflate = arguments.real();
  interval.relative = arguments.real();
  interval.absolute = arguments.real();
  interval.gamma = kHead ? 0 : arguments.real();
  interval.first = arguments.pointer<float>();
  interval.second = arguments.pointer<float>();
  interval.relu = kRelu;
  interval.head = kHead;
  layer.list = arguments.list(kLiveIn);
  interval_layer<kBoxes, kLiveIn>(layer, interval);
}

// ---- values: y = W x + b, after ReLU

struct Evaluation {
  const float* bias;
  const float* x;
  float* y;
  bool relu, head;
};

template <int kVectors>
__attribute__((noinline)) void evaluate_tile(const Layer& layer, const Evaluation& what, int o,
                                             const float* weight) {
  const float* const x = what.x;
  const std::ptrdiff_t panel = layer.panel;
  Floats sum[kVectors] = {};
  chunks<false>(layer, [&](int first, int end) {
    Floats part[kVectors] = {};
    for (std::ptrdiff_t i = first; i < end; ++i) {
      const Floats a = broadcast<Floats>(x[i]);
      BF_UNROLL(4)
      for (int v = 0; v < kVectors; ++v)
        part[v] += load<Floats>(weight + panel * i + kLanes * v) * a;
    }
    BF_UNROLL(4)
    for (int v = 0; v < kVectors; ++v) sum[v] += part[v];
  });
  BF_UNROLL(4)
  for (int v = 0; v < kVectors; ++v) {
    const int at = o + kLanes * v;
    Floats value = sum[v] + load<Floats>(what.bias + at);
    if (what.relu) value = larger(value, broadcast<Floats>(0.0f));
    store_some(what.y + at, value, what.head ? layer.out - at : kLanes);
  }
}

inline void evaluate_layer(const Layer& layer, const Evaluation& what) {
  tiles_of_outputs<false, kMostVectors>(layer, [&](auto count, int o, const float* weight) {
    evaluate_tile<decltype(count)::value>(layer, what, o, weight);
  });
}

template <bool kRelu, bool kHead>
void call_evaluate(const Value* values, void*) {
  Arguments arguments(values);
  const KernelExtents& extents = arguments.extents();
  const Layer layer(extents, arguments.pointer<const float>());
  Evaluation what;
  what.bias = arguments.pointer<const float>();
  what.x = arguments.pointer<const float>();
  what.y = arguments.pointer<float>();
  what.relu = kRelu;
  what.head = kHead;
  evaluate_layer(layer, what);
}

// ---- radii: |W| radius

template <bool kListed, int kVectors>
__attribute__((noinline)) void radius_tile(const Layer& layer, const float* radius, float* result,
                                           int o, const float* weight) {
  const Numbers<kListed> inputs = {layer.list, layer.in};
  const std::ptrdiff_t panel = layer.panel;
  Floats sum[kVectors] = {};
  chunks<kListed>(layer, [&](int first, int end) {
    Floats part[kVectors] = {};
    for (int place = first; place < end; ++place) {
      const std::ptrdiff_t i = inputs[place];
      const Floats r = broadcast<Floats>(radius[i]);
      BF_UNROLL(4)
      for (int v = 0; v < kVectors; ++v)
        part[v] += magnitude(load<Floats>(weight + panel * i + kLanes * v)) * r;
    }
    BF_UNROLL(4)
    for (int v = 0; v < kVectors; ++v) sum[v] += part[v];
  });
  BF_UNROLL(4)
  for (int v = 0; v < kVectors; ++v) store(result + o + kLanes * v, sum[v]);
}

template <bool kListed, int kOutputs>
__attribute__((noinline)) void radius_boxes(const Layer& layer, const float* radius, float* result,
                                            int o, const float* weight) {
  const Numbers<kListed> inputs = {layer.list, layer.in};
  const std::ptrdiff_t panel = layer.panel;
  Floats sum[kOutputs] = {};
  chunks<kListed>(layer, [&](int first, int end) {
    Floats part[kOutputs] = {};
    for (int place = first; place < end; ++place) {
      const std::ptrdiff_t i = inputs[place];
      const float* const weight_at = bf::kernel::pinned(weight + panel * i);
      const Floats r = load<Floats>(radius + kLanes * i);
      BF_UNROLL(8)
      for (int k = 0; k < kOutputs; ++k) part[k] += magnitude(broadcast<Floats>(weight_at[k])) * r;
    }
    BF_UNROLL(8)
    for (int k = 0; k < kOutputs; ++k) sum[k] += part[k];
  });
  BF_UNROLL(8)
  for (int k = 0; k < kOutputs; ++k) store(result + std::ptrdiff_t{kLanes} * (o + k), sum[k]);
}

template <bool kBoxes, bool kListed>
__attribute__((noinline)) void radius_layer(const Layer& layer, const float* radius,
                                            float* result) {
  if constexpr (kBoxes)
    tiles_of_outputs<true, kMostOutputs>(layer, [&](auto count, int o, const float* weight) {
      radius_boxes<kListed, decltype(count)::value>(layer, radius, result, o, weight);
    });
  else
    tiles_of_outputs<false, kMostVectors>(layer, [&](auto count, int o, const float* weight) {
      radius_tile<kListed, decltype(count)::value>(layer, radius, result, o, weight);
    });
}

// ---- centres, in double

struct Centre {
  const float* residual;
  const double* bias;
  const double* centre;
  double* result;
};

template <bool kResidual, bool kListed, int kVectors>
__attribute__((noinline)) void centre_tile(const Layer& layer, const Centre& what, int o,
                                           const float* weight) {
  const Numbers<kListed> inputs = {layer.list, layer.in};
  const float* const residual = kResidual ? what.residual + (weight - layer.weight) : nullptr;
  const double* const centre = what.centre;
  const std::ptrdiff_t panel = layer.panel;
  Doubles sum[kVectors] = {};
  chunks<kListed>(layer, [&](int first, int end) {
    Doubles part[kVectors] = {};
    for (int place = first; place < end; ++place) {
      const std::ptrdiff_t i = inputs[place];
      const Doubles c = broadcast<Doubles>(centre[i]);
      BF_UNROLL(8)
      for (int v = 0; v < kVectors; ++v) {
        Doubles w = widened<Doubles>(load<HalfFloats>(weight + panel * i + kHalf * v));
        if constexpr (kResidual)
          w = w + widened<Doubles>(load<HalfFloats>(residual + panel * i + kHalf * v));
        part[v] += w * c;
      }
    }
    BF_UNROLL(8)
    for (int v = 0; v < kVectors; ++v) sum[v] += part[v];
  });
  BF_UNROLL(8)
  for (int v = 0; v < kVectors; ++v) {
    const int at = o + kHalf * v;
    store(what.result + at, sum[v] + load<Doubles>(what.bias + at));
  }
}

template <bool kResidual, bool kListed, int kOutputs>
__attribute__((noinline)) void centre_boxes(const Layer& layer, const Centre& what, int o,
                                            const float* weight) {
  constexpr int kVectors = kLanes / kHalf;
  const Numbers<kListed> inputs = {layer.list, layer.in};
  const float* const residual = kResidual ? what.residual + (weight - layer.weight) : nullptr;
  const double* const centre = what.centre;
  const std::ptrdiff_t panel = layer.panel;
  Doubles sum[kOutputs][kVectors] = {};
  chunks<kListed>(layer, [&](int first, int end) {
    Doubles part[kOutputs][kVectors] = {};
    for (int place = first; place < end; ++place) {
      const std::ptrdiff_t i = inputs[place];
      alignas(64) double room[kOutputs];
      [[maybe_unused]] alignas(64) double more_room[kOutputs];
      const double* const weight_at = bf::kernel::widened_tile<Doubles, HalfFloats>(
          bf::kernel::pinned(weight + panel * i), room);
      [[maybe_unused]] const double* residual_at = nullptr;
      if constexpr (kResidual)
        residual_at = bf::kernel::widened_tile<Doubles, HalfFloats>(
            bf::kernel::pinned(residual + panel * i), more_room);
      BF_UNROLL(8)
      for (int k = 0; k < kOutputs; ++k) {
        double both = weight_at[k];
        if constexpr (kResidual) both = both + residual_at[k];
        const Doubles w = broadcast<Doubles>(both);
        BF_UNROLL(2)
        for (int v = 0; v < kVectors; ++v)
          part[k][v] += w * load<Doubles>(centre + kLanes * i + kHalf * v);
      }
    }
    BF_UNROLL(8)
    for (int k = 0; k < kOutputs; ++k) BF_UNROLL(2)
    for (int v = 0; v < kVectors; ++v) sum[k][v] += part[k][v];
  });
  BF_UNROLL(8)
  for (int k = 0; k < kOutputs; ++k) {
    const Doubles bias = broadcast<Doubles>(what.bias[o + k]);
    BF_UNROLL(2)
    for (int v = 0; v < kVectors; ++v)
      store(what.result + std::ptrdiff_t{kLanes} * (o + k) + kHalf * v, sum[k][v] + bias);
  }
}

template <bool kBoxes, bool kResidual, bool kListed>
void centre_layer(const Layer& layer, const Centre& what) {
  if constexpr (kBoxes)
    tiles_of_outputs<true, kMostOutputs>(layer, [&](auto count, int o, const float* weight) {
      centre_boxes<kResidual, kListed, decltype(count)::value>(layer, what, o, weight);
    });
  else
    tiles_of_outputs<false, kMostVectors>(layer, [&](auto count, int o, const float* weight) {
      centre_tile<kResidual, kListed, decltype(count)::value*(kLanes / kHalf)>(layer, what, o,
                                                                               weight);
    });
}

template <bool kBoxes, bool kLiveIn, bool kResidual>
void call_centre(const Value* values, void*) {
  Arguments arguments(values);
  const KernelExtents& extents = arguments.extents();
  Layer layer(extents, arguments.pointer<const float>());
  Centre what;
  what.residual = kResidual ? arguments.pointer<const float>() : nullptr;
  what.bias = arguments.pointer<const double>();
  what.centre = arguments.pointer<const double>();
  const float* const radius = arguments.pointer<const float>();
  what.result = arguments.pointer<double>();
  float* const out_radius = arguments.pointer<float>();
  layer.list = arguments.list(kLiveIn);
  radius_layer<kBoxes, kLiveIn>(layer, radius, out_radius);
  centre_layer<kBoxes, kResidual, kLiveIn>(layer, what);
}

}  // namespace
}  // namespace bf_aot::engine
