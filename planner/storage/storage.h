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

// Gives buffers whose lifetimes are known already their bytes, and each a range of its own.
void place_measured(Entry& entry, int align);

// Places buffers by several greedy orders; the best result is taken.
void share_storage(Entry& entry, std::vector<Rejected>& rejected);

// Searches exactly for a smaller arena when it is larger than the lower bound.
void search_offsets(Entry& entry, std::vector<Rejected>& rejected);

// Runs place_apart(), share_storage() and search_offsets(), one after the other.
void plan_storage(Entry& entry, int align, std::vector<Rejected>& rejected);

}  // namespace bf_aot
