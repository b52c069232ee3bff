#pragma once

#include "aot/build/compile.h"

namespace bf_aot::build {

// The arithmetic, kFloat or kInteger, that options.planner.arithmetic asks for. kAuto gives
// integers where the target has no floating-point unit, the options ask for nothing that integers
// cannot do, and every node can be computed with them.
// Throws: CompileError BF2114 where integers are asked for with an option that they do not have.
Arithmetic choose_arithmetic(const Graph& imported, const ModelInfo& info,
                             const CompileOptions& options);

}  // namespace bf_aot::build
