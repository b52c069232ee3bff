#pragma once

#include <optional>
#include <string>

#include "aot/cli/options/command_line.h"

namespace bf_aot::cli {

// Adds the options of all commands, parses, then takes what --config says. On --help and usage
// errors prints a text and returns the exit code, 0 or 2. Throws: CompileError for the
// configuration.
std::optional<int> parse(CommandLine& app, const Call& call);

// Prints what is wrong with the usage, and where it is explained. Returns 2.
int usage_error(const CommandLine& app, const std::string& message);

}  // namespace bf_aot::cli
