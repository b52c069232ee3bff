#pragma once

#include <vector>

#include "planner/plan/plan.h"

namespace bf_aot {

// Places an entry's buffers of scope RUN in its arena. Two buffers share bytes only when no op lies
// in both lifetimes. All offsets and sizes are multiples of `align`. `rejected` gets one line per
// strategy that was not taken. The result depends on the entry alone: searches are bounded by the
// work that they do, not by time.

// Joins buffers that steps may overwrite in place (see in_place_of): the second value goes where
// the first was, when nothing reads that afterwards. Returns how many were joined.
int reuse_in_place(Entry& entry);

// Reads the entry's steps and the buffers' element and count; fills their bytes and lifetimes and
// gives each a range of its own. Throws: BF2116 for more elements than code can count.
void place_apart(Entry& entry, int align);

// The same of buffers whose lifetimes are known already.
void place_measured(Entry& entry, int align);

// Several greedy orders; the best is taken.
void share_storage(Entry& entry, std::vector<Rejected>& rejected);

// When the arena is larger than the lower bound: an exact search.
void search_offsets(Entry& entry, std::vector<Rejected>& rejected);

// The last three, one after the other.
void plan_storage(Entry& entry, int align, std::vector<Rejected>& rejected);

}  // namespace bf_aot
