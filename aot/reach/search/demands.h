#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "aot/reach/numbers/form.h"
#include "aot/reach/question/loop.h"
#include "aot/reach/tube/segment.h"

namespace bf_aot::reach {

// Returns whether a formula is proven for all numbers that the forms stand for.
bool holds(const Formula& formula, const std::vector<Form>& values);

// The values of a condition of a piece of a tube.
std::vector<Form> values_of(const Condition& condition, const Segment& segment,
                            const std::vector<Form>& initial);

// Returns whether the piece holds a time of the requirement's window. What lies between two
// instants meets a window that has more in common with it than an end.
bool is_demanded(const Requirement& requirement, const Segment& segment);

// A requirement that is not proven for a piece of a tube.
struct Failure {
  std::size_t requirement = 0, period = 0;
  mpq_class from, to;
  std::vector<Range> state;
  Form value;  // of the comparison that comes closest to being proven
};

// Asks for each piece of a tube whether all requirements are proven. Ends the tube at the first
// that is not.
class Demands : public SegmentVisitor {
 public:
  explicit Demands(const std::vector<Requirement>& requirements) : requirements_(requirements) {}

  bool visit(const Segment& segment, const std::vector<Form>& initial) override;
  const std::optional<Failure>& failure() const { return failure_; }

 private:
  const std::vector<Requirement>& requirements_;
  std::optional<Failure> failure_;
};

// Asks whether some requirement is proven to be broken at a time of its window. Ends the tube
// there.
class Breaches : public SegmentVisitor {
 public:
  explicit Breaches(const std::vector<Requirement>& requirements);

  bool visit(const Segment& segment, const std::vector<Form>& initial) override;

  struct Breach {
    std::size_t requirement = 0;
    mpq_class from, to;
  };
  const std::optional<Breach>& breach() const { return breach_; }

 private:
  const std::vector<Requirement>& requirements_;
  std::vector<Condition> opposite_;
  std::optional<Breach> breach_;
};

}  // namespace bf_aot::reach
