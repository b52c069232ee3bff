#pragma once

#include <gmpxx.h>

#include <optional>
#include <span>
#include <vector>

#include "aot/disturb/picture.h"

// Lines in the parameters around every element of a disturbed picture. Proof:
// docs/proofs/disturbances.md.

namespace bf_aot::disturb {

// For all parameters of a cell there are t in [-1, 1], one for each that is no place, so that
//   lower_i <= x_i - sum_j slopes_(j, i) t_j <= upper_i
// for each element x_i of the disturbed picture, as an input of the model. t_j is where the
// parameter lies in its side, from end to end.
struct Lines {
  std::vector<float> slopes;        // [ranges, elements]
  std::vector<float> lower, upper;  // [elements]
};

// Throws: BF3007 an input that may be beyond float32.
Lines lines_of(const PictureMaker& maker, std::span<const Range> picture, const Cell& cell,
               const std::string& where);

// The disturbed picture at one value of each parameter, places as whole numbers. Not of patches.
std::vector<Range> picture_at(const PictureMaker& maker, std::span<const Range> picture,
                              const std::vector<mpq_class>& parameters);

}  // namespace bf_aot::disturb
