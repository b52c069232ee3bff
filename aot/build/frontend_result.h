#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "aot/build/compile_options.h"
#include "frontend/graph/graph.h"
#include "frontend/graph/model.h"

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

/// Throws: BF3414 where conditions that are not linear cannot be bounded: of token ids, and of a
/// verifier's own evaluation, whose bounds hold for the values that it computes alone.
void check_derived(const LinearSpec& spec, const Graph& graph, Semantics semantics);

}  // namespace bf_aot::build
