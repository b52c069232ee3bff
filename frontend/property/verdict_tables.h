#pragma once

#include <cstdint>
#include <vector>

#include "frontend/property/property.h"

namespace bf_aot {

// A comparison of a bound of one row of C y + A x: row <= threshold, or row >= threshold if
// at_least. It is the data of VerdictTerm in runtime/bf/search/verdict.h.
struct VerdictCondition {
  int row = 0;
  bool at_least = false;
  float threshold = 0;

  bool operator==(const VerdictCondition&) const = default;
};

// The clauses of all cases in order. Case i has clauses case_clauses[i] .. case_clauses[i + 1], and
// clause j has the conditions clause_terms[j] .. clause_terms[j + 1].
struct VerdictTables {
  std::vector<VerdictCondition> terms;
  // The property's own limits of the terms, as the nearest doubles that leave no violation out: a
  // real row is <= it, or >= it if at_least, wherever the condition holds.
  std::vector<double> limits;
  std::vector<std::uint32_t> clause_terms = {0};
  std::vector<std::uint32_t> case_clauses = {0};
};

VerdictTables verdict_tables(const Property& property);

// The cases' boxes: the least float box around what conditions on inputs leave of each exact one
// (box_of_case), or around all of it, and which of its ends lie in the exact one (1 the lower, 2
// the upper, 3 both). Case i has the numbers i inputs .. (i + 1) inputs - 1.
struct FloatBoxes {
  std::vector<float> lower, upper;
  std::vector<unsigned char> inside;
};

enum class CaseBoxes : std::uint8_t { kNarrowed, kWhole };

FloatBoxes float_boxes(const Property& property, CaseBoxes which = CaseBoxes::kNarrowed);

// The greatest float <= x and the least float >= x; infinite beyond the range of float32.
float float_at_most(const mpq_class& x);
float float_at_least(const mpq_class& x);

}  // namespace bf_aot
