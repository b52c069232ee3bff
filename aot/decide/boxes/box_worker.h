#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "aot/decide/boxes/ball_part.h"
#include "aot/decide/boxes/box_device.h"
#include "aot/decide/boxes/exact_boxes.h"
#include "aot/decide/tree/tree_worker.h"
#include "aot/engine/verifier/verifier.h"
#include "frontend/property/verdict_tables.h"
#include "planner/plan/plan.h"

namespace bf_aot::decide {

// The inputs of a search over boxes, which all its threads read.
struct BoxQuestion {
  const Plan& plan;  // made with decide, and a batch
  const VerdictTables& tables;
  const FloatBoxes& boxes;
  const ExactBoxes* exact;  // of the plan, or null
  // The question is about these balls in the boxes, by case; empty: about the boxes.
  std::span<const BallPart> balls = {};
};

// A worker whose nodes are boxes, see box_node.h. It follows the rules of runtime/bf/search: a box
// is closed when bounds exclude all clauses of its case, and points are tried between rounds. The
// verifier belongs to the plan and is used on this thread alone. `thread` is the seed of the
// worker's points; those of thread 0 are the ones that NAME_decide tries. expand() throws: BF3306
// when the verifier refuses a box, and what a device throws.
//
// device: bounds the boxes of nodes from the round on in which it is ready; until then, and where
// it is null, the verifier does. What of them it leaves open and cannot be split the verifier
// bounds, too, and rationals where they may; points are the verifier's. A device that is ready
// before the worker is made bounds all: else the tree may depend on time, by what lines of both
// differ in.
std::unique_ptr<tree::TreeWorker> make_box_worker(const BoxQuestion& question,
                                                  const engine::HostVerifier& verifier,
                                                  std::size_t thread,
                                                  AwaitedDevice* device = nullptr);

}  // namespace bf_aot::decide
