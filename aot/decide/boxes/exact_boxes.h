#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "frontend/property/property.h"
#include "planner/plan/plan_fwd.h"

namespace bf_aot::decide {

// Bounds of a property's rows in rational arithmetic. Bounds of floats enclose a limit that the
// network meets exactly, as in "relu(x) < 0", and so never exclude what lies beyond it. These do,
// on every box where the method's relaxation is exact at the limit. See
// docs/proofs/branch-and-bound.md.
class ExactBoxes {
 public:
  // For small plans of real arithmetic that hold the network's own numbers; nothing for others.
  // Both must outlive the result. The plan is the property's: row k is property.rows[k].
  static std::optional<ExactBoxes> make(const Property& property, const Plan& plan);

  // Whether no input of the box violates the case: each of its clauses has a condition whose left
  // side, in exact arithmetic, is beyond the limit on the whole box.
  bool exclude(std::size_t property_case, std::span<const float> lower,
               std::span<const float> upper) const;

 private:
  ExactBoxes(const Property& property, const Plan& plan, std::size_t entry)
      : property_(&property), plan_(&plan), entry_(entry) {}

  const Property* property_;
  const Plan* plan_;
  std::size_t entry_;  // bounds the rows on one box
};

}  // namespace bf_aot::decide
