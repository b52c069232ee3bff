#pragma once

#include <algorithm>
#include <variant>

#include "frontend/graph/graph.h"

namespace bf_aot {

// Returns true if the operator stands for rounding to few digits, as import writes casts: y = (1 +
// d) x + e, where d and e are others for each element and each input. So it has no derivative, and
// two values of it differ by more than their arguments' difference says.
inline bool is_rounding(const Op& op) {
  constexpr double kFewDigits = 0x1p-11;
  const auto* const scale = std::get_if<Scale>(&op);
  return scale != nullptr &&
         std::ranges::any_of(scale->factor.error, [](double error) { return error >= kFewDigits; });
}

}  // namespace bf_aot
