#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "aot/cli/options/options.h"

namespace bf_aot::cli {

// A set of planner options under their long names, as in a --config file.
struct AblationConfig {
  std::string name;
  nlohmann::ordered_json settings = nlohmann::ordered_json::object();
  std::string base;     // the configuration that it changes in one thing; empty: none
  std::string without;  // the pass that it leaves out against the base; empty: none
};

// Every method; then, based on the method that `base` has, each optional pass of the planner and of
// the graph left out, portable code, other row tiles and tasks; and `auto` in its variants.
// Configurations whose options are not offered are left out.
std::vector<AblationConfig> builtin_configs(const ModelArguments& base);

// Reads a JSON array of objects of planner options, each with an optional "name".
// Throws: BF30xx; unknown keys and values are found by configured().
std::vector<AblationConfig> read_configs(const std::filesystem::path& path);

// Applies the settings of a configuration to `base`. Throws: BF3005, BF3307.
ModelArguments configured(const ModelArguments& base, const AblationConfig& config);

}  // namespace bf_aot::cli
