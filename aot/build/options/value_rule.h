#pragma once

#include <functional>
#include <string>
#include <vector>

namespace bf_aot::build {

// How a value of an option is written: `read` puts it into the form that the option's type is read
// from, and returns what is wrong with it, or nothing; `told` is what the help text says of it:
// "{a,b}" for choices, "INT in [1 - 9]" for a range;
// `choices`: the names that it takes, or none.
struct ValueRule {
  std::function<std::string(std::string&)> read;
  std::string told;
  std::vector<std::string> choices = {};
};

// Headings of help texts. Options of the first two may stand in a --config file.
inline constexpr char kMethodGroup[] = "Method and target";
inline constexpr char kPlannerGroup[] = "Planner";
inline constexpr char kCompilerGroup[] = "Compiler";

}  // namespace bf_aot::build
