#pragma once

#include <optional>
#include <string>

#include "aot/text/emitted_file.h"
#include "frontend/property.h"
#include "planner/plan/plan.h"

namespace bf_aot {

// What a compiled-in property adds to a verifier: NAME_verify and NAME_property_box.

// Throws: BF3412 when the property has no case, or boxes beyond what source text can hold.
void check_emittable(const Property& property);

// For <stem>.h.
std::string emit_verify_declarations(const Plan& plan, const Property& property);

// For <stem>.cpp: constants of the unnamed namespace, and the entry points.
std::string emit_verify_tables(const Property& property, const std::string& stem);
std::string emit_verify_functions(const Plan& plan);

// <stem>_property.inc with the boxes, when they are too many for the source.
std::optional<EmittedFile> emit_property_file(const Plan& plan, const Property& property,
                                              const std::string& stem);

}  // namespace bf_aot
