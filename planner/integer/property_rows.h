#pragma once

#include <vector>

#include "frontend/property/property.h"
#include "planner/integer/layer_maker.h"
#include "planner/plan/integer.h"

namespace bf_aot {

// Throws: CompileError BF2113 where a property has conditions that integers do not decide.
void check_integer_rows(const Property& property);

// Makes IntegerPlan::property: the rows and conditions of a property over the codes that the
// outputs are made of, as docs/proofs/integer-grid.md says. Throws: CompileError BF2113 where a
// condition is none of integers, BF2115 where constants are not known well enough.
void read_property_rows(const Property& property, const std::vector<OutputForm>& outputs,
                        IntegerPlan& plan);

}  // namespace bf_aot
