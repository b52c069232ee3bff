#pragma once

#include <optional>

#include "planner/plan/plan.h"

namespace bf_aot {

// The form of a max layer's groups, where all have one that the runtime's lines serve: candidates
// of neighbouring groups are neighbours, with few others between them.
std::optional<GroupView> max_groups(const SparseMap& candidates);

// The candidates that groups of this form have.
SparseMap candidates_of(const GroupView& groups);

}  // namespace bf_aot
