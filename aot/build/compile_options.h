#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/import/file/model_cut.h"
#include "frontend/passes/passes.h"
#include "frontend/property/fixed_inputs.h"
#include "frontend/property/property.h"
#include "planner/machine/target.h"
#include "planner/plan/config.h"
#include "planner/plan/pipeline.h"

namespace bf_aot::build {

/// The options of a compilation.
struct CompileOptions {
  PlannerConfig planner;
  bool method_is_default = false;    ///< planner.method was not asked for: integers have another
  bool float32_by_default = false;   ///< planner.semantics is float32 unless integers are planned
  std::string name;                  ///< symbol prefix; empty: made from the file name
  ModelCut cut;                      ///< what of the model is read
  std::optional<LinearSpec> spec;    ///< rows to bound besides the outputs
  std::optional<Property> property;  ///< instead of spec: its rows, and NAME_verify
  std::optional<FixedInputs> fixed;  ///< the verifier takes the free inputs alone; no property
  bool ordered = false;              ///< compiles order_outputs() where it succeeds; no property
  bool max_as_relu = false;          ///< see PassOptions; for real arithmetic alone
  std::vector<std::string> disabled_passes;  ///< names of graph passes to leave out
  /// Used with planner.semantics float32: see round_float32().
  Float32Semantics float32;

  /// Instruments the verifier for measurements: before each call of a kernel or routine, and at the
  /// end of an entry point, it calls *NAME_trace where that is not null; see emit_trace_hook.
  bool time_parts = false;

  /// Adds NAME_constants_crc32(): see add_constants_check(). Not with `levels`.
  bool check_constants = false;

  /// Leaves marks in the sources that tell which lines belong to which step, kernel, table or
  /// function; take_marks() of aot/emit/text/marks.h takes them out.
  bool marks = false;

  /// Levels that code is made for instead of for planner.target, if not empty; the processor's is
  /// chosen at run time, see aot/build/dispatch.h.
  std::vector<Target> levels;

  /// The device that bounds are computed on, as "opencl:1"; empty: this processor.
  std::string device;

  /// Boxes like those that will be asked for, and a function to call after each planner pass. Where
  /// there are no boxes, those of the property serve.
  PlanOptions planning;

  /// Called after each graph pass (and once for "import") with its name, the graph and the seconds
  /// that it took.
  std::function<void(std::string_view pass, const Graph&, double seconds)> after_pass;
};

}  // namespace bf_aot::build
