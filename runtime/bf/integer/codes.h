#pragma once

#include "bf/contract/integers.h"

// Codes of a grid from integer sums: docs/proofs/integer-grid.md. No floating point, no heap; all
// have internal linkage.

namespace bf::integer {

using Code = std::uint8_t;

// A row's function from sums to codes.
template <typename Multiplier>
struct Requantizer {
  std::int64_t addend;
  Multiplier multiplier;
  std::uint8_t shift, odd, low, high;
};

static inline Code clamped(std::int64_t code, int low, int high) {
  if (code < low) return static_cast<Code>(low);
  return static_cast<Code>(code > high ? high : code);
}

// (multiplier sum + addend) >> shift. The shift rounds down: compilers of C++17 that the verifier
// is for have arithmetic shifts.
struct Floor {
  template <typename Row>
  static Code code_of(const Row& row, std::int64_t scaled) {
    return clamped(scaled >> row.shift, row.low, row.high);
  }

  template <typename Multiplier>
  static Code code(const Requantizer<Multiplier>& row, std::int32_t sum) {
    return code_of(row, static_cast<std::int64_t>(row.multiplier) * sum + row.addend);
  }
};

// Rounds to the nearest; in the middle of two, to the one that is even before an offset is added.
// `odd` is the parity of that offset.
struct HalfEven {
  template <typename Row>
  static Code code_of(const Row& row, std::int64_t scaled) {
    const std::int64_t half = std::int64_t{1} << (row.shift - 1);
    const std::int64_t up = ((scaled >> row.shift) ^ row.odd) & 1;
    return clamped((scaled + half - 1 + up) >> row.shift, row.low, row.high);
  }

  template <typename Multiplier>
  static Code code(const Requantizer<Multiplier>& row, std::int32_t sum) {
    return code_of(row, static_cast<std::int64_t>(row.multiplier) * sum + row.addend);
  }
};

// A row of steps: code first + k from the sum steps[k - 1] on.
struct StepRow {
  const std::int32_t* steps;
  std::uint8_t first, count;
};

// The number of those among `count` keys, which never decrease, that are at most `key`.
template <typename Key>
static inline int count_up_to(const Key* keys, int count, Key key) {
  int low = 0;
  int high = count;
  while (low < high) {
    const int middle = (low + high) / 2;
    if (keys[middle] <= key)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

struct Steps {
  static Code code(const StepRow& row, std::int32_t sum) {
    return static_cast<Code>(row.first + count_up_to(row.steps, row.count, sum));
  }
};

}  // namespace bf::integer
