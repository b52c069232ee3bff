#pragma once

#include <string>

#include "aot/build/options/values.h"
#include "aot/cli/options/command_line.h"
#include "frontend/numbers/numbers.h"

namespace bf_aot::cli {

using build::nearest;
using build::number;
using build::one_of;
using build::positive_number;
using build::whole;

// Makes the values of an option bytes, written as 65536, 64K or 2M.
Option* takes_bytes(Option* option);

// Makes the option take two texts, "0,1" or "0 1".
Option* takes_pair(Option* option);

// The number that a text names. Throws: BF3013 that names the option.
vnnlib::Number exact_number(const std::string& text, const char* option);

}  // namespace bf_aot::cli
