#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "aot/input/json_io.h"
#include "planner/plan/config.h"

namespace bf_aot::decide {

// A line over the inputs of a box that is below what it is about: constant + sum |factor_k| d_k,
// d_k being the distance from the end of the box at which factor_k x_k is least.
struct BoxLine {
  std::span<const float> factors;
  double constant = 0;
};

// The ball of a norm other than kLargest in a case's box, beside parts of that box.
// Proof: docs/proofs/balls.md, "Parts of a ball".
class BallPart {
 public:
  // whole: the box whose ball holds the case's; at most 1024 of its inputs vary.
  BallPart(Norm norm, const input::FloatBox& whole);

  // Shrinks a part of the box to what it has in common with the ball, or more. False where that is
  // nothing, proven.
  bool clip(std::span<float> lower, std::span<float> upper) const;

  // Returns whether the line is at least `limit` at each point of the ball in the line's box,
  // proven.
  bool is_at_least(const BoxLine& line, std::span<const float> lower, std::span<const float> upper,
                   double limit) const;

 private:
  double least_distance(std::size_t k, double lower, double upper) const;
  double dual_bound(const BoxLine& line, std::span<const float> lower, std::span<const float> upper,
                    double multiplier) const;

  bool cross_;                           // norm l1, else l2
  std::vector<double> centre_, radius_;  // of a ball around the one that is meant
};

}  // namespace bf_aot::decide
