#pragma once

#include "bf/contract/integers.h"
#include "bf/core/vectors.h"

// Rows of channels, pixel by pixel, written as the planes of an image: the columns of a matrix.

namespace bf {

template <bool kAdd>
static inline void give(float value, float* to) {
  *to = kAdd ? *to + value : value;
}

// Lanes kFrom to kEnd - 1 of a vector in memory, in pieces of registers.
template <bool kAdd, int kFrom, int kEnd, int kPiece = kVectorBytes / 4>
__attribute__((always_inline)) static inline void put_lanes(const void* vector, float* to) {
  if constexpr (kFrom + kPiece <= kEnd) {
    using Piece = typename VectorOf<float, kPiece>::type;
    Piece made = load_rows<Piece>(static_cast<const char*>(vector) + kFrom * 4);
    if constexpr (kAdd) made += load_rows<Piece>(to + kFrom);
    store_rows(to + kFrom, made);
    put_lanes<kAdd, kFrom + kPiece, kEnd, kPiece>(vector, to);
  } else if constexpr (kFrom < kEnd) {
    put_lanes<kAdd, kFrom, kEnd, kPiece / 2>(vector, to);
  }
}

template <int... kLane>
struct LaneList {};
template <int kCount, int... kLane>
struct ListLanes : ListLanes<kCount - 1, kCount - 1, kLane...> {};
template <int... kLane>
struct ListLanes<0, kLane...> {
  using type = LaneList<kLane...>;
};

// Lanes of a and b, in every four of them the same: of a's four 0 to 3, of b's 4 to 7.
struct Pick {
  int from[4];
};

static constexpr int lane_of(Pick pick, int width, int lane) {
  const int from = pick.from[lane % 4];
  return lane / 4 * 4 + (from < 4 ? from : width + from - 4);
}

// Lane k is lane kFrom_k of a and, behind it, b.
template <int... kFrom, typename Vector>
__attribute__((always_inline)) static inline Vector shuffle(Vector a, Vector b) {
#if defined(__clang__)
  return __builtin_shufflevector(a, b, kFrom...);
#else
  return __builtin_shuffle(a, b, typename VectorOf<std::int32_t, sizeof...(kFrom)>::type{kFrom...});
#endif
}

template <int kA, int kB, int kC, int kD, typename Vector, int... kLane>
__attribute__((always_inline)) static inline Vector pick(Vector a, Vector b, LaneList<kLane...>) {
  constexpr Pick kPick = {{kA, kB, kC, kD}};
  return shuffle<lane_of(kPick, sizeof...(kLane), kLane)...>(a, b);
}

// Every second lane of a and, behind it, b.
template <int kFirst, typename Vector, int... kLane>
__attribute__((always_inline)) static inline Vector every_second(Vector a, Vector b,
                                                                 LaneList<kLane...>) {
  return shuffle<(kFirst + 2 * kLane)...>(a, b);
}

// Writes, or adds, the first kCount of four rows of kWidth numbers as columns: row x, number c goes
// to to[c column + x]. Four rows of four numbers change places within every four lanes.
template <bool kAdd, int kCount, int kWidth, typename Vector>
__attribute__((always_inline)) static inline void give_columns(const Vector (&row)[4], float* to,
                                                               std::ptrdiff_t column) {
  using Four = VectorOf<float, 4>::type;
  constexpr typename ListLanes<kWidth>::type lanes = {};
  const Vector low = pick<0, 4, 1, 5>(row[0], row[1], lanes);
  const Vector high = pick<2, 6, 3, 7>(row[0], row[1], lanes);
  const Vector below = pick<0, 4, 1, 5>(row[2], row[3], lanes);
  const Vector above = pick<2, 6, 3, 7>(row[2], row[3], lanes);
  const Vector columns[4] = {
      pick<0, 1, 4, 5>(low, below, lanes), pick<2, 3, 6, 7>(low, below, lanes),
      pick<0, 1, 4, 5>(high, above, lanes), pick<2, 3, 6, 7>(high, above, lanes)};
  BF_UNROLL_ROWS for (int c = 0; c < kWidth; ++c) {
    const char* const from = reinterpret_cast<const char*>(&columns[c % 4]);
    float* const place = to + c * column;
    Four made, before = {};
    __builtin_memcpy(&made, from + c / 4 * 16, sizeof made);
    if constexpr (kAdd) {
      __builtin_memcpy(&before, place, kCount * sizeof(float));
      made += before;
    }
    __builtin_memcpy(place, &made, kCount * sizeof(float));
  }
}

// give_columns() for `pixels` rows of `channels` numbers in memory, `pitch` apart; the numbers of a
// column are `step` apart.
template <bool kAdd>
__attribute__((always_inline)) static inline void give_channels(const float* from, int pixels,
                                                                int channels, int pitch, float* to,
                                                                std::ptrdiff_t column,
                                                                std::ptrdiff_t step) {
  using Four = VectorOf<float, 4>::type;
  const int four_pixels = step == 1 ? pixels / 4 * 4 : 0, four_channels = channels / 4 * 4;
  for (int c = 0; c < four_channels; c += 4)
    for (int x = 0; x < four_pixels; x += 4) {
      const float* const row = from + x * pitch + c;
      const Four rows[4] = {load_rows<Four>(row), load_rows<Four>(row + pitch),
                            load_rows<Four>(row + 2 * pitch), load_rows<Four>(row + 3 * pitch)};
      give_columns<kAdd, 4, 4>(rows, to + c * column + x, column);
    }
  for (int x = 0; x < pixels; ++x)
    for (int c = x < four_pixels ? four_channels : 0; c < channels; ++c)
      give<kAdd>(from[x * pitch + c], to + c * column + x * step);
}

}  // namespace bf
