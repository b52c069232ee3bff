#pragma once

#include <string>

#include "aot/build/options/value_rule.h"
#include "aot/cli/options/command_line.h"
#include "aot/input/json/json_reader.h"

namespace bf_aot::cli {

// Groups of a help text. Options of the first two may stand in a --config file, under their long
// names; those of the second are shown by --help-all alone.
using build::kCompilerGroup;
using build::kMethodGroup;
using build::kPlannerGroup;
inline constexpr char kGeneralGroup[] = "General";

bool is_planner_option(const Option& option);

// Adds --config FILE: a JSON object {"method": "crown", "row-tile": 16, "disable-pass": ["a"]} of
// planner options. Options on the command line take precedence.
void add_config_option(CommandLine& app, std::string& path);

// Sets the options that the --config file of a parsed command line names and the command line does
// not; does nothing without --config. Throws: BF30xx for the file, BF3005 for an unknown key,
// BF3307 for a value.
void apply_config(CommandLine& app);

// Sets options as apply_config() does, from the members of a JSON object that was read already.
void apply_settings(CommandLine& app, const input::JsonAt& settings);

}  // namespace bf_aot::cli
