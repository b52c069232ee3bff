#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "aot/cli/options/command_line.h"
#include "aot/input/json_io.h"

namespace bf_aot::cli {

// The box of a command, as it was typed: a file, or a centre and a radius.
struct BoxArguments {
  std::string box;
  std::optional<std::size_t> index;
  std::string centre;  // a file, or a number: of every input
  std::string eps;
  std::vector<std::string> clip;  // two numbers or none

  bool given() const { return !box.empty() || !centre.empty(); }
};

// --box, --index, --centre, --eps, --clip. What the arguments hold already is the default.
void add_box_options(CommandLine& app, BoxArguments& arguments);

// The box of a network with so many inputs. Numbers are decimals, exact as they are written; each
// end is the double next to centre +- eps, outside of it. Throws: BF30xx for the files, BF3013 for
// numbers that are none or make no box.
input::BoxFile box_of(const BoxArguments& arguments, int input_count);

}  // namespace bf_aot::cli
