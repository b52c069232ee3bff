#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "aot/build/compile_options.h"
#include "aot/build/verify_work.h"
#include "aot/emit/text/emitted_file.h"
#include "frontend/property/property.h"
#include "planner/lowering/lowered.h"

namespace bf_aot::build {

struct FrontendResult;

/// The counts of a property that a manifest states.
struct PropertyCounts {
  std::string file;
  std::size_t cases = 0, clauses = 0, rows = 0;
};

/// A compiled verifier, not yet written. Deterministic: the same model and options give the same
/// bytes on every machine (with an explicit target).
struct Verifier {
  const Plan& plan() const { return lowered->plan(); }

  std::shared_ptr<const Lowered> lowered;
  std::vector<emit::EmittedFile> files;   ///< manifests (.json) have no bytes: manifest_text()
  std::int64_t weights_bytes = 0;         ///< bytes of all tables
  std::optional<VerifyWork> verify_work;  ///< with a property
  std::optional<PropertyCounts> property;
  std::vector<Verifier> levels;  ///< with options.levels, without their files
};

/// The rows that the options ask for: those of the specification or of the property.
std::optional<LinearSpec> spec_of(const CompileOptions& options);

/// Plans what the front half made. `name`: the symbols' prefix.
std::shared_ptr<const Lowered> run_planner(const FrontendResult& front, const std::string& name,
                                           const CompileOptions& options);

/// Makes the plan that compile() prints: imports, normalises, plans. Throws: CompileError with all
/// problems found.
std::shared_ptr<const Lowered> plan_model(const std::filesystem::path& model,
                                          const CompileOptions& options);

/// The files of a verifier whose plan was made with these options, all but `levels`: source and
/// header first; no manifest. `stem`: as for compile().
std::vector<emit::EmittedFile> emit(const Lowered& lowered, const std::string& stem,
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
