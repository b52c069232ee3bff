#pragma once

#include "planner/plan/plan.h"

namespace bf_aot {

// Several workers: docs/proofs/workers.md. Marks what the tiles of backward rows write, but
// for the bounds that they tighten, as each worker's own.

// Shares the tiles of rows of an entry of one box without a context among `workers`; other entries
// stay as they are.
void share_rows(Entry& entry, int workers);

// Shares the rows of all entries, and makes plan.parallel.
void share_rows(Plan& plan);

// Throws BF2106 when the plan is for several workers, and there are neither rows nor boxes of a
// batch that they could share. For plans whose functions of workers a user asked for.
void check_workers(const Plan& plan);

}  // namespace bf_aot
