#pragma once

#include <gmpxx.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "frontend/property/property.h"

namespace bf_aot::decide {

// The conditions of a clause that speak of inputs alone, in plain double: what the search keeps its
// points to. Nothing is claimed.
class Relations {
 public:
  // lower, upper: the box that points stay in.
  Relations(const Property& property, const Clause& clause, const std::vector<float>& lower,
            const std::vector<float>& upper);

  bool empty() const { return halves_.empty(); }

  // Moves a point to one of the box nearby at which the conditions hold, or nearly (cyclic
  // projections, Bregman 1965). at(i): input i of it, a float that can be assigned.
  template <class At>
  void place(const At& at) const {
    for (int round = 0; round < kMostRounds; ++round) {
      bool moved = false;
      for (const Half& half : halves_) moved = step_inside(half, at) || moved;
      if (!moved) return;
    }
  }

  // Takes out of a direction, which the point is to go against, what would leave the conditions
  // that the point meets with equality.
  template <class At, class Slope>
  void bend(const At& at, const Slope& slope) const {
    for (int round = 0; round < kFewRounds; ++round)
      for (const Half& half : halves_) {
        if (excess(half, at) < -half.slack) continue;
        double along = 0;
        for (const auto& [i, factor] : half.factors)
          along += factor * static_cast<double>(slope(i));
        if (along >= 0) continue;
        for (const auto& [i, factor] : half.factors)
          slope(i) -= static_cast<float>(along / half.square * factor);
      }
  }

  // Returns whether a condition is missed by more than move_into() may mend.
  template <class At>
  bool are_missed(const At& at) const {
    for (const Half& half : halves_)
      if (excess(half, at) > half.slack) return true;
    return false;
  }

  // The largest amount by which one of them does not hold.
  template <class At>
  double most_excess(const At& at) const {
    double most = 0;
    for (const Half& half : halves_) most = std::max(most, excess(half, at));
    return most;
  }

 private:
  static constexpr int kMostRounds = 60, kFewRounds = 4;

  // sum of factor_i x_i <= limit.
  struct Half {
    std::vector<std::pair<std::size_t, double>> factors;
    double limit = 0;
    double square = 0;  // the sum of the factors' squares
    double slack = 0;   // a part of what the box makes of the sum
  };

  template <class At>
  static double excess(const Half& half, const At& at) {
    double value = -half.limit;
    for (const auto& [i, factor] : half.factors) value += factor * static_cast<double>(at(i));
    return value;
  }

  // Projects onto a half space, and back into the box. Returns whether the point moved.
  template <class At>
  bool step_inside(const Half& half, const At& at) const {
    const double by = excess(half, at);
    if (by <= half.slack / 8) return false;
    for (const auto& [i, factor] : half.factors) {
      const double x = static_cast<double>(at(i)) - by / half.square * factor;
      at(i) = std::clamp(static_cast<float>(x), lower_[i], upper_[i]);
    }
    return true;
  }

  const std::vector<float>& lower_;
  const std::vector<float>& upper_;
  std::vector<Half> halves_;
};

// A point next to x at which the conditions of the clause that speak of inputs alone hold exactly,
// by room where they leave some; x lies in the case's exact box, and so does the point. Nothing
// where none is found, or where x satisfies them.
std::optional<std::vector<mpq_class>> move_into(const Property& property, const PropertyCase& one,
                                                const Clause& clause,
                                                const std::vector<mpq_class>& x);

}  // namespace bf_aot::decide
