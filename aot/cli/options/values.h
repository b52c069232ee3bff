#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "aot/cli/options/command_line.h"
#include "frontend/numbers/numbers.h"

// The form of options' values, the same in every command: names in any case, with "_" for "-";
// whole numbers in decimal digits; other numbers as decimals or quotients, "0.03", "1e-3", "8/255",
// exact as they are written.

namespace bf_aot::cli {

// The name among `names` that the text means; empty: none.
std::string name_among(std::string_view text, const std::vector<std::string>& names);

// ---- Rules for Option::transform().

// Takes one of these names, which the help text lists.
ValueRule one_of(std::vector<std::string> names);

// Takes a whole number, for an option of an integer type. "1e3", "0x10" and fractions are refused,
// as are numbers out of the range, however long.
ValueRule whole(std::uint64_t least, std::uint64_t most = INT64_MAX);

// Takes a number, for an option of type double. The ends are compared exactly with what is written;
// the value is the double nearest to it.
ValueRule number(std::string least, std::string most);
ValueRule positive_number(std::string most);

// Takes a number of bytes, for an option of type std::uint64_t: "65536", "64K", "2M", "1GiB", in
// units of 1024.
ValueRule byte_count();

// Makes the option take two texts, "0,1" or "0 1".
Option* takes_pair(Option* option);

// The double nearest to a number; infinite beyond the greatest double.
double nearest(const vnnlib::Number& number);

// The number that a text names. Throws: BF3013 that names the option.
vnnlib::Number exact_number(const std::string& text, const char* option);

}  // namespace bf_aot::cli
