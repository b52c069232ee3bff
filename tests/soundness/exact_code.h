#pragma once

#include <string>

#include "aot/engine/prebuilt/prebuilt.h"

// The engine's code for the instruction set that runs here, built without contraction.
namespace bf_aot::engine {

Span<Span<PrebuiltRoutine>> routines_exact();
Span<Span<PrebuiltRoutine>> conv_rows_exact();
Span<Span<PrebuiltRoutine>> relax_exact();
bool relax_fuses_exact();
Span<PrebuiltKernel> kernels_exact();

}  // namespace bf_aot::engine

namespace bf_aot::soundness {

// `target` is kept by whoever calls.
inline engine::Prebuilt exact_code(const std::string& target) {
  return {target.c_str(),        engine::routines_exact(), engine::conv_rows_exact(),
          engine::relax_exact(), engine::kernels_exact(),  engine::relax_fuses_exact};
}

}  // namespace bf_aot::soundness
