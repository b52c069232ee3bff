#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/property/property.h"
#include "planner/plan/config.h"
#include "planner/plan/plan_fwd.h"

namespace bf_aot {

struct Graph;
class KnownNorms;

// A condition on a sample box, true if the lower bound of a row, or of its negative, exceeds a
// limit. A clause is shown by one of its conditions; all clauses must be. Those of a property are
// of its case there, with rounded limits.
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
  // Indexed by sample: the property's clauses there. Empty: the widths of all rows count, not a
  // property's margin.
  std::vector<MarginClauses> margins;
  // Whose rows the specification has, or integers compute: there are functions that decide it.
  // Null: there are none.
  const Property* property = nullptr;
  // Plans of one network, by other methods or with other rows, share these. Null: it shares none.
  std::shared_ptr<KnownNorms> norms;
  // Called after each pass that ran, with the seconds that it took.
  std::function<void(std::string_view pass, const Plan& plan, double seconds)> after_pass;
};

// The state that planner passes work on, one after the other.
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

// The table of planner passes, in the order in which they run.
std::span<const PlannerPass> planner_passes();

// The table of passes for arithmetic integer.
std::span<const PlannerPass> integer_passes();

// Null when there is no such pass.
const PlannerPass* find_planner_pass(std::string_view name);

// Returns true unless PlannerConfig::disabled_passes names the pass.
bool is_enabled(const PlannerConfig& config, std::string_view pass);

}  // namespace bf_aot
