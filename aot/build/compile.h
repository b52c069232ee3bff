#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "aot/build/verify_work.h"
#include "aot/emit/text/emitted_file.h"
#include "frontend/passes/passes.h"
#include "frontend/property/property.h"
#include "planner/plan/pipeline.h"
#include "planner/plan/plan.h"

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
  bool trace = false;

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

/// A compiled verifier, not yet written. Deterministic: the same model and options give the same
/// bytes on every machine (with an explicit target).
struct Verifier {
  Plan plan;
  std::vector<emit::EmittedFile> files;
  std::int64_t weights_bytes = 0;         ///< of all tables
  std::optional<VerifyWork> verify_work;  ///< with a property
};

/// The rows that the options ask for: those of the spec or of the property.
std::optional<LinearSpec> spec_of(const CompileOptions& options);

/// The front half of the compiler: import and normalise. The graph has one output more than the
/// model when a spec was given.
/// Throws: CompileError with all problems found.
struct FrontendResult {
  Graph graph;
  ModelInfo info;
  Arithmetic arithmetic = Arithmetic::kFloat;  ///< that the graph was brought into form for
  std::vector<OnnxNode> nodes = {};            ///< of the file
};
FrontendResult run_frontend(const std::filesystem::path& model, const CompileOptions& options);

/// The same of a network as it was imported.
FrontendResult run_frontend(FrontendResult imported, const CompileOptions& options);

/// The planner on what the front half made. `name`: the symbols' prefix.
Plan run_planner(const FrontendResult& front, const std::string& name,
                 const CompileOptions& options);

/// Import, normalise, plan: what compile() prints. Throws: CompileError with all problems found.
Plan plan_model(const std::filesystem::path& model, const CompileOptions& options);

/// The files of a verifier whose plan was made with these options, all but `levels`. `stem`: as for
/// compile().
std::vector<emit::EmittedFile> emit(const Plan& plan, const std::string& stem,
                                    const CompileOptions& options);

/// The symbols' prefix: the options' name, or one made from the model's file name.
std::string symbol_prefix(const std::filesystem::path& model, const CompileOptions& options);

/// The whole compiler: import, normalise, plan, emit. `stem` is the name that the files will have
/// ("verifier" for "-o verifier.cpp"): the source includes "<stem>.h".
/// Throws: CompileError with all problems found.
Verifier compile(const std::filesystem::path& model, const std::string& stem,
                 const CompileOptions& options);

/// The same of a network that is there already.
Verifier compile(const FrontendResult& front, const std::string& name, const std::string& stem,
                 const CompileOptions& options);

/// "ACASXU run2a_1_1.onnx" -> "acasxu_run2a_1_1": a lower-case C identifier.
std::string identifier_from(std::string_view text);

}  // namespace bf_aot::build
