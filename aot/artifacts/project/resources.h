#pragma once

#include <cstdint>
#include <optional>

#include "aot/build/compile.h"
#include "aot/build/footprint/footprint.h"

namespace bf_aot::artifacts {

// The memory, in bytes, that a verifier takes of a device. Where no library was built it is what
// the planner knows: the weights, and the memory that callers give.
struct Resources {
  std::int64_t flash = 0;   // code, constants, and functions of the compiler's library
  std::int64_t called = 0;  // given by the caller: the largest workspace, and a context
  std::int64_t ram = 0;     // `called`, variables and the stack of a call
  bool built = false;
  bool stack_known = false;  // else it is not in `ram`
};

Resources resources_of(const Plan& plan, std::int64_t weights_bytes,
                       const std::optional<build::Footprint>& footprint);

}  // namespace bf_aot::artifacts
