#pragma once

#include "frontend/evaluate/scalar_program.h"

namespace bf_aot::reach {

// The program less the steps that no output needs; it has all inputs' elements still.
ScalarProgram used_steps(const ScalarProgram& program);

}  // namespace bf_aot::reach
