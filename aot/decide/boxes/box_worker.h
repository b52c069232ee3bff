#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "aot/decide/tree/tree_worker.h"
#include "aot/engine/verifier/verifier.h"
#include "frontend/property/verdict_tables.h"
#include "planner/plan/plan.h"

namespace bf_aot::decide {

// What all threads that split boxes of a property read.
struct BoxQuestion {
  const Plan& plan;  // made with decide, and a batch
  const VerdictTables& tables;
  const FloatBoxes& boxes;
};

// A worker whose nodes are boxes, see box_node.h: the rules of runtime/bf/search, where a box is
// closed when bounds exclude the clauses of its case, and points are tried between rounds. The
// verifier is the plan's, and used on this thread alone. `thread` tells one worker's points from
// another's; those of thread 0 are NAME_decide's. expand() throws: BF3306 when the verifier refuses
// a box.
std::unique_ptr<tree::TreeWorker> make_box_worker(const BoxQuestion& question,
                                                  const engine::HostVerifier& verifier,
                                                  std::size_t thread);

}  // namespace bf_aot::decide
