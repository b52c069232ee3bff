#pragma once

#include <cstdint>

#include "planner/plan/plan_fwd.h"

namespace bf_aot::emit {

// The numbers of a header's macros in which code for several levels of a target may differ: bytes.
struct HeaderBytes {
  std::int64_t workspace = 0, align = 0;
  std::int64_t weights = 0;
  std::int64_t context = 0, persistent = 0;
  std::int64_t batch = 0, batch_parallel = 0;  // workspaces of several boxes, and of all workers
  std::int64_t worker = 0, parallel = 0;       // of each more worker, and of all, for one box
  std::int64_t verify = 0, verify_batch = 0;   // on top of the bounds' workspace
  std::int64_t within = 0;                     // the same, within a limit
  std::int64_t decide = 0, open_box = 0;       // the same, and of an open box or node
  bool operator==(const HeaderBytes&) const = default;
};

// Those of functions that the plan does not have are 0.
HeaderBytes header_bytes(const Plan& plan);

// Returns sizes that suit the code of both plans: the larger of each, and of the weights the sum,
// since a program of two levels holds both.
HeaderBytes of_both(const HeaderBytes& a, const HeaderBytes& b);

}  // namespace bf_aot::emit
