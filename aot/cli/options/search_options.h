#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "aot/build/compile_options.h"
#include "aot/cli/options/command_line.h"

namespace bf_aot::cli {

// The goal and the limits of --method auto, as they were typed.
struct SearchArguments {
  std::vector<std::string> sample_boxes;
  std::string kind = "greedy";
  int beam_width = 4;
  std::string objective;
  std::string time_budget;
  double looseness_target = 0;
  std::uint64_t memory_budget = 0;
};

// Makes the values of an option bytes, written as 65536, 64K or 2M.
Option* takes_bytes(Option* option);

void add_search_options(CommandLine& app, SearchArguments& arguments);

// Puts the arguments into the options. Throws: CompileError BF3308, BF3309 for what cannot be read,
// and those of box files.
void resolve(const SearchArguments& arguments, build::CompileOptions& options);

// The seconds that a text names: "0.5", "50us", "2ms", "1s". Throws: CompileError BF3308.
double parse_seconds(const std::string& text, const std::string& option);

}  // namespace bf_aot::cli
