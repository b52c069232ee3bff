#pragma once

#include <cstdint>

// Names of what planner/plan/plan.h defines, for headers that only refer to it.

namespace bf_aot {

struct Entry;
struct Layer;
struct Plan;
struct SplitNetworkPlan;
enum class EntryKind : std::uint8_t;
enum class PlanStage : std::uint8_t;

}  // namespace bf_aot
