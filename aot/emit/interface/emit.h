#pragma once

#include <string>

#include "aot/emit/calls/calls.h"
#include "aot/emit/interface/header_bytes.h"
#include "frontend/property/property.h"
#include "planner/lowering/lowered.h"
#include "planner/plan/plan.h"

namespace bf_aot::emit {

// The version of bf.h that emitted code is for; the code asserts it.
constexpr int kAbi = 2;

// <stem>.h: C99 interface. `bytes`: header_bytes() of the plan, or of the levels that the header is
// for, of which the plan is one. `property`: what NAME_verify decides; null for a verifier without
// it.
std::string emit_header(const Plan& plan, const HeaderBytes& bytes,
                        const Property* property = nullptr);

// Lines that forbid fusing products into sums, where the plan makes anything anew; else none. They
// stand before the runtime's headers, since they must hold for their functions as well.
std::string emit_contraction(const Plan& plan);

// The text of <stem>.cpp or <stem>.c, as the plan says.
std::string emit_source(const Lowered& lowered, const std::string& stem,
                        const Property* property = nullptr, const Instruments& instruments = {});

// The lines of every source that refuse another bf.h; that end what is local to the file and begin
// the entry points; and that end these.
std::string emit_abi_check(const Plan& plan);
std::string emit_entry_points_begin(const Plan& plan);
std::string emit_entry_points_end(const Plan& plan);

// The body of NAME_info.
std::string info_text(const Plan& plan);

// The hook of a timed verifier: NAME_trace(task, part), a pointer that the host program sets.
// `part` is the name of the TaskPart whose call follows; task -1: the entry point is done.
std::string emit_trace_hook(const Plan& plan);

}  // namespace bf_aot::emit
