#pragma once

#include <optional>
#include <vector>

#include "frontend/functions/interval.h"

namespace bf_aot {

// An interval of doubles.
struct Enclosure {
  double low = 0, high = 0;
};

// Returns enclosures, rising and apart, of all real zeros in [low, high] of the polynomial
// sum_k powers_k x^k; low and high may be infinite. A coefficient is any number of its interval.
// Nothing where the last coefficient may be 0, or where a zero may be beyond `farthest`.
std::optional<std::vector<Enclosure>> roots_between(const std::vector<Interval>& powers, double low,
                                                    double high, double farthest);

// sum_k powers_k x^k
Interval polynomial_at(const std::vector<Interval>& powers, const Interval& x);

}  // namespace bf_aot
