#pragma once

#include "aot/check/network.h"

// The sigmoid s(z) = 1 / (1 + e^-z) of multiples of the grid, and lines that it lies between, by
// integers alone. The proofs are in docs/proofs/certificates.md.

namespace bf_check {

// A number's bounds.
struct Range {
  Int low, high;
};

// Bounds of s(z 2^-T), in 2^-(P+T).
Range sigmoid(i64 z, const Grid& grid);

// slope 2^-P z + offset 2^-T.
struct Line {
  i64 slope = 0, offset = 0;
};

// Lines that are not below, and not above, s on [low, high], whose ends are in 2^-T.
Line line_above(i64 low, i64 high, const Grid& grid);
Line line_below(i64 low, i64 high, const Grid& grid);

}  // namespace bf_check
