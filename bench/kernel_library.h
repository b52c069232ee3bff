#pragma once

#include <vector>

#include "aot/apps/tune/kernel_library.h"
#include "planner/plan/plan.h"

namespace bf_aot::bench {

using apps::KernelLibrary;
using apps::LoadedKernel;
using apps::Parameter;

// A plan with kernels of the layer in x out, as the planner schedules them for the target: the
// method's forward pass, and the backward products that pass through the layer, `row_tile` rows at
// a time (0: as the planner chooses); with a batch also those of boxes side by side. The layer is
// followed by two small ones and the outputs, so that both products occur: of hidden rows, and of
// outputs behind several layers.
Plan plan_around_layer(const Target& target, Method method, int in, int out, int row_tile,
                       int batch = 1);

// Compiles all kernels in one translation unit, with the compiler that a user would get, into the
// cache of compiled verifiers. The target is one that this machine runs.
KernelLibrary load_kernels(const Target& target, const std::vector<Kernel>& kernels,
                           const apps::PrintKernel& print = apps::print_in_cpp);

}  // namespace bf_aot::bench
