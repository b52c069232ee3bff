#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "aot/decide/boxes/row_bounds.h"
#include "aot/engine/verifier/verifier.h"
#include "frontend/property/property.h"
#include "frontend/property/verdict_tables.h"
#include "planner/plan/config.h"

namespace bf_aot::decide {

// The cases of a property, and which of them are verified.
class Cases {
 public:
  // whole_inputs: the inputs of the whole network, where the property speaks of its free inputs
  // alone; 0: it speaks of all. norm: of the balls in the boxes that the property is asked about.
  // The property must outlive the cases.
  explicit Cases(const Property& property, std::size_t whole_inputs = 0,
                 Norm norm = Norm::kLargest);

  std::size_t count() const { return verified_.size(); }
  std::size_t verified_count() const { return verified_count_; }
  bool is_verified(std::size_t index) const { return verified_.at(index); }
  std::vector<std::size_t> open() const;

  const Property& property() const { return property_; }
  // The property as float32 tables, which a verifier's own code has, too.
  const VerdictTables& tables() const { return tables_; }
  const FloatBoxes& boxes() const { return boxes_; }

  // Returns whether a point may have this many inputs: those of the whole network, or the free ones
  // alone.
  bool fits(std::size_t inputs) const { return inputs == inputs_ || inputs == whole_inputs_; }

  Norm norm() const { return norm_; }

  // The box of a case in float32 numbers, as a verifier takes it: of balls the one whose ball holds
  // the case's.
  input::FloatBox box(std::size_t index) const;

  // Marks the case as verified when the rows' bounds on its box exclude each of its clauses.
  void judge(std::size_t index, const RowBounds& rows);

  void mark_verified(std::size_t index);

 private:
  const Property& property_;
  std::size_t inputs_, whole_inputs_;
  Norm norm_;
  VerdictTables tables_;
  FloatBoxes boxes_;
  std::vector<bool> verified_;
  std::size_t verified_count_ = 0;
};

}  // namespace bf_aot::decide
