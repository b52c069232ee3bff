#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "frontend/functions/composite/composite.h"
#include "frontend/functions/composite/growth.h"

namespace bf_aot {

// A number from `low` to `high` at which functions of an expression bend or jump; the number
// itself where these are equal.
struct Border {
  double low = 0, high = 0;
  bool jumps = false;
};

// Borders, rising, no two of which touch, and for each gap between them the branches of the steps.
// The first gap reaches from -infinity, the last to infinity.
struct Borders {
  std::vector<Border> borders;
  std::vector<std::vector<std::uint8_t>> branches;
};

// An open interval between two borders.
struct Gap {
  double low, high;
};
Gap gap_of(const std::vector<Border>& borders, std::size_t index);

// A branch from here on is the value at the break of this number less kAtBreak: the argument is
// that break throughout.
inline constexpr std::uint8_t kAtBreak = 128;

// Nothing where the argument of a function that bends is no line on some gap, where a border is
// beyond 2^20, and where a function is none that composites have.
std::optional<Borders> borders_of(const std::vector<CompositeStep>& steps);

// Returns what is known of each step where the functions are on these branches: by the side, where
// that is given; else only polynomials are known.
std::vector<Growth> growths_of(const std::vector<CompositeStep>& steps,
                               const std::vector<std::uint8_t>& branches,
                               const std::optional<Side>& side);

// Returns the value at a number, where functions may bend or jump.
Growth value_at(const std::vector<CompositeStep>& steps, double x);

}  // namespace bf_aot
