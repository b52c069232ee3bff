#pragma once

#include <gmpxx.h>

#include <cstddef>
#include <vector>

#include "aot/reach/numbers/form.h"

namespace bf_aot::reach {

// A piece of a tube: for every start in the cell, what the state may be at any time of [from, to].
struct Segment {
  std::size_t period = 0;
  mpq_class from, to;  // seconds, of discrete loops steps; equal for instants
  std::vector<Form> state;
  std::vector<Form> control;  // that is held
};

// Is told of a cell's tube, piece after piece, in order of time: an instant, the time up to the
// next one (of continuous plants), an instant, and so on. Returns whether to go on.
class SegmentVisitor {
 public:
  virtual ~SegmentVisitor() = default;
  virtual bool visit(const Segment& segment, const std::vector<Form>& initial) = 0;
};

}  // namespace bf_aot::reach
