#pragma once

#include "planner/plan/plan.h"

namespace bf_aot {

// Makes the entry of Plan::integer: a buffer for the lower and one for the upper codes of each
// tensor and of the window of each convolution, with lifetimes; places are not chosen yet.
void list_code_buffers(Plan& plan);

}  // namespace bf_aot
