#pragma once

#include <cstdint>
#include <functional>

#include "aot/reach/monitor/monitor_plan.h"

namespace bf_aot::reach {

// Chooses what the settings leave open of a monitor's plan: of all plans whose tube of a part of
// the initial box is little wider than that of the usual plan, the one of least cost. Symbols are
// reduced by boxes. Throws: as Flow.
FlowPlan choose_flow(const Question& question, const MonitorSettings& settings,
                     const std::function<std::uint64_t(const FlowPlan&)>& cost);

}  // namespace bf_aot::reach
