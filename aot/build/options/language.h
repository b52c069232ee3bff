#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "aot/build/compile_options.h"
#include "planner/lowering/lowered.h"

namespace bf_aot::build {

/// The language that the name of a source asks for: C of ".c", C++ of ".cpp". Nothing for another.
std::optional<Language> language_of(const std::filesystem::path& source);

/// The language of code for a target, where it is not asked for: a device's own, else C++.
Language language_for(const std::string& target);

/// Sets the language of a compilation. C has the portable lowering alone. Throws: CompileError
/// BF3112 an option that C does not have.
void set_language(CompileOptions& options, Language language);

/// The options of a verifier in a language for a target, both as they are asked for; "host": no
/// target is. items: of a device's group, where they are asked for. Throws: CompileError BF3112 a
/// language and a target that do not go together, items of what has no groups, and as
/// set_language().
CompileOptions for_source(CompileOptions options, Language language, const std::string& target,
                          std::optional<int> items);

/// Throws: CompileError BF3112 with all layers that need what C does not have. in_process: of a
/// device that was asked for by --device, else of a source that is written.
void check_language(const Lowered& lowered, bool in_process = false);

}  // namespace bf_aot::build
