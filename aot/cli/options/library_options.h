#pragma once

#include <map>
#include <string>

#include "aot/build/options/option_rows.h"
#include "aot/cli/options/command_line.h"
#include "aot/library/bf_aot.h"

// Converts values of options to the library's types.

namespace bf_aot::cli {

// Converts method, semantics, norm and iterations. Throws: BF3315.
api::Options library_options(const build::OptionValues& values);

// Throws: BF3315 --flush-to-zero without --semantics float32.
void expect_float32(const build::OptionValues& values);

// Returns the options of the library that the command line or its --config gives, for `more` of its
// structs.
std::map<std::string, std::string> given_rows(const CommandLine& app);

}  // namespace bf_aot::cli
