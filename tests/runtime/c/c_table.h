#pragma once

#include <cmath>
#include <vector>

#include "bf/functions/functions.h"
#include "c_support.h"

// Tables of functions as C has them, and layers of such functions, for tests.

namespace bf_test {

// A table as C has it: fields are in the same order.
struct CTable {
  std::vector<declared::bf_function_run> runs;
  declared::bf_function view;

  explicit CTable(const bf::FunctionView& f) {
    for (int i = 0; i < f.runs; ++i) {
      const auto& [kind, open, cell, cells, start, start_low, start_high, end_low, end_high, slack,
                   intercept, slope, turn_from, turn_to, turn] = f.run[i];
      runs.push_back({static_cast<declared::bf_run_kind>(kind), open, cell, cells, start, start_low,
                      start_high, end_low, end_high, slack, intercept, slope, turn_from, turn_to,
                      turn});
    }
    view = {static_cast<declared::bf_function_form>(f.form),
            f.monotone,
            f.exponent,
            f.degree,
            f.cells,
            f.runs,
            f.start,
            f.coefficient,
            f.error,
            f.slope_error,
            runs.data(),
            f.step,
            f.first_octave,
            f.octaves,
            f.scale,
            f.below_low,
            f.below_high,
            f.above_low,
            f.above_high,
            f.least,
            f.most,
            f.wave,
            f.lowest,
            f.highest,
            f.slack};
  }
};

// Intervals near where the function bends, and anywhere.
struct Neurons {
  Doubles centre;
  Floats below, above, radius;

  Neurons(Edges& edges, int n, const std::vector<double>& special)
      : centre(edges.doubles(n)),
        below(edges.floats(n)),
        above(edges.floats(n)),
        radius(edges.sizes(n)) {
    for (std::size_t j = 0; j < size(n); ++j) {
      if (edges.below(2) == 0) {
        const double width = std::exp2(edges.unit() * 30 - 26);
        below[j] = static_cast<float>(edges.unit() * width);
        above[j] = static_cast<float>(edges.unit() * width);
        centre[j] = (edges.unit() - 0.4) * 12;
      }
      if (edges.below(3) == 0)
        centre[j] = special[size(edges.below(static_cast<int>(special.size())))];
      if (edges.below(8) == 0) above[j] = below[j] = 0;
      if (edges.below(8) == 0) centre[j] += static_cast<double>(below[j]);
    }
  }
};

}  // namespace bf_test
