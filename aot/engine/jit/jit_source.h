#pragma once

#include <optional>
#include <string>

#include "planner/plan/plan.h"
#include "planner/plan/program.h"

namespace bf_aot::engine {

// The name of the function in a unit that jit_source() prints. Its type is engine::Thunk.
inline constexpr char kJitFunction[] = "bf_jit_call";

// Prints a call of a program, of a plan of lowering prebuilt, as a translation unit of its own: the
// kernel or routine with its extents, shapes and tiles as constants. It computes what the engine's
// code computes, with the same sums in the same order. Equal calls of any network give equal text.
// None for calls that constants do not make faster: those of routines without a shape.
std::optional<std::string> jit_source(const Plan& plan, const calls::Call& call);

}  // namespace bf_aot::engine
