#pragma once

#include <filesystem>
#include <optional>

#include "aot/build/compile_options.h"
#include "planner/lowering/lowered.h"

namespace bf_aot::build {

/// The language that the name of a source asks for: C of ".c", C++ of ".cpp". Nothing for another.
std::optional<Language> language_of(const std::filesystem::path& source);

/// Sets the language of a compilation. C has the portable lowering alone. Throws: CompileError
/// BF3112 an option that C does not have.
void set_language(CompileOptions& options, Language language);

/// Throws: CompileError BF3112 with all layers that need what C does not have.
void check_language(const Lowered& lowered);

}  // namespace bf_aot::build
