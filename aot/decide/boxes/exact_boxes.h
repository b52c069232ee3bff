#pragma once

#include <gmpxx.h>

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "frontend/property/property.h"
#include "planner/plan/plan_fwd.h"

namespace bf_aot::decide {

// Bounds of a property's rows in rational arithmetic. Bounds of floats enclose a limit that the
// network meets exactly, as in "relu(x) < 0", and so never exclude what lies beyond it. These do,
// on every box where the method's relaxation is exact at the limit; and where the box has few
// regions on which the network is affine, linear programs over these. See
// docs/proofs/branch-and-bound.md.
class ExactBoxes {
 public:
  // For small plans of real arithmetic that hold the network's own numbers; nothing for others.
  // Both must outlive the result. The plan is the property's: row k is property.rows[k].
  static std::optional<ExactBoxes> make(const Property& property, const Plan& plan);

  // Whether no input of the box, or of its ball where the plan is of balls, violates the case: each
  // of its clauses has a condition whose left side, in exact arithmetic, is beyond the limit on the
  // whole box, or no region of the box has a point at which all conditions of a clause hold.
  bool exclude(std::size_t property_case, std::span<const float> lower,
               std::span<const float> upper) const;

  // Whether exclude() goes through regions and takes milliseconds.
  bool is_quick() const { return quick_; }

 private:
  ExactBoxes(const Property& property, const Plan& plan, std::size_t entry, bool regions,
             bool quick)
      : property_(&property), plan_(&plan), entry_(entry), regions_(regions), quick_(quick) {}

  bool exclude_by_bounds(const std::vector<Clause>& clauses, const std::vector<mpq_class>& lower,
                         const std::vector<mpq_class>& upper) const;

  const Property* property_;
  const Plan* plan_;
  std::size_t entry_;  // bounds the rows on one box
  bool regions_;       // has_regions()
  bool quick_;
};

}  // namespace bf_aot::decide
