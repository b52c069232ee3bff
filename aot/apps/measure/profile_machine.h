#pragma once

#include <string>

#include "aot/build/library.h"
#include "planner/machine/machine_profile.h"

namespace bf_aot::apps {

// Measures what loops on registers and reads of memory reach on this core, with code made for
// `target`: peaks, bandwidths and the cost of a call. Other members stay as they are.
// Throws: CompileError when there is no compiler; BF3304.
void measure_machine(const build::CompilerOptions& options, const Target& target,
                     MachineProfile& profile);

// "AMD EPYC 9B45"; empty when the system does not say.
std::string processor_name();

}  // namespace bf_aot::apps
