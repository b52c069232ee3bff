#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "aot/engine/verifier/verifier.h"
#include "frontend/property/property.h"
#include "frontend/property/verdict_tables.h"

namespace bf_aot::decide {

// The cases of a property, and which of them are verified.
class Cases {
 public:
  // whole_inputs: of the network, where the property is about its free inputs; 0: they are all.
  explicit Cases(const Property& property, std::size_t whole_inputs = 0);

  std::size_t count() const { return verified_.size(); }
  std::size_t verified_count() const { return verified_count_; }
  bool is_verified(std::size_t index) const { return verified_.at(index); }
  std::vector<std::size_t> open() const;

  // The property as a verifier has it.
  const VerdictTables& tables() const { return tables_; }
  const FloatBoxes& boxes() const { return boxes_; }

  // Whether a point has so many inputs, of the network or free.
  bool fits(std::size_t inputs) const { return inputs == inputs_ || inputs == whole_inputs_; }

  // The box of a case as a verifier takes it.
  input::FloatBox box(std::size_t index) const;

  // Marks the case as verified when `rows`, bounds of the property's rows on its box, exclude each
  // of its clauses.
  void judge(std::size_t index, const engine::Bounds& rows);

  void mark_verified(std::size_t index);

 private:
  bool is_excluded(std::uint32_t clause, const std::vector<float>& lower,
                   const std::vector<float>& upper) const;

  std::size_t inputs_, whole_inputs_;
  VerdictTables tables_;
  FloatBoxes boxes_;
  std::vector<bool> verified_;
  std::size_t verified_count_ = 0;
};

}  // namespace bf_aot::decide
