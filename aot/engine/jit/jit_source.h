#pragma once

#include <optional>
#include <string>

#include "planner/plan/plan.h"
#include "planner/plan/program.h"

namespace bf_aot::engine {

// The function of a unit that jit_source() prints: an engine::Thunk.
inline constexpr char kJitFunction[] = "bf_jit_call";

// A call of a program of a plan of lowering prebuilt, as a translation unit of its own: the kernel
// or routine with its extents, shapes and tiles as constants, for C++ compilers. It computes what
// the engine's code computes, with the same sums in the same order. Equal for equal calls of any
// network. Nothing for calls that constants do not make faster: of routines without a shape.
std::optional<std::string> jit_source(const Plan& plan, const calls::Call& call);

}  // namespace bf_aot::engine
