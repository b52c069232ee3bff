#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "aot/build/options/value_rule.h"
#include "frontend/numbers/numbers.h"
#include "planner/plan/config.h"
#include "planner/plan/search_config.h"

// The form of options' values is the same in every command: names in any case, with "_" for "-";
// whole numbers in decimal digits; other numbers as decimals or quotients, "0.03", "1e-3",
// "8/255", exact as they are written.

namespace bf_aot::build {

// Returns the name among `names` that a text means; an empty text if it is none of them.
std::string name_among(std::string_view text, const std::vector<std::string>& names);

template <class Value>
std::vector<std::string> names_of() {
  std::vector<std::string> names;
  for (const NamedValue<Value>& each : kNames<Value>) names.emplace_back(each.name);
  return names;
}

// Returns the value that a text names, as name_among() does; nothing for another text.
template <class Value>
std::optional<Value> value_named(std::string_view text) {
  const std::string name = name_among(text, names_of<Value>());
  for (const NamedValue<Value>& each : kNames<Value>)
    if (each.name == name) return each.value;
  return std::nullopt;
}

// Takes one of these names, which the help text tells.
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

// Returns the double nearest to a number; an infinity beyond the greatest double.
double nearest(const vnnlib::Number& number);

// Returns the seconds that a text names: "0.5", "50us", "2ms", "1s". Throws: CompileError BF3308.
double parse_seconds(const std::string& text, const std::string& option);

// Reads weights of metrics: "time=1,memory=0.1". Throws: CompileError BF3309.
Objective parse_objective(const std::string& text, const std::string& option);

}  // namespace bf_aot::build
