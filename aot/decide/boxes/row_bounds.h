#pragma once

#include <cstdint>
#include <span>

#include "frontend/property/verdict_tables.h"

namespace bf_aot::decide {

// Bounds of a property's rows on a box.
struct RowBounds {
  std::span<const float> lower, upper;
};

// Whether one of the clause's conditions never holds within the bounds, as NAME_verify judges it.
bool is_excluded(const VerdictTables& tables, std::uint32_t clause, const RowBounds& rows);

// Whether each clause of the case is excluded, or has a condition whose limit the bounds miss by no
// more than their own rounding may be, about. Such a box is worth exact bounds: halves of it may
// miss the limit for ever.
bool is_near_limit(const VerdictTables& tables, std::size_t property_case, const RowBounds& rows);

}  // namespace bf_aot::decide
