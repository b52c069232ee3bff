#pragma once

#include <stdexcept>
#include <string_view>

#include "aot/engine/prebuilt/prebuilt.h"
#include "tests/exact_levels.h"

// The engine's code for the instruction sets that run here, built without contraction.
namespace bf_aot::engine {

#define BF_DECLARE(name, target)                  \
  Span<Span<PrebuiltRoutine>> routines_##name();  \
  Span<Span<PrebuiltRoutine>> conv_rows_##name(); \
  Span<Span<PrebuiltRoutine>> relax_##name();     \
  bool relax_fuses_##name();                      \
  Span<PrebuiltKernel> kernels_##name();
BF_FOR_EACH_EXACT(BF_DECLARE)
#undef BF_DECLARE

}  // namespace bf_aot::engine

namespace bf_aot::soundness {

inline engine::Prebuilt exact_code(std::string_view target) {
#define BF_TAKE(name, level)            \
  if (target == level)                  \
    return {level,                      \
            engine::routines_##name(),  \
            engine::conv_rows_##name(), \
            engine::relax_##name(),     \
            engine::kernels_##name(),   \
            engine::relax_fuses_##name};
  BF_FOR_EACH_EXACT(BF_TAKE)
#undef BF_TAKE
  throw std::logic_error("no code without contraction for this instruction set");
}

}  // namespace bf_aot::soundness
