#pragma once

#include "aot/engine/prebuilt/lanes.h"
#include "bf/contract/tables.h"

// Backward kernels: lanes are rows, so that every sum stays within its lane. Coefficients are
// [neurons][kRows] floats; when lanes are boxes, rows are [sign][box].

namespace bf_aot::engine {
namespace {

template <bool kWide>
struct RowReal {
  using type = float;
};
template <>
struct RowReal<true> {
  using type = double;
};

// How the rows of a product lie in registers: in groups of vectors, so that as many columns fit
// beside them as hide the latency.
template <int kRows, bool kWide>
struct RowTile {
  using Real = typename RowReal<kWide>::type;
  static constexpr int kLanes = bf::lanes_of<Real>(kRows);
  static constexpr int kAll = kRows / kLanes;
  static constexpr int kMost = kRegisters == 32 ? 4 : 3;
  static constexpr int kVectors = kAll <= kMost ? kAll : kAll % 2 == 0 ? 2 : 1;
  static constexpr int kColumns = kVectors == 1      ? 8
                                  : kRegisters == 32 ? (kVectors == 4 ? 6 : 8)
                                                     : 12 / kVectors;
  using Sums = typename bf::VectorOf<Real, kLanes>::type;
  using Narrow = typename bf::VectorOf<float, kLanes>::type;
};

// result = W^T coefficients: a column of the table's panels for each number of `live_in`.
struct Product {
  const float* weight;
  const float* coefficients;
  float* result;
  const std::int32_t* live_in;  // null: all columns
  const std::int32_t* live;     // null: all neurons
  int in, out, panel;

  std::ptrdiff_t column(int place) const { return live_in ? entry(live_in, place) : place; }
};

constexpr int kMostWidened = 64;  // weights of a column

// Columns first .. end - 1, kColumns at a time, over the neurons begin .. stop - 1. `add`: to what
// the result has.
template <int kRows, bool kWide, bool kListed, int kColumns>
__attribute__((noinline)) void product_columns(const Product& product, int first, int end,
                                               int begin, int stop, bool add) {
  using Tile = RowTile<kRows, kWide>;
  using Sums = typename Tile::Sums;
  using Narrow = typename Tile::Narrow;
  constexpr int kVectors = Tile::kVectors;
  const Numbers<kListed> neurons = {product.live, product.out};
  const int panel = product.panel;
  const int step = kWide ? smaller(panel, kMostWidened) : panel;
  for (; first < end; first += kColumns)
    for (int group = 0; group < Tile::kAll; group += kVectors) {
      const float* const coefficients = product.coefficients + group * Tile::kLanes;
      Sums sum[kColumns][kVectors] = {};
      int base = begin;  // the panel's first
      int piece_end = begin;
      for (int piece = begin; piece < stop; piece = piece_end) {
        if (piece == base + panel) base = piece;
        piece_end = smaller(smaller(piece + step, base + panel), stop);
        const float* weight_at[kColumns];
        BF_UNROLL(8)
        for (int k = 0; k < kColumns; ++k)
          weight_at[k] = product.weight + (std::ptrdiff_t{base} * (product.in - 1) +
                                           product.column(first + k) * panel);
        const int place_end = neurons.place(piece_end);
        [[maybe_unused]] alignas(64) double wide[kWide ? kColumns : 1][kWide ? kMostWidened : 1];
        if constexpr (kWide)
          for (int k = 0; k < kColumns; ++k) {
            const float* const from = weight_at[k] + piece;
            if constexpr (Tile::kLanes > 1)
              bf::kernel::widened_row<Sums, Narrow>(from, piece_end - piece, wide[k]);
            else
              for (int j = 0; j < piece_end - piece; ++j) wide[k][j] = static_cast<double>(from[j]);
          }
        for (int place = neurons.place(piece); place < place_end; ++place) {
          const std::ptrdiff_t j = neurons[place];
          Sums a[kVectors];
          BF_UNROLL(4)
          for (int v = 0; v < kVectors; ++v) {
            const Narrow loaded = load<Narrow>(coefficients + kRows * j + Tile::kLanes * v);
            if constexpr (kWide)
              a[v] = widened<Sums>(loaded);
            else
              a[v] = loaded;
          }
          BF_UNROLL(8)
          for (int k = 0; k < kColumns; ++k) {
            Sums w;
            if constexpr (kWide)
              w = broadcast<Sums>(wide[k][j - piece]);
            else
              w = broadcast<Sums>(weight_at[k][j]);
            BF_UNROLL(4)
            for (int v = 0; v < kVectors; ++v) sum[k][v] += w * a[v];
          }
        }
      }
      BF_UNROLL(8)
      for (int k = 0; k < kColumns; ++k) {
        float* const result =
            product.result + (kRows * product.column(first + k) + group * Tile::kLanes);
        BF_UNROLL(4)
        for (int v = 0; v < kVectors; ++v) {
          Narrow made;
          if constexpr (kWide)
            made = narrowed<Narrow>(sum[k][v]);
          else
            made = sum[k][v];
          store(result + Tile::kLanes * v,
                add ? load<Narrow>(result + Tile::kLanes * v) + made : made);
        }
      }
    }
}

// The columns that are left over.
template <int kRows, bool kWide, bool kListed, int kColumns>
void product_rest(const Product& product, int first, int count, int begin, int stop, bool add) {
  if constexpr (kColumns > 0) {
    if (count - first == kColumns)
      product_columns<kRows, kWide, kListed, kColumns>(product, first, count, begin, stop, add);
    else
      product_rest<kRows, kWide, kListed, kColumns - 1>(product, first, count, begin, stop, add);
  }
}

template <int kRows, bool kWide, bool kListed>
void product_block(const Product& product, int begin, int stop, bool add) {
  constexpr int kColumns = RowTile<kRows, kWide>::kColumns;
  const int count = product.live_in ? product.live_in[0] : product.in;
  const int full = count / kColumns * kColumns;
  product_columns<kRows, kWide, kListed, kColumns>(product, 0, full, begin, stop, add);
  product_rest<kRows, kWide, kListed, kColumns - 1>(product, full, count, begin, stop, add);
}

// Through the relaxation, in place: A over a' = relu(z) becomes slope A over z, chosen by A's sign;
// the line's offset is summed per row.
template <int kRows, int kBoxes, bool kListed>
struct Relaxation {
  static constexpr int kLanes = bf::lanes_of<float>(kRows);
  static constexpr int kVectors = kRows / kLanes;
  static_assert(kBoxes == 1 || kBoxes % kLanes == 0, "a vector's rows are of neighbouring boxes");
  using Vector = typename bf::VectorOf<float, kLanes>::type;

