#pragma once

#include <optional>
#include <vector>

#include "frontend/property/property.h"

namespace bf_aot {

// A box that holds every point of `box` at which all conditions of the clause that speak of inputs
// alone hold, by bounds of one condition and one input after the other (interval contraction).
// Nothing where it is empty: the clause never holds in `box`. Proof: docs/proofs/properties.md.
std::optional<Box> box_of_clause(const std::vector<PropertyRow>& rows, const Clause& clause,
                                 const Box& box);

// The least box around those of the case's clauses; the case's own where all are empty.
Box box_of_case(const Property& property, const PropertyCase& one);

}  // namespace bf_aot
