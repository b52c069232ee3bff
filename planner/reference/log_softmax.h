#pragma once

#include <cmath>
#include <type_traits>
#include <vector>

#include "planner/network/layer_loops.h"
#include "planner/reference/numbers.h"
#include "planner/reference/relaxation.h"

// Log-softmax layers without the prices of rounding: docs/proofs/log-softmax.md.
namespace bf_aot::reference {

// x_k - ln sum_j e^x_j of each entry; in rationals near that.
template <typename Scalar>
Vector<Scalar> log_softmax(const SparseMap& map, const Vector<Scalar>& x) {
  Vector<Scalar> z(static_cast<Eigen::Index>(map.column.size()));
  const auto at = [&](Eigen::Index k) -> const Scalar& {
    return x(map.column[static_cast<std::size_t>(k)]);
  };
  for_each_group(map, [&](Eigen::Index begin, Eigen::Index end) {
    Scalar largest = at(begin), sum(0);
    for (Eigen::Index k = begin; k < end; ++k) largest = Scalar(larger<Scalar>(largest, at(k)));
    for (Eigen::Index k = begin; k < end; ++k)
      sum += value_of({FunctionKind::kExp}, Scalar(at(k) - largest));
    const Scalar logarithm = value_of({FunctionKind::kLog}, sum);
    for (Eigen::Index k = begin; k < end; ++k) z(k) = at(k) - largest - logarithm;
  });
  return z;
}

// A plane value + sum slope_k x_k, around L = ln sum e^x.
struct SoftmaxPlane {
  double value = 0;
  std::vector<double> slope;
};

// The tangent of L at the centre.
inline SoftmaxPlane plane_below(const std::vector<double>& centre) {
  SoftmaxPlane made{0, centre};
  const double largest = *std::max_element(centre.begin(), centre.end());
  double sum = 0;
  for (double& x : made.slope) sum += x = std::exp(x - largest);
  made.value = largest + std::log(sum);
  for (std::size_t k = 0; k < centre.size(); ++k) {
    made.slope[k] /= sum;
    made.value -= made.slope[k] * centre[k];
  }
  return made;
}

// ln of the sum of the chords of powers, and its tangent at the centre. pivot >= 0: of the powers
// of differences from that element, whose own is 1.
inline SoftmaxPlane plane_above(const std::vector<double>& centre,
                                const std::vector<double>& radius, int pivot) {
  const std::size_t n = centre.size();
  SoftmaxPlane made{0, std::vector<double>(n, 0)};
  const auto p = static_cast<std::size_t>(pivot);
  double at = 0, base = pivot < 0 ? -HUGE_VAL : centre[p];
  for (std::size_t k = 0; pivot < 0 && k < n; ++k) base = std::max(base, centre[k] + radius[k]);
  for (std::size_t k = 0; k < n; ++k) {
    if (pivot >= 0 && k == p) {
      at += 1;
      continue;
    }
    const double reach = radius[k] + (pivot < 0 ? 0 : radius[p]);
    const double low = std::exp(centre[k] - base - reach);
    const double high = std::exp(centre[k] - base + reach);
    made.slope[k] = reach > 0 ? (high - low) / (2 * reach) : high;
    at += 0.5 * (low + high);
  }
  double taken = 0;
  for (double& slope : made.slope) taken += slope /= at;
  if (pivot >= 0) made.slope[p] = 1 - taken;
  made.value = base + std::log(at);
  for (std::size_t k = 0; k < n; ++k) made.value -= made.slope[k] * centre[k];
  return made;
}

// The lower of both at the centre.
inline SoftmaxPlane plane_above(const std::vector<double>& centre,
                                const std::vector<double>& radius) {
  const auto largest = std::max_element(centre.begin(), centre.end());
  SoftmaxPlane plain = plane_above(centre, radius, -1);
  SoftmaxPlane turned = plane_above(centre, radius, static_cast<int>(largest - centre.begin()));
  const auto at_centre = [&](const SoftmaxPlane& plane) {
    double value = plane.value;
    for (std::size_t k = 0; k < centre.size(); ++k) value += plane.slope[k] * centre[k];
    return value;
  };
  return at_centre(turned) < at_centre(plain) ? turned : plain;
}

// Bounds of each entry on a box, and the rows of bf::LogSoftmaxRow; infinite where the box is.
inline void relax_log_softmax(const SparseMap& map, const Vector<double>& centre,
                              const Vector<double>& radius, Interval<double>& bounds,
                              Vector<double>& table) {
  const auto n = static_cast<Eigen::Index>(map.column.size());
  for_each_group(map, [&](Eigen::Index begin, Eigen::Index end) {
    std::vector<double> c, r;
    for (Eigen::Index k = begin; k < end; ++k) {
      c.push_back(centre(map.column[static_cast<std::size_t>(k)]));
      r.push_back(radius(map.column[static_cast<std::size_t>(k)]));
    }
    bool known = true;
    for (std::size_t k = 0; k < c.size(); ++k)
      known = known && is_finite(c[k] - r[k]) && is_finite(c[k] + r[k]);
    const SoftmaxPlane below = known ? plane_below(c) : SoftmaxPlane{0, c};
    const SoftmaxPlane above = known ? plane_above(c, r) : SoftmaxPlane{0, c};
    for (std::size_t k = 0; k < c.size(); ++k) {
      const Eigen::Index at = begin + static_cast<Eigen::Index>(k);
      double highest = 0, lowest = 0;  // sums of the others' powers, relative to the element's own
      for (std::size_t j = 0; known && j < c.size(); ++j) {
        if (j == k) continue;
        highest += std::exp(c[j] + r[j] - (c[k] - r[k]));
        lowest += std::exp(c[j] - r[j] - (c[k] + r[k]));
      }
      bounds.lower(at) = known ? -std::log1p(highest) : -HUGE_VAL;
      bounds.upper(at) = known ? -std::log1p(lowest) : HUGE_VAL;
      table(bf::kAboveSlope * n + at) = above.slope[k];
      table(bf::kBelowSlope * n + at) = below.slope[k];
      table(bf::kLogSoftmaxUpper * n + at) = known ? -below.value : HUGE_VAL;
      table(bf::kLogSoftmaxLower * n + at) = known ? -above.value : -HUGE_VAL;
    }
  });
}

}  // namespace bf_aot::reference
