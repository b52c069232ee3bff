#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "frontend/graph/origin.h"
#include "planner/plan/plan.h"

namespace bf_aot::artifacts {

// A layer and the nodes of the file that it came from.
struct TracedLayer {
  std::string name;
  Origin origin;
};

// The parts of a trace that follow from a plan. `sources` are of the layers, in their order.
struct Traced {
  std::vector<TracedLayer> sources;
  nlohmann::ordered_json layers, tables, steps, kernels, buffers;
};

// The trace of a plan of arithmetic integer: a tensor of codes is a layer, and so is what makes
// outputs. lines: of each mark in the sources.
Traced trace_integers(const Plan& plan, const std::map<std::string, nlohmann::ordered_json>& lines);

}  // namespace bf_aot::artifacts
