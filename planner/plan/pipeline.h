#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/property/property.h"
#include "planner/plan/config.h"
#include "planner/plan/plan_fwd.h"

namespace bf_aot {

// What must be shown on a sample box: in each clause one of the bounds, that of a row or of its
// negative, must exceed a limit. Of a property, its case there; limits are rounded.
struct MarginBound {
  std::size_t row = 0;
  bool negated = false;
  double limit = 0;
};
using MarginClauses = std::vector<std::vector<MarginBound>>;

struct PlanOptions {
  // Boxes like those that the verifier will see, a property's or the user's: on them a plan's
  // tightness is estimated. No bound depends on them, only choices do.
  std::vector<Box> samples;
  // By sample; empty: the widths of all rows count, not a property's margin.
  std::vector<MarginClauses> margins;
  // The rows of the specification are a property's: there are functions that decide it.
  bool property = false;
  // Called after each pass that ran, with the seconds that it took.
  std::function<void(std::string_view pass, const Plan& plan, double seconds)> after_pass;
};

// What a planner pass works on.
struct PlanState {
  const Graph& graph;
  bool has_spec;  // the graph's last output holds the spec rows
  const PlanOptions& options;
  Plan& plan;
};

struct PlannerPass {
  std::string_view name;
  std::string_view slot;  // of the plan: "layers", "domain", "lowering", "storage", "tasks", ...
  std::string_view summary;
  bool optional;    // --disable-pass may leave it out
  PlanStage stage;  // what the plan holds afterwards
  void (*run)(PlanState&);
};

// In order.
std::span<const PlannerPass> planner_passes();

// The same of arithmetic integer.
std::span<const PlannerPass> integer_passes();

// Null when there is no such pass.
const PlannerPass* find_planner_pass(std::string_view name);

// Whether PlannerConfig::disabled_passes leaves a pass in.
bool is_enabled(const PlannerConfig& config, std::string_view pass);

}  // namespace bf_aot
