#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "aot/constants/verdict_tables.h"
#include "aot/verifier/verifier.h"
#include "frontend/property.h"

namespace bf_aot::cli {

// The cases of a property, and which of them are verified.
class Cases {
 public:
  explicit Cases(const Property& property);

  std::size_t count() const { return verified_.size(); }
  std::size_t verified_count() const { return verified_count_; }
  bool is_verified(std::size_t index) const { return verified_.at(index); }
  std::vector<std::size_t> open() const;

  // The property as a verifier has it.
  const VerdictTables& tables() const { return tables_; }
  const FloatBoxes& boxes() const { return boxes_; }

  // The box of a case as a verifier takes it.
  FloatBox box(std::size_t index) const;

  // Marks the case as verified when `rows`, bounds of the property's rows on its box, exclude each
  // of its clauses.
  void judge(std::size_t index, const Bounds& rows);

  void mark_verified(std::size_t index);

 private:
  bool is_excluded(std::uint32_t clause, const std::vector<float>& lower,
                   const std::vector<float>& upper) const;

  std::size_t inputs_;
  VerdictTables tables_;
  FloatBoxes boxes_;
  std::vector<bool> verified_;
  std::size_t verified_count_ = 0;
};

}  // namespace bf_aot::cli
