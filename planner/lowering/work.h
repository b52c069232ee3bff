#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "planner/plan/plan.h"

// Counts of an entry's calls and of the turns of its loops, from which a bound of its time follows:
// whoever knows the time of each function adds up.
namespace bf_aot::calls {

struct CallCount {
  std::string function;   // a kernel's name, or "bf::relax"
  std::int64_t most = 0;  // in a call of the entry that succeeds
  bool always = true;     // just so often, whatever the box
};

// A loop of the entry point itself. Those of kernels have literal bounds, those of routines the
// counts that they are called with.
struct LoopBound {
  int task = 0;  // of the entry
  std::string over;
  std::int64_t most = 0;  // turns, each time that it is reached
  bool always = true;
};

struct Work {
  std::int64_t groups = 1;       // of boxes side by side, that a call may have
  std::vector<CallCount> calls;  // by function
  std::vector<LoopBound> loops;  // in order
};

Work work_of(const Plan& plan, const Entry& entry);

}  // namespace bf_aot::calls
