#pragma once

#include "aot/cli/options/command_line.h"

namespace bf_aot::cli {

// Refuses an output that is an input of the same command, or another of its outputs, before
// anything is done: the same file by another name, too, as links give it. Throws: BF3111.
void expect_apart(const CommandLine& app);

}  // namespace bf_aot::cli
