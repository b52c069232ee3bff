#pragma once

#include <string>

// Texts for other programs, made from the options of the commands.

namespace bf_aot::cli {

struct Command;

// The manual page of a command in roff's man macros: bf-aot-run.1, but bf-aot.1 for "compile".
std::string manual_page(const Command& command);

// A script that completes commands, options, their values and files.
std::string bash_completion();
std::string zsh_completion();
std::string fish_completion();

}  // namespace bf_aot::cli
