#pragma once

#include "bf/contract/integers.h"
#include "bf/core/vectors.h"

// Floats of rows of a table that lie close together, one in each lane: by permutations of whole
// vectors, where the processor permutes two in one instruction. Loaded one by one they take a step
// for each lane to come together.

namespace bf {

#if defined(__AVX512F__)

// Chooses the same kLanes floats of each row of a table [out / panel][rows][panel], where neurons
// lie beside each other in panels.
template <int kLanes>
class LaneChoice {
 public:
  using Floats = typename VectorOf<float, 16>::type;
  using Ints = typename VectorOf<std::int32_t, 16>::type;
  static constexpr int kMostWindows = 4;

  // Chooses the floats of these neurons; false where they lie too far apart.
  bool make(const std::int32_t* neurons, int rows, int panel) {
    if (panel % kVector != 0) return false;
    for (int r = 0; r < kLanes; ++r) {
      const int place = neurons[r] % panel, in_window = place % (2 * kVector);
      const std::ptrdiff_t first =
          std::ptrdiff_t{neurons[r] / panel} * panel * rows + place - in_window;
      int w = 0;
      while (w < count_ && windows_[w].first != first) ++w;
      if (w == kMostWindows) return false;
      if (w == count_) {
        const bool two = place - in_window + 2 * kVector <= panel;
        windows_[count_++] = {first, first + (two ? kVector : 0), Ints{}, Ints{}};
      }
      windows_[w].lane[r] = in_window;
      windows_[w].inside[r] = -1;
    }
    for (int w = count_; w < kMostWindows; ++w) {  // of those that are not used no float is chosen
      windows_[w] = windows_[0];
      windows_[w].inside = Ints{};
    }
    return true;
  }

  int windows() const { return count_; }

  // The chosen floats of the row whose first float of panel 0 is at `row`; kWindows >= windows().
  template <int kWindows>
  __attribute__((always_inline)) typename VectorOf<float, kLanes>::type of(const float* row) const {
    Floats chosen = from(windows_[0], row);
    BF_UNROLL_ROWS for (int w = 1; w < kWindows; ++w) {
      const Floats other = from(windows_[w], row);
      chosen = windows_[w].inside ? other : chosen;
    }
    typename VectorOf<float, kLanes>::type made;
    __builtin_memcpy(&made, &chosen, sizeof made);
    return made;
  }

 private:
  static constexpr int kVector = 16;

  // Two vectors, or twice the same at the end of a panel: which of their floats is in a lane, and
  // whether any is.
  struct Window {
    std::ptrdiff_t first, second;
    Ints lane, inside;
  };

  __attribute__((always_inline)) static Floats from(const Window& window, const float* row) {
    const Floats a = load_rows<Floats>(row + window.first);
    const Floats b = load_rows<Floats>(row + window.second);
#if defined(__clang__)
    return __builtin_ia32_vpermi2varps512(a, window.lane, b);
#else
    return __builtin_shuffle(a, b, window.lane);
#endif
  }

  Window windows_[kMostWindows];
  int count_ = 0;
};

#endif

}  // namespace bf
