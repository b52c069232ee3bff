#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "aot/build/compile_options.h"
#include "frontend/graph/graph.h"
#include "frontend/graph/model.h"
#include "frontend/passes/passes.h"
#include "frontend/property/fixed_inputs.h"
#include "frontend/property/property.h"
#include "planner/plan/config.h"

namespace bf_aot::build {

/// The result of the front half of the compiler, run_frontend(), which imports and normalises. The
/// graph has one output more than the model when a specification was given.
/// Throws: CompileError with all problems found.
struct FrontendResult {
  Graph graph;
  ModelInfo info;
  Arithmetic arithmetic = Arithmetic::kFloat;  ///< the form that the graph was brought into
  std::vector<OnnxNode> nodes = {};            ///< nodes of the file
  std::string arithmetic_reason = {};          ///< why auto came to it; empty: it was asked for
};
FrontendResult run_frontend(const std::filesystem::path& model, const CompileOptions& options);

/// Normalises a network as it was imported.
FrontendResult run_frontend(FrontendResult imported, const CompileOptions& options);

/// Everything of the options that the normal form of a network depends on: equal networks and equal
/// forms give equal results.
struct FrontendForm {
  std::optional<LinearSpec> spec;
  std::optional<FixedInputs> fixed;
  bool ordered = false;
  Semantics semantics = Semantics::kReal;
  Arithmetic arithmetic = Arithmetic::kFloat;
  bool max_as_relu = false;
  std::optional<Float32Semantics> float32;
  std::vector<std::string> disabled_passes;

  bool operator==(const FrontendForm&) const = default;
};

/// The form that options ask for. Requires options.planner.arithmetic kFloat: else the network has
/// a part in the choice.
FrontendForm frontend_form(const CompileOptions& options);

/// Normalises a network as it was imported, and calls `after_pass` as CompileOptions has it.
FrontendResult run_frontend(FrontendResult imported, const FrontendForm& form,
                            const decltype(CompileOptions::after_pass)& after_pass);

/// Throws: BF3414 where conditions that are not linear cannot be bounded: of token ids, and of a
/// verifier's own evaluation, whose bounds hold for the values that it computes alone.
void check_derived(const LinearSpec& spec, const Graph& graph, Semantics semantics);

}  // namespace bf_aot::build
