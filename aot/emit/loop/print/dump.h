#pragma once

#include <string>

#include "aot/emit/loop/program.h"

namespace bf_aot::loop {

// Prints a program for human readers: for each nest the expression, the primitives in the order in
// which they were applied, and the longest sum; then the tree of loops with extents, steps and
// kinds, and where accumulators begin. Deterministic; indented by two spaces.
std::string dump(const Program& program);

}  // namespace bf_aot::loop
