#pragma once

#include <stdexcept>
#include <string_view>

#include "aot/engine/prebuilt/declare.h"
#include "tests/exact_levels.h"

// The engine's code for the instruction sets that run here, built without contraction.
namespace bf_aot::engine {

BF_FOR_EACH_EXACT(BF_DECLARE_PREBUILT)

inline Prebuilt exact_code(std::string_view target) {
#define BF_TAKE(name, level) \
  if (target == level) return BF_PREBUILT_OF(name, level);
  BF_FOR_EACH_EXACT(BF_TAKE)
#undef BF_TAKE
  throw std::logic_error("no code without contraction for this instruction set");
}

}  // namespace bf_aot::engine

namespace bf_aot::soundness {

using engine::exact_code;

}  // namespace bf_aot::soundness
