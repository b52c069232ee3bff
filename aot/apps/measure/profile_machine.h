#pragma once

#include <string>

#include "aot/build/library.h"
#include "planner/machine/machine_profile.h"

namespace bf_aot::apps {

// Measures peaks, bandwidths and the cost of a call on this core, by loops on registers and reads
// of memory, with code made for `target`. Other members stay as they are.
// Throws: CompileError when there is no compiler; BF3304.
void measure_machine(const build::CompilerOptions& options, const Target& target,
                     MachineProfile& profile);

// The processor's name, "AMD EPYC 9B45"; empty when the system does not say.
std::string processor_name();

}  // namespace bf_aot::apps
