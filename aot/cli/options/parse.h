#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "aot/cli/options/command_line.h"

namespace bf_aot::cli {

// How a command is called.
struct Call {
  std::vector<const char*> arguments;  // the first: what the usage text calls the command
  std::function<void(const CommandLine&)> visit;  // if set: gets the options, and nothing is done
};

// Adds the options of all commands, parses, then takes what --config says. On --help and usage
// errors prints a text and returns the exit code, 0 or 2. Throws: CompileError for the
// configuration.
std::optional<int> parse(CommandLine& app, const Call& call);

// Prints what is wrong with the usage, and where it is explained. Returns 2.
int usage_error(const CommandLine& app, const std::string& message);

}  // namespace bf_aot::cli
