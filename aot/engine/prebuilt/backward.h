#pragma once

#include "aot/engine/prebuilt/lanes.h"
#include "bf/contract/tables.h"

// Backward kernels. Lanes are rows, so that every sum stays within its lane. Coefficients are
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

// Groups the rows of a product into vectors, so few that as many columns fit in registers beside
// them as hide the latency of a multiplication.
template <int kRows, bool kWide>
struct RowTile {
  using Real = typename RowReal<kWide>::type;
  static constexpr int kLanes = bf::lanes_of<Real>(kRows);
  static constexpr int kAllRows = kRows;
  static constexpr int kAll = kRows / kLanes;
  static constexpr int kMost = kRegisters == 32 ? 4 : 3;
  static constexpr int kVectors = kAll <= kMost ? kAll : kAll % 2 == 0 ? 2 : 1;
  // kListed columns fit where each column's weights need a pointer, kColumns where they do not.
  static constexpr int kMostOf16[3] = {8, 6, 3}, kMostOf32[4] = {8, 8, 8, 6};
  static constexpr int kListed =
      kRegisters == 32 ? kMostOf32[kVectors - 1] : kMostOf16[kVectors - 1];
  static constexpr int kSingle = kRegisters == 32 && !kWide ? 16 : 12;
  static constexpr int kColumns = kVectors == 1                                 ? kSingle
                                  : kVectors == 2 && kRegisters == 32 && !kWide ? 12
                                                                                : kListed;
  using Sums = typename bf::VectorOf<Real, kLanes>::type;
  using Narrow = typename bf::VectorOf<float, kLanes>::type;
};

// The product result = W^T coefficients, where the columns of W that `live_in` lists lie in panels.
struct Product {
  const float* weight;
  const float* coefficients;
  float* result;
  const std::int32_t* live_in;  // null: all columns
  const std::int32_t* live;     // null: all neurons
  int in, out, panel;

  std::ptrdiff_t column(int place) const { return live_in ? entry(live_in, place) : place; }
};

constexpr int kMostWidened = 256;  // weights of a column that are widened at a time
constexpr int kWidenedRoom =
    kMostWidened + 8;                    // columns do not fall on the same lines of the cache
constexpr int kUsualPanel = 4 * kLanes;  // for layers that are not narrow

// Adds to the columns' sums the coefficients of a neuron times its weights `weight(k)`.
template <typename Tile, int kColumns, typename Weight>
__attribute__((always_inline)) inline void add_neuron(
    const float* coefficients, typename Tile::Sums (&sum)[kColumns][Tile::kVectors],
    const Weight& weight) {
  typename Tile::Sums a[Tile::kVectors];
  BF_UNROLL(4)
  for (int v = 0; v < Tile::kVectors; ++v) {
    const auto loaded = load<typename Tile::Narrow>(coefficients + Tile::kLanes * v);
    if constexpr (sizeof(loaded) != sizeof(a[v]))
      a[v] = widened<typename Tile::Sums>(loaded);
    else
      a[v] = loaded;
  }
  BF_UNROLL(16)
  for (int k = 0; k < kColumns; ++k) {
    const auto w = broadcast<typename Tile::Sums>(weight(k));
    BF_UNROLL(4)
    for (int v = 0; v < Tile::kVectors; ++v) sum[k][v] += w * a[v];
  }
}

// The ways by which a product finds its weights.
enum Weights {
  kConsecutive,  // panels of the usual size: by a pointer to the first column's
  kPointers,     // these without all columns, or a single panel: by a pointer to each column's
  kAnyPanels,
  kWidened,
};

// Sums of kColumns columns, from `first` on, over the neurons begin .. stop - 1.
template <typename Tile, int kColumns, bool kListed>
struct ColumnSums {
  using Sum = typename Tile::Sums[kColumns][Tile::kVectors];
  const Product& product;
  Numbers<kListed> neurons;
  int first, begin, stop;

  const float* weights(int column, int panel) const {
    return product.weight +
           (std::ptrdiff_t{panel} * product.in + product.column(first + column) * product.panel);
  }

  // The distance of a neuron's weights from where they would be if all panels were panel 0.
  std::ptrdiff_t panel_of(std::ptrdiff_t j) const {
    const std::size_t panel = static_cast<std::size_t>(j) / kUsualPanel;
    const std::ptrdiff_t further =
        product.panel == kUsualPanel ? std::ptrdiff_t{product.in - 1} * kUsualPanel : 0;
    return static_cast<std::ptrdiff_t>(panel) * further;
  }

  __attribute__((always_inline)) void add_consecutive(const float* coefficients, Sum& sum) const {
    const float* const weight = weights(0, 0);
    const int end = neurons.place(stop);
    for (int place = neurons.place(begin); place < end; ++place) {
      const std::ptrdiff_t j = neurons[place];
      const float* const at = bf::kernel::pinned(weight + j + panel_of(j));
      add_neuron<Tile>(coefficients + Tile::kAllRows * j, sum,
                       [at](int k) { return at[kUsualPanel * k]; });
    }
  }

  __attribute__((always_inline)) void add_by_pointers(const float* coefficients, Sum& sum) const {
    const float* at[kColumns];
    BF_UNROLL(16)
    for (int k = 0; k < kColumns; ++k) at[k] = weights(k, 0);
    const int end = neurons.place(stop);
    for (int place = neurons.place(begin); place < end; ++place) {
      const std::ptrdiff_t j = neurons[place], i = j + panel_of(j);
      add_neuron<Tile>(coefficients + Tile::kAllRows * j, sum,
                       [&at, i](int k) { return at[k][i]; });
    }
  }

