#pragma once

#include "bf/contract/integers.h"
#include "bf/contract/lists.h"
#include "bf/contract/tiles.h"
#include "bf/core/bounds.h"
#include "bf/core/lane_choice.h"
#include "bf/core/vectors.h"

// The first link of backward rows where the layer below the rows' own reads few tensors' elements,
// as controllers' first layers do: first coefficients, relaxation and product in registers.

namespace bf {

#if defined(__AVX512F__)

// The neurons of a block: of those that a list has (see live_neurons.h), or all.
template <bool kListed>
struct BlockOfNeurons {
  const std::int32_t* list;
  int begin, end;  // places

  BlockOfNeurons(const std::int32_t* live, int n, int first, int last)
      : list(live), begin(place(live, n, first)), end(place(live, n, last)) {}

  std::ptrdiff_t operator[](int i) const {
    return kListed ? static_cast<std::ptrdiff_t>(static_cast<std::uint32_t>(list[1 + i])) : i;
  }

 private:
  static int place(const std::int32_t* live, int n, int value) {
    const int most = value < n ? value : n;
    return kListed ? live[1 + n + (most + kListUnit - 1) / kListUnit] : most;
  }
};

// The rows of +z_i, then those of -z_i, of kPairs neurons in vectors of 16: of 8 neurons both are
// in one vector.
template <int kPairs>
struct SignedRows {
  static_assert(kPairs == 8 || kPairs == 16, "bf: one vector of both signs, or one of each");
  static constexpr int kVectors = 2 * kPairs / kSignedLanes;
  using Floats = typename VectorOf<float, kSignedLanes>::type;
  Floats v[kVectors];

  // row: the neurons' weights; of 8 neurons twice.
  __attribute__((always_inline)) explicit SignedRows(Floats row) {
    constexpr Floats kSigns = {1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1, -1, -1, -1};
    v[0] = kVectors == 1 ? row * kSigns : row;
    if constexpr (kVectors == 2) v[1] = -row;
  }
};

template <int kPairs, int kIn, int kOut, int kPanel, int kStartPanel, int kChunk, bool kListed,
          typename RowOf>
__attribute__((noinline)) static void first_link_of(
    const float* BF_RESTRICT start, const float* BF_RESTRICT weight, const float* BF_RESTRICT table,
    float* BF_RESTRICT sums, float* BF_RESTRICT result, const std::int32_t* BF_RESTRICT live,
    const RowOf& given) {
  using Rows = SignedRows<kPairs>;
  using Floats = typename Rows::Floats;
  constexpr int kVectors = Rows::kVectors, kLanes = kSignedLanes;
  const RowOf row_of = given;  // in registers
  for (int block = 0; block < kOut; block += kChunk) {
    Floats sum[kIn][kVectors] = {};
    Floats offset[kVectors] = {};
    const BlockOfNeurons<kListed> neurons(live, kOut, block, block + kChunk);
    for (int i = neurons.begin; i < neurons.end; ++i) {
      const std::ptrdiff_t j = neurons[i];
      const Rows a(row_of(start + j * kStartPanel));
      const float* const line = pinned(table + j);
      const Floats slope_upper = line[0] - Floats{}, slope_lower = line[kOut] - Floats{};
      const Floats offset_upper = line[2 * kOut] - Floats{};
      const Floats offset_lower = line[3 * kOut] - Floats{};
      Floats relaxed[kVectors];
      BF_UNROLL_ROWS for (int v = 0; v < kVectors; ++v) {
        const auto negative = a.v[v] < Floats{};
        relaxed[v] = a.v[v] * (negative ? slope_upper : slope_lower);
        offset[v] += a.v[v] * (negative ? offset_upper : offset_lower);
      }
      const float* const w = pinned(weight + weight_of(j, kIn, kPanel));
      BF_UNROLL_ROWS for (int k = 0; k < kIn; ++k) {
        BF_UNROLL_ROWS for (int v = 0; v < kVectors; ++v) sum[k][v] += w[k * kPanel] * relaxed[v];
      }
    }
    BF_UNROLL_ROWS for (int v = 0; v < kVectors; ++v) {
      float* const to = sums + v * kLanes;
      store_rows(to, Floats(load_rows<Floats>(to) + offset[v]));
    }
    BF_UNROLL_ROWS for (int k = 0; k < kIn; ++k) {
      BF_UNROLL_ROWS for (int v = 0; v < kVectors; ++v) {
        float* const to = result + (k * kVectors + v) * kLanes;
        store_rows(to, block == 0 ? sum[k][v] : Floats(load_rows<Floats>(to) + sum[k][v]));
      }
    }
  }
}

// Rows +z_i and -z_i of kPairs neurons i of a dense layer with the weights start, from its weights
// to their coefficients over what the layer that it reads, of kIn inputs and kOut neurons, stands
// on: what start_rows() and that layer's backward kernel make one after the other, sum by sum in
// the same order, in chunks of kChunk neurons; their coefficients between both are never stored.
// start: [../ kStartPanel][kOut][kStartPanel]; weight: [kOut / kPanel][kIn][kPanel]; table: as
// relax() makes it; sums, result: [rows] and [kIn][rows], the first added to. live: the layer's
// neurons that rows pass through, as list_live() lists them; null: all.
template <int kPairs, int kIn, int kOut, int kPanel, int kStartPanel, int kChunk, bool kListed>
static inline void first_link(const float* start, const std::int32_t* neurons, const float* weight,
                              const float* table, float* sums, float* result,
                              const std::int32_t* live) {
  using Floats = typename SignedRows<kPairs>::Floats;
  std::int32_t lanes[kSignedLanes];
  std::ptrdiff_t at[kSignedLanes];
  for (int r = 0; r < kSignedLanes; ++r) {
    lanes[r] = neurons[r % kPairs];
    at[r] = weight_of(lanes[r], kOut, kStartPanel);
  }
  const auto run = [&](const auto& row_of) {
    first_link_of<kPairs, kIn, kOut, kPanel, kStartPanel, kChunk, kListed>(
        start, weight, table, sums, result, live, row_of);
  };
  using Choice = LaneChoice<kSignedLanes>;
  Choice choice;
  if (!choice.make(lanes, kOut, kStartPanel))
    return run([&at](const float* w) {
      float each[kSignedLanes];
      BF_UNROLL_ROWS for (int r = 0; r < kSignedLanes; ++r) each[r] = w[at[r]];
      return load_rows<Floats>(each);
    });
  if (choice.windows() <= 2)
    run([choice](const float* w) { return choice.template of<2>(w); });
  else
    run([choice](const float* w) { return choice.template of<Choice::kMostWindows>(w); });
}

#endif

}  // namespace bf
