#pragma once

#include "planner/plan/plan.h"

namespace bf_aot {

// Several workers: docs/proofs/workers.md. Marks what the tiles of backward rows write, but
// for the bounds that they tighten, as each worker's own.

// Of an entry of one box whose calls keep nothing for each other; others stay as they are.
void share_rows(Entry& entry, int workers);

// Of all entries, and makes plan.parallel.
// Throws: BF2106 when neither rows nor boxes of a batch can be shared.
void share_rows(Plan& plan);

}  // namespace bf_aot
