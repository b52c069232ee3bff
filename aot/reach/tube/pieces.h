#pragma once

#include <gmpxx.h>

#include <cstddef>
#include <vector>

#include "aot/reach/numbers/form.h"
#include "aot/reach/tube/segment.h"

namespace bf_aot::reach {

// Holds the ranges of all cells' tubes at one time, or between two.
struct TubePiece {
  std::size_t period = 0;
  mpq_class from, to;
  std::vector<Range> state, control;
};

// The ranges of a tube.
class Pieces : public SegmentVisitor {
 public:
  bool visit(const Segment& segment, const std::vector<Form>& initial) override;

  std::vector<TubePiece> made;
};

// Tells a tube to two visitors, and goes on while the first does.
class Together : public SegmentVisitor {
 public:
  Together(SegmentVisitor& first, SegmentVisitor& second) : first_(first), second_(second) {}
  bool visit(const Segment& segment, const std::vector<Form>& initial) override;

 private:
  SegmentVisitor &first_, &second_;
};

// Makes `to` hold both tubes, of the same loop: piece by piece, as long as the shorter one is.
void join(std::vector<TubePiece>& to, const std::vector<TubePiece>& tube);

}  // namespace bf_aot::reach
