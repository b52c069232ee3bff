#pragma once

#include <string>

#include "aot/emit/loop/nest.h"

namespace bf_aot::loop {

// Two loops over different axes, each the outermost of its axis, as digits of one new axis.
struct Digits {
  std::string fused;
  Axis outer, inner;            // the axes
  std::int64_t outer_step = 1;  // of their loops
  std::int64_t inner_step = 1;
  std::int64_t inner_trips = 1;
  bool outer_walked = false;  // there are loops inside the steps
  bool inner_walked = false;
};

Digits digits_of(const Nest& nest, const Fuse& fuse);

// The reason why an index of the expression cannot be written with the new axis; none if all can.
Reason why_not_fused(const Expression& expression, const Digits& digits);

// The expression with the new axis. Where loops have steps, the old axes remain as what lies within
// a step, counted from 0.
Expression fused(Expression expression, const Digits& digits);

}  // namespace bf_aot::loop
