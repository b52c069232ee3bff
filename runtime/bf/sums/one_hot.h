#pragma once

// Ends of backward rows over one-hot inputs in a box: docs/proofs/one-hot.md.

#include <cstddef>

#include "bf/core/rounding.h"
#include "bf/core/vectors.h"
#include "bf/sums/terms.h"

namespace bf {

// Bounds rows over inputs of which, in each group of `size`, one that varies is at its upper end
// and the others are at their lower ends. With p_k = A_k radius_k, the rows' sums over the inputs
// are at least
//   -reach,  reach = sum over groups of (sum_k p_k - 2 min_k p_k) + slack sum_k |p_k|
// over the inputs that vary. spread_r is the reach where it is positive; else sums_r, which it is
// subtracted from, grows by its magnitude. A reach that is NaN makes the spread infinite.
template <int kRows>
BF_ROUTINE concretize_one_hot(const float* coefficients, const float* radius, int inputs, int size,
                              double slack, float* sums, float* spread) {
  double reach[kRows] = {}, all[kRows] = {};
  for (std::ptrdiff_t first = 0; first < inputs; first += size) {
    double least[kRows] = {}, sum[kRows] = {};
    bool varies = false;
    for (std::ptrdiff_t k = first; k < first + size; ++k) {
      if (radius[k] == 0.0f) continue;
      const double r = static_cast<double>(radius[k]);
      const float* const a = coefficients + k * kRows;
      for (int row = 0; row < kRows; ++row) {
        const double wide = static_cast<double>(a[row]);
        const double part = wide * r;  // exact
        const double magnitude = part < 0 ? -part : part;
        // A subnormal radius was rounded up by less than 2^-149.
        all[row] += magnitude + (wide < 0 ? -wide : wide) * 0x1p-126;
        sum[row] += part;
        least[row] = varies && !(part < least[row]) ? least[row] : part;
      }
      varies = true;
    }
    if (!varies) continue;
    for (int row = 0; row < kRows; ++row) reach[row] += sum[row] - 2 * least[row];
  }
  for (int row = 0; row < kRows; ++row) {
    const double most = reach[row] + slack * all[row];
    const bool within = most < 0;
    spread[row] = within ? 0.0f : float_up(most);
    if (within) sums[row] = float_down(sub_down(static_cast<double>(sums[row]), most));
  }
}

}  // namespace bf
