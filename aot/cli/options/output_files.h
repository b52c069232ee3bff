#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "aot/cli/options/command_line.h"

namespace bf_aot::cli {

// Refuses an output that is an input of the same command, or another of its outputs, before
// anything is done: the same file by another name, too, as links give it. Inputs are what options
// name, the samples of a folder, and files in which a model keeps tensors. Throws: BF3111.
void expect_apart(const CommandLine& app);

// Does the same for files that a command writes for the option `what`, besides those that options
// name, before they are written. Throws: BF3111.
void expect_apart(const CommandLine& app, const std::string& what,
                  const std::vector<std::filesystem::path>& written);

// Does the same for inputs that a file names. what: that file, in messages. Throws: BF3111.
void expect_apart(const CommandLine& app, const std::string& what,
                  const std::set<std::filesystem::path>& inputs);

}  // namespace bf_aot::cli
