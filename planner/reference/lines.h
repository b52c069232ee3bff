#pragma once

#include <vector>

#include "planner/plan/line_steps.h"
#include "planner/reference/linear.h"
#include "planner/reference/numbers.h"
#include "planner/reference/relaxation.h"

// Forward lines of the reference machine: rows [K + 2][neurons], see line_steps.h. Error terms
// aside, spreads are those of the relaxations alone.
namespace bf_aot::reference {

// Lines of a layer that reads the box.
template <typename Scalar>
Vector<Scalar> lines_of_box(const AffineMap<Scalar>& map, const Vector<Scalar>& radius,
                            Eigen::Index n) {
  const Eigen::Index inputs = radius.size();
  Vector<Scalar> lines = zeros<Scalar>(line_rows(static_cast<int>(inputs)) * n);
  for (Eigen::Index k = 0; k < inputs; ++k) {
    Vector<Scalar> input = zeros<Scalar>(inputs), row = zeros<Scalar>(n);
    input(k) = radius(k);
    map.parts.at(0)->apply(input, row);
    lines.segment(k * n, n) = row;
  }
  return lines;
}

// Lines of a layer of n neurons, made from those of its `in` inputs.
template <typename Scalar>
Vector<Scalar> lines_through(const AffineMap<Scalar>& map, const Vector<Scalar>& from,
                             Eigen::Index inputs, Eigen::Index in, Eigen::Index n) {
  Vector<Scalar> lines = zeros<Scalar>((inputs + 2) * n);
  for (Eigen::Index k = 0; k < inputs + 2; ++k) {
    const Vector<Scalar> row_in = from.segment(k * in, in);
    Vector<Scalar> row = zeros<Scalar>(n);
    if (k <= inputs)
      map.parts.at(0)->apply(row_in, row);
    else
      map.parts.at(0)->apply_magnitudes(row_in, row);
    lines.segment(k * n, n) = row;
  }
  return lines;
}

// Bounds of the distance of values from their centre: the interval's radius, or the lines' reach.
template <typename Scalar>
struct LineReach {
  Vector<Scalar> below, above;
};

template <typename Scalar>
LineReach<Scalar> reach_of_lines(const Vector<Scalar>& lines, Eigen::Index inputs,
                                 const Vector<Scalar>& radius) {
  const Eigen::Index n = lines.size() / (inputs + 2);
  LineReach<Scalar> made{radius, radius};
  for (Eigen::Index j = 0; j < n; ++j) {
    const Scalar middle = lines(inputs * n + j);
    if (!is_finite(middle)) continue;
    Scalar reach = lines((inputs + 1) * n + j);
    for (Eigen::Index k = 0; k < inputs; ++k) reach += magnitude(Scalar(lines(k * n + j)));
    const Scalar down = reach - middle, up = reach + middle;
    if (down < made.below(j)) made.below(j) = down;
    if (up < made.above(j)) made.above(j) = up;
  }
  return made;
}

// Lines of the activations: both parallel, with the upper line's slope, since relu(z) >= slope z.
template <typename Scalar>
Vector<Scalar> relaxed_lines(const Vector<Scalar>& lines, Eigen::Index inputs,
                             const std::vector<Relaxed<Scalar>>& relaxed,
                             const Vector<Scalar>& centre, const Vector<Scalar>& centre_out) {
  const Eigen::Index n = lines.size() / (inputs + 2);
  Vector<Scalar> made = zeros<Scalar>(lines.size());
  for (Eigen::Index j = 0; j < n; ++j) {
    const Relaxed<Scalar>& line = relaxed[static_cast<std::size_t>(j)];
    const Scalar slope = line.slope_upper, upper = line.intercept_upper;
    const Scalar lower = slope == line.slope_lower ? line.intercept_lower : Scalar(0);
    made(inputs * n + j) = slope * centre(j) + (upper + lower) / 2 - centre_out(j);
    made((inputs + 1) * n + j) = (upper - lower) / 2;
    if (slope == 0) continue;
    for (Eigen::Index k = 0; k < inputs + 2; ++k) made(k * n + j) += slope * lines(k * n + j);
  }
  return made;
}

}  // namespace bf_aot::reference
