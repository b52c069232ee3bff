#pragma once

#include <string_view>

#include "planner/plan/routine.h"

namespace bf_aot::calls {

// How the items of a device's group carry out a routine: one of them does; all share its loops;
// they also count or sum together, in memory that they share.
enum class Dealt { kAlone, kEach, kTogether };

// A routine of the runtime as C has it: "bind_float" is bf_bind_float().
struct CRoutine {
  Routine routine;
  std::string_view name;
  std::string_view header;
  Dealt dealt = Dealt::kAlone;
};

// Returns the routine in C; null where there is none.
const CRoutine* find_c_routine(Routine routine);

}  // namespace bf_aot::calls