  __attribute__((always_inline)) void add_any(const float* coefficients, Sum& sum) const {
    for (int panel = begin; panel < stop; panel += product.panel) {
      const float* at[kColumns];  // of neuron 0, were it in the panel
      BF_UNROLL(16)
      for (int k = 0; k < kColumns; ++k) at[k] = weights(k, panel) - panel;
      const int end = neurons.place(smaller(panel + product.panel, stop));
      for (int place = neurons.place(panel); place < end; ++place) {
        const std::ptrdiff_t j = neurons[place];
        add_neuron<Tile>(coefficients + Tile::kAllRows * j, sum,
                         [&at, j](int k) { return at[k][j]; });
      }
    }
  }

  __attribute__((always_inline)) void add_widened(const float* coefficients, Sum& sum, int from,
                                                  int to,
                                                  double (&wide)[kColumns][kWidenedRoom]) const {
    const int end = neurons.place(to);
    for (int place = neurons.place(from); place < end; ++place) {
      const std::ptrdiff_t j = neurons[place], i = j - from;
      add_neuron<Tile>(coefficients + Tile::kAllRows * j, sum,
                       [&wide, i](int k) { return wide[k][i]; });
    }
  }
  // Widens the weights of the neurons from .. to - 1 to double.
  void widen(int from, int to, double (&wide)[kColumns][kWidenedRoom]) const {
    int panel = from / product.panel * product.panel;
    for (int j = from; j < to; panel += product.panel) {
      const int end = smaller(panel + product.panel, to);
      for (int k = 0; k < kColumns; ++k) {
        const float* const weight = weights(k, panel) + (j - panel);
        double* const room = wide[k] + (j - from);
        if constexpr (Tile::kLanes > 1)
          bf::kernel::widened_row<typename Tile::Sums, typename Tile::Narrow>(weight, end - j,
                                                                              room);
        else
          for (int i = 0; i < end - j; ++i) room[i] = static_cast<double>(weight[i]);
      }
      j = end;
    }
  }
};

// Computes the columns first .. end - 1, kColumns at a time, over the neurons begin .. stop - 1.
// `add`: the sums are added to the result instead of replacing it.
template <int kRows, Weights kWeights, bool kListed, int kColumns>
__attribute__((noinline)) void product_columns(const Product& product, int first, int end,
                                               int begin, int stop, bool add) {
  constexpr bool kWide = kWeights == kWidened;
  using Tile = RowTile<kRows, kWide>;
  using Narrow = typename Tile::Narrow;
  constexpr int kVectors = Tile::kVectors;
  [[maybe_unused]] alignas(64) double wide[kColumns][kWide ? kWidenedRoom : 1];
  for (; first < end; first += kColumns) {
    const ColumnSums<Tile, kColumns, kListed> columns = {
        product, {product.live, product.out}, first, begin, stop};
    const bool once = stop - begin <= kMostWidened;
    if constexpr (kWide)
      if (once) columns.widen(begin, stop, wide);
    for (int group = 0; group < Tile::kAll; group += kVectors) {
      const float* const coefficients = product.coefficients + group * Tile::kLanes;
      typename Tile::Sums sum[kColumns][kVectors] = {};
      if constexpr (kWide) {
        for (int from = begin; from < stop; from += kMostWidened) {
          const int to = smaller(from + kMostWidened, stop);
          if (!once) columns.widen(from, to, wide);
          columns.add_widened(coefficients, sum, from, to, wide);
        }
      } else if constexpr (kWeights == kConsecutive) {
        columns.add_consecutive(coefficients, sum);
      } else if constexpr (kWeights == kPointers) {
        columns.add_by_pointers(coefficients, sum);
      } else {
        columns.add_any(coefficients, sum);
      }
      BF_UNROLL(16)
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
}

template <int kRows, Weights kWeights, bool kListed, int kMost>
void product_tiles(const Product& product, int begin, int stop, bool add) {
  const int count = product.live_in ? product.live_in[0] : product.in;
  tiles<kMost>(0, count, [&](auto columns, int first, int end) {
    product_columns<kRows, kWeights, kListed, decltype(columns)::value>(product, first, end, begin,
                                                                        stop, add);
  });
}

template <int kRows, bool kWide, bool kListed>
void product_block(const Product& product, int begin, int stop, bool add) {
  using Tile = RowTile<kRows, kWide>;
  const bool usual = product.panel == kUsualPanel;
  if constexpr (kWide)
    product_tiles<kRows, kWidened, kListed, Tile::kColumns>(product, begin, stop, add);
  else if (usual && product.live_in == nullptr)
    product_tiles<kRows, kConsecutive, kListed, Tile::kColumns>(product, begin, stop, add);
  else if (usual || product.out <= product.panel)
    product_tiles<kRows, kPointers, kListed, Tile::kListed>(product, begin, stop, add);
  else
    product_tiles<kRows, kAnyPanels, kListed, 1>(product, begin, stop, add);
}

// Carries coefficients through a relaxation, in place: A over a' = relu(z) becomes slope A over z,
// where A's sign chooses the line; A times the line's offset is summed per row.
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

  // A neuron's entries of a table for the rows of vector v.
  static Vector shared(const float* table, int v) {
    if constexpr (kBoxes == 1)
      return broadcast<Vector>(*table);
    else
      return load<Vector>(table + v * kLanes % kBoxes);
  }

  // Relaxes the neurons begin .. end - 1.
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

// A relaxation and then a product. `table`: null leaves the relaxation out.
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

// Computes spread = sum_k |coefficients_k| radius_k.
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
