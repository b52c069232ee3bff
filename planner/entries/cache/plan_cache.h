#pragma once

#include "planner/plan/plan.h"

namespace bf_aot {

// Makes what PlannerConfig::reuse asks for: the cached entries, the context's layout, the list of
// what is kept, and the reasons for what is not. Of a plan whose entries are made but not placed.
//
// Proof: docs/proofs/contexts.md.
//
// A cached entry has the steps of the plain one, put into three parts:
//   shared: steps that bounds and spec_bounds have in common, none of which uses what others make;
//   kept:   the other steps, as far as they end in buffers;
//   the steps that write to the caller.
// Buffers that go from one part to another are of scope EPOCH: a call on the box of the call before
// leaves out the first part, or the first two. Its bounds are those of the plain entry, bit for
// bit.
//
// The anchor is the box of an earlier call. A layer's bounds on it are PERSISTENT. They hold on
// every box inside, and are met there with what the interval pass finds, before backward rows are
// made: neurons that were stable stay stable and need none. A box that is not inside the anchor
// becomes the anchor.
//
// Optimised slopes are PERSISTENT: a call begins where the one before ended, whatever its box, and
// takes half as many iterations.
void plan_cache(Plan& plan);

}  // namespace bf_aot
