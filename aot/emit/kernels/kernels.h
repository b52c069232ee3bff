#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "aot/emit/loop/print/print.h"
#include "aot/emit/loop/program.h"
#include "planner/plan/kernels.h"
#include "planner/plan/plan_fwd.h"

namespace bf_aot::emit {

// A kernel as scheduled nests: what the loops compute, and how the plan says they run.
struct KernelNests {
  std::vector<std::string> parameters;  // "const float* BF_RESTRICT weight", ...
  loop::Program program;
  std::string formula;  // one line for a comment: what the kernel computes
};

// One function per family; `kernel` must be of that kind.
KernelNests interval_affine_nests(const Kernel& kernel);
KernelNests centre_affine_nests(const Kernel& kernel);
KernelNests evaluate_affine_nests(const Kernel& kernel);
KernelNests backward_affine_nests(const Kernel& kernel);
KernelNests concretize_nests(const Kernel& kernel);
KernelNests forward_lines_nests(const Kernel& kernel);

// The nests of a kernel, by the function of its family.
KernelNests nests_of(const Kernel& kernel);

// The weights that the kernel's items share at a time: floats of the group's memory.
std::int64_t staged_floats(const Kernel& kernel);

// The lines before kernels: types of vectors and intrinsics that they need, in a namespace that is
// left open. Their helpers are in bf/core/kernel.h, which the file includes.
std::string emit_prelude(const Plan& plan, const loop::Needs& needs);

// The kernel's function, complete with its comment. C has scalar kernels without lists alone.
std::string print_kernel(const Kernel& kernel, loop::Needs& needs,
                         const Dialect& dialect = Dialect());

}  // namespace bf_aot::emit
