#pragma once

#include <functional>
#include <string>
#include <vector>

namespace bf_aot::build {

// The form of an option's values. `read` converts a text to the form that the option's type is read
// from, and returns what is wrong with it, or an empty text. `told` describes it in the help text:
// "{a,b}" for choices, "INT in [1 - 9]" for a range. `choices` are the names that it takes, if any.
struct ValueRule {
  std::function<std::string(std::string&)> read;
  std::string told;
  std::vector<std::string> choices = {};
};

// Headings of help texts.
inline constexpr char kMethodGroup[] = "Method and target";
inline constexpr char kPlannerGroup[] = "Planner";
inline constexpr char kCompilerGroup[] = "Compiler";
inline constexpr char kDecisionGroup[] = "Decision";
inline constexpr char kTreeGroup[] = "Long searches";
inline constexpr char kProofGroup[] = "Certificates";

}  // namespace bf_aot::build
