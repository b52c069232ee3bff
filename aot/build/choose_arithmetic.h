#pragma once

#include <string>

#include "aot/build/compile.h"

namespace bf_aot::build {

struct ArithmeticChoice {
  Arithmetic arithmetic = Arithmetic::kFloat;  ///< kFloat or kInteger
  std::string reason;                          ///< why kAuto came to it; empty: it was asked for
};

// The method of a verifier of arithmetic integer: crown where it is asked for, else ibp.
Method integer_method(const CompileOptions& options);

// The arithmetic that options.planner.arithmetic asks for. kAuto gives integers where the target
// has no floating-point unit, the options ask for nothing that integers cannot do, and every node
// can be computed with them.
// Throws: CompileError BF2114 where integers are asked for with an option that they do not have.
ArithmeticChoice choose_arithmetic(const Graph& imported, const ModelInfo& info,
                                   const CompileOptions& options);

}  // namespace bf_aot::build
