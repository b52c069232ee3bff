#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "aot/build/compile_options.h"
#include "aot/build/verify_work.h"
#include "aot/emit/text/emitted_file.h"
#include "frontend/graph/graph.h"
#include "frontend/graph/model.h"
#include "frontend/property/property.h"
#include "planner/plan/plan.h"

namespace bf_aot::build {

/// A compiled verifier, not yet written. Deterministic: the same model and options give the same
/// bytes on every machine (with an explicit target).
struct Verifier {
  Plan plan;
  std::vector<emit::EmittedFile> files;
  std::int64_t weights_bytes = 0;         ///< bytes of all tables
  std::optional<VerifyWork> verify_work;  ///< with a property
};

/// The rows that the options ask for: those of the specification or of the property.
std::optional<LinearSpec> spec_of(const CompileOptions& options);

/// The result of the front half of the compiler, run_frontend(), which imports and normalises. The
/// graph has one output more than the model when a specification was given.
/// Throws: CompileError with all problems found.
struct FrontendResult {
  Graph graph;
  ModelInfo info;
  Arithmetic arithmetic = Arithmetic::kFloat;  ///< the form that the graph was brought into
  std::vector<OnnxNode> nodes = {};            ///< nodes of the file
};
FrontendResult run_frontend(const std::filesystem::path& model, const CompileOptions& options);

/// Normalises a network as it was imported.
FrontendResult run_frontend(FrontendResult imported, const CompileOptions& options);

/// Plans what the front half made. `name`: the symbols' prefix.
Plan run_planner(const FrontendResult& front, const std::string& name,
                 const CompileOptions& options);

/// Makes the plan that compile() prints: imports, normalises, plans. Throws: CompileError with all
/// problems found.
Plan plan_model(const std::filesystem::path& model, const CompileOptions& options);

/// The files of a verifier whose plan was made with these options, all but `levels`. `stem`: as for
/// compile().
std::vector<emit::EmittedFile> emit(const Plan& plan, const std::string& stem,
                                    const CompileOptions& options);

/// The symbols' prefix: the options' name, or one made from the model's file name.
std::string symbol_prefix(const std::filesystem::path& model, const CompileOptions& options);

/// Runs the whole compiler: imports, normalises, plans, emits. `stem` is the name that the files
/// will have ("verifier" for "-o verifier.cpp"): the source includes "<stem>.h".
/// Throws: CompileError with all problems found.
Verifier compile(const std::filesystem::path& model, const std::string& stem,
                 const CompileOptions& options);

/// Plans and emits a network that the front half has made. `name`: the symbols' prefix.
Verifier compile(const FrontendResult& front, const std::string& name, const std::string& stem,
                 const CompileOptions& options);

/// A lower-case C identifier made from the text: "ACASXU run2a_1_1.onnx" -> "acasxu_run2a_1_1".
std::string identifier_from(std::string_view text);

}  // namespace bf_aot::build
