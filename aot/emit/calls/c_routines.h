#pragma once

#include <string_view>

#include "planner/plan/routine.h"

namespace bf_aot::calls {

// A routine of the runtime as C has it: "bind_float" is bf_bind_float().
struct CRoutine {
  Routine routine;
  std::string_view name;
  std::string_view header;
  bool dealt = false;  // the items of a device's group share its loops
};

// Returns the routine in C; null where there is none.
const CRoutine* find_c_routine(Routine routine);

}  // namespace bf_aot::calls
