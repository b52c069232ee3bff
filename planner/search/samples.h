#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "planner/plan/pipeline.h"
#include "planner/reference/estimate.h"

namespace bf_aot {

// The boxes that candidates are compared on.
struct SampleBoxes {
  std::vector<Box> boxes;
  std::vector<std::size_t> numbers;  // of boxes that were given, in PlanOptions::samples
  std::string source;                // "2 of 17 boxes given", "a box around 0 of radius 2^-3: .."
};

// A few of the boxes given, evenly spread; without any, a box around 0 of a radius at which about
// half of the neurons are unstable by intervals, where choices matter most. `intervals`: an entry
// that keeps intervals alone; most_runs: how often it may be executed.
SampleBoxes sample_boxes(const Plan& plan, const PlanOptions& options, const Entry& intervals,
                         int most_runs);

// Throws: CompileError BF2142 for a box of another number of elements than the network's input.
void check_boxes(const Plan& plan, const PlanOptions& options);

}  // namespace bf_aot
