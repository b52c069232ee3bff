#pragma once

#include <vector>

#include "aot/emit/text/emitted_file.h"
#include "aot/reach/monitor/monitor_plan.h"

namespace bf_aot::reach {

// The monitor's source and header, and those of the verifier of its network. Deterministic.
std::vector<emit::EmittedFile> monitor_files(const MonitorPlan& plan, const Question& question);

}  // namespace bf_aot::reach
