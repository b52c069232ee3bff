#pragma once

#include "planner/plan/plan.h"

namespace bf_aot {

// Several workers: docs/proofs/workers.md. Marks what the tiles of backward rows write, but
// for the bounds that they tighten, as each worker's own.

// Shares the tiles of rows of an entry of one box without a context among `workers`; other entries
// stay as they are.
void share_rows(Entry& entry, int workers);

// Shares the rows of all entries, and makes plan.parallel. Throws: BF2106 when neither rows nor
// boxes of a batch can be shared.
void share_rows(Plan& plan);

}  // namespace bf_aot
