#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/passes/passes.h"
#include "frontend/property/fixed_inputs.h"
#include "frontend/property/property.h"
#include "planner/machine/target.h"
#include "planner/plan/config.h"
#include "planner/plan/pipeline.h"

namespace bf_aot::build {

/// What to compile a model into.
struct CompileOptions {
  PlannerConfig planner;
  bool method_is_default = false;    ///< planner.method was not asked for: integers have another
  std::string name;                  ///< symbol prefix; empty: made from the file name
  std::vector<std::string> outputs;  ///< tensors that are the outputs instead of its own
  std::optional<LinearSpec> spec;    ///< rows to bound besides the outputs
  std::optional<Property> property;  ///< instead of spec: its rows, and NAME_verify
  std::optional<FixedInputs> fixed;  ///< the verifier takes the free inputs alone; no property
  bool ordered = false;              ///< of order_outputs() where it succeeds; no property
  bool max_as_relu = false;          ///< see PassOptions; of real arithmetic alone
  std::vector<std::string> disabled_passes;  ///< names of graph passes to leave out
  /// Of planner.semantics float32: see round_float32().
  Float32Semantics float32;

  /// Instruments the verifier: before each call of a kernel or routine, and at the end of an entry
  /// point, it calls *NAME_trace where that is not null; see emit_trace_hook. For measurements.
  bool time_parts = false;

  /// Leaves marks in the sources, which take_marks() of aot/emit/text/marks.h takes out: where the
  /// lines of steps, kernels, tables and functions are.
  bool marks = false;

  /// Not empty: code for each of these instead of planner.target, chosen by the processor at run
  /// time; see aot/build/dispatch.h.
  std::vector<Target> levels;

  /// Boxes like those that will be asked for, and what to call after each planner pass. Without
  /// boxes those of the property serve.
  PlanOptions planning;

  /// Called after each graph pass (and once for "import") with its name, the graph and the seconds
  /// that it took.
  std::function<void(std::string_view pass, const Graph&, double seconds)> after_pass;
};

}  // namespace bf_aot::build