  const float* slope_upper;  // [neuron][box], as the others
  const float* slope_lower;
  const float* offset_upper;
  const float* offset_lower;
  float* coefficients;
  Numbers<kListed> neurons;

  // Of vector v, at its neuron's.
  static Vector shared(const float* table, int v) {
    if constexpr (kBoxes == 1)
      return broadcast<Vector>(*table);
    else
      return load<Vector>(table + v * kLanes % kBoxes);
  }

  // Neurons begin .. end - 1.
  void apply(int begin, int end, Vector (&sum)[kVectors]) const {
    const int place_end = neurons.place(end);
    Vector offset[kVectors] = {};
    for (int place = neurons.place(begin); place < place_end; ++place) {
      const std::ptrdiff_t j = neurons[place], at = kBoxes * j;
      BF_UNROLL(8)
      for (int v = 0; v < kVectors; ++v) {
        float* const from = coefficients + kRows * j + kLanes * v;
        const Vector a = load<Vector>(from);
        const auto negative = a < broadcast<Vector>(0.0f);
        store(from, a * (negative ? shared(slope_upper + at, v) : shared(slope_lower + at, v)));
        offset[v] += a * (negative ? shared(offset_upper + at, v) : shared(offset_lower + at, v));
      }
    }
    BF_UNROLL(8)
    for (int v = 0; v < kVectors; ++v) sum[v] += offset[v];
  }
};

// A null table: the product alone.
struct BackwardCall {
  Product product;
  const float* table;
  float* coefficients;
  float* sums;
  int chunk;
};

template <int kRows, int kBoxes, bool kWide, bool kListed>
void backward_blocks(const BackwardCall& call) {
  using Relax = Relaxation<kRows, kBoxes, kListed>;
  using Vector = typename Relax::Vector;
  const int out = call.product.out;
  const auto table = [&](int row) { return call.table + std::ptrdiff_t{row} * out * kBoxes; };
  const auto relax = [&](int begin, int end, Vector(&sum)[Relax::kVectors]) {
    Relax{table(bf::kSlopeUpper),
          table(bf::kSlopeLower),
          table(kWide ? bf::kWideOffsetUpper : bf::kOffsetUpper),
          table(kWide ? bf::kWideOffsetLower : bf::kOffsetLower),
          call.coefficients,
          {call.product.live, out}}
        .apply(begin, end, sum);
  };
  const auto add_offsets = [&](const Vector(&offset)[Relax::kVectors]) {
    BF_UNROLL(8)
    for (int v = 0; v < Relax::kVectors; ++v) {
      float* const to = call.sums + Relax::kLanes * v;
      store(to, load<Vector>(to) + offset[v]);
    }
  };
  // Sums in double go through all neurons, those in float through a chunk; then they are added.
  Vector offset[Relax::kVectors] = {};
  for (int block = 0; block < out; block += call.chunk) {
    const int end = smaller(block + call.chunk, out);
    if (call.table != nullptr) {
      relax(block, end, offset);
      if constexpr (!kWide) {
        add_offsets(offset);
        BF_UNROLL(8)
        for (int v = 0; v < Relax::kVectors; ++v) offset[v] = Vector{};
      }
    }
    if constexpr (!kWide) product_block<kRows, kWide, kListed>(call.product, block, end, block > 0);
  }
  if constexpr (kWide) {
    if (call.table != nullptr) add_offsets(offset);
    product_block<kRows, kWide, kListed>(call.product, 0, out, false);
  }
}

template <int kRows, int kBoxes, bool kWide>
__attribute__((noinline)) void backward(const BackwardCall& call) {
  if (call.product.live != nullptr)
    backward_blocks<kRows, kBoxes, kWide, true>(call);
  else
    backward_blocks<kRows, kBoxes, kWide, false>(call);
}

template <int kRows, int kBoxes, bool kWide, bool kLiveOut, bool kLiveIn>
void call_backward(const Value* values, void*) {
  Arguments arguments(values);
  const KernelExtents& extents = arguments.extents();
  BackwardCall call;
  call.chunk = extents.chunk;
  call.product.weight = arguments.pointer<const float>();
  call.table = arguments.pointer<const float>();
  call.coefficients = arguments.pointer<float>();
  call.sums = arguments.pointer<float>();
  call.product.result = arguments.pointer<float>();
  call.product.live_in = arguments.list(kLiveIn);
  call.product.live = arguments.list(kLiveOut);
  call.product.coefficients = call.coefficients;
  call.product.in = extents.in;
  call.product.out = extents.out;
  call.product.panel = extents.panel;
  backward<kRows, kBoxes, kWide>(call);
}

template <int kRows, int kBoxes, bool kWide>
void call_product(const Value* values, void*) {
  Arguments arguments(values);
  const KernelExtents& extents = arguments.extents();
  BackwardCall call = {};
  call.chunk = extents.chunk;
  call.product.weight = arguments.pointer<const float>();
  call.product.coefficients = arguments.pointer<const float>();
  call.product.result = arguments.pointer<float>();
  call.product.in = extents.in;
  call.product.out = extents.out;
  call.product.panel = extents.panel;
  backward<kRows, kBoxes, kWide>(call);
}

// spread = sum_k |coefficients_k| radius_k.
template <int kRows, int kBoxes>
void call_concretize(const Value* values, void*) {
  constexpr int kLanesOfRows = bf::lanes_of<float>(kRows);
  constexpr int kVectors = kRows / kLanesOfRows;
  using Vector = typename bf::VectorOf<float, kLanesOfRows>::type;
  Arguments arguments(values);
  const KernelExtents& extents = arguments.extents();
  const float* const coefficients = arguments.pointer<const float>();
  const float* const radius = arguments.pointer<const float>();
  float* const spread = arguments.pointer<float>();
  Vector sum[kVectors] = {};
  for (std::ptrdiff_t k = 0; k < extents.in; ++k) BF_UNROLL(8)
  for (int v = 0; v < kVectors; ++v) {
    Vector r;
    if constexpr (kBoxes == 1)
      r = broadcast<Vector>(radius[k]);
    else
      r = load<Vector>(radius + kBoxes * k + v * kLanesOfRows % kBoxes);
    sum[v] += magnitude(load<Vector>(coefficients + kRows * k + kLanesOfRows * v)) * r;
  }
  BF_UNROLL(8)
  for (int v = 0; v < kVectors; ++v) store(spread + kLanesOfRows * v, sum[v]);
}

}  // namespace
}  // namespace bf_aot::engine
