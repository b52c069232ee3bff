#pragma once

#include <vector>

#include "planner/functions/pieces.h"

namespace bf_aot {

// f'' over [low, high].
Interval curvature(const Formula& f, double low, double high);

// Bounds of |f - p| and |f' - p'| over a cell, p in exact arithmetic.
struct CellError {
  Real value, slope;
};

// p(x) = sum_k coefficients_k (x - origin)^k over [low, high]. Splits the cell until the remainders
// of the Taylor expansions are below `negligible`, or no further.
CellError cell_error(const Formula& f, const std::vector<double>& coefficients, double origin,
                     double low, double high, double negligible);

}  // namespace bf_aot
