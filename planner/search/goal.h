#pragma once

#include <cstdint>
#include <limits>
#include <string>

#include "planner/plan/config.h"

namespace bf_aot {

// Figures of a candidate plan that are known before any code is made.
struct Metrics {
  double seconds = 0;    // of one call, predicted
  double bytes = 0;      // workspace: the largest sum alive in one step
  double looseness = 1;  // mean width on the sample boxes, relative to crown's
  double compile = 0;    // seconds to compile the code, predicted
  bool operator==(const Metrics&) const = default;
};

// The number that a search minimises, and the limits that it must keep. A candidate that keeps the
// limits goes before one that does not, one that breaks them less before one that breaks them more.
class Goal {
 public:
  // The sum of weight x metric.
  Goal(const Metrics& weights, const Metrics& limits) : weights_(weights), limits_(limits) {}

  // No limits; the weighted sum of the metrics' logarithms.
  static Goal trade_off(const Metrics& weights) {
    Goal goal(weights, no_limits());
    goal.logarithms_ = true;
    return goal;
  }

  static Metrics no_limits() {
    constexpr double kInf = std::numeric_limits<double>::infinity();
    return {kInf, kInf, kInf, kInf};
  }

  // The excess over the limits, relative to each; 0 when they are kept.
  double excess(const Metrics& m) const;
  double value(const Metrics& m) const;

  // Returns true if `a` is preferred. Of equals, the tighter, then the faster, then the smaller is.
  bool prefers(const Metrics& a, const Metrics& b) const;

  const Metrics& limits() const { return limits_; }

 private:
  Metrics weights_;
  Metrics limits_;
  bool logarithms_ = false;
};

// "3.1 us"
std::string duration_text(double seconds);

}  // namespace bf_aot
