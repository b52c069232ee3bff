#pragma once

#include <optional>
#include <string>

#include "aot/emit/interface/header_bytes.h"
#include "aot/emit/interface/signature.h"
#include "aot/emit/text/emitted_file.h"
#include "frontend/property/property.h"
#include "planner/plan/plan.h"

namespace bf_aot::emit {

// Additions to a verifier by a compiled-in property: NAME_verify and NAME_property_box.

// Throws: BF3412 when the property has no case, or boxes beyond what source text can hold.
void check_emittable(const Property& property);

// The comment and the macros before NAME_verify in the header.
std::string verify_section(const Plan& plan, const HeaderBytes& bytes, const Property& property);

// Text for <stem>.cpp: constants of the unnamed namespace, and bodies.
std::string emit_verify_tables(const Plan& plan, const Property& property, const std::string& stem);
FunctionBody verify_body(const Plan& plan, bool cached);
FunctionBody property_box_body(const Plan& plan);

// <stem>_property.inc with the boxes, when they are too many for the source.
std::optional<EmittedFile> emit_property_file(const Plan& plan, const Property& property,
                                              const std::string& stem);

}  // namespace bf_aot::emit
