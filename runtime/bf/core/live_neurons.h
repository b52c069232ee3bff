#pragma once

#include "bf/contract/integers.h"
#include "bf/contract/lists.h"

// Lists of the activations that are not 0 on the whole box: docs/proofs/live-neurons.md.

namespace bf {

// Writes how many of n neurons are live, for which is_live(j); then these in order, then the others
// in falling order; then how many live ones lie below 0, kListUnit, 2 kListUnit, .. and n. live:
// live_list_size(n) numbers.
template <typename IsLive>
static inline void list_if(int n, IsLive is_live, std::int32_t* live) {
  std::int32_t* places = live + 1 + n;
  int count = 0;
  for (int first = 0; first < n; first += kListUnit) {
    *places++ = count;
    const int end = first + kListUnit < n ? first + kListUnit : n;
    int of_unit = 0;
    for (int j = first; j < end; ++j) of_unit += is_live(j) ? 1 : 0;
    if (of_unit == end - first) {  // as everywhere on wide boxes
      for (int j = first; j < end; ++j) live[1 + count + j - first] = j;
      count += of_unit;
      continue;
    }
    for (int j = first; j < end; ++j) {
      const int next = count + (is_live(j) ? 1 : 0);
      live[1 + (next > count ? count : n - 1 - (j - count))] = j;
      count = next;
    }
  }
  *places = count;
  live[0] = count;
}

// Lists the activations that are not 0 on the whole box. NaN is live.
template <typename T>
static inline void list_live(const T* centre, const float* radius, int n, std::int32_t* live) {
  const auto is_live = [&](int j) { return !((centre[j] == 0) & (radius[j] == 0)); };
  list_if(n, is_live, live);
}

}  // namespace bf
