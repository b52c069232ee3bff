#pragma once

#include <cstddef>

#include "aot/decide/neurons/lanes/lane_matrix.h"

// Sums over the inputs of the box where row + t clause is least, row and clause being planes.
namespace bf_aot::decide {

struct PlanePair {
  std::size_t inputs = 0;
  const float *row, *clause;  // coefficients
  const float *low, *high;    // of the box
};

// Sums of row x and of clause x.
struct LineSums {
  float row = 0, clause = 0;
};

// At the corner where of_row row + t clause is least.
LineSums sum_lines(const PlanePair& planes, float of_row, float t);

// A sum of (row + t clause) x in double, and the sum of its terms' magnitudes, as computed.
struct LeastSum {
  double sum = 0, size = 0;
};

LeastSum sum_least(const PlanePair& planes, double t);

}  // namespace bf_aot::decide
