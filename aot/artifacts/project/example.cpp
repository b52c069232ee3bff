#include "aot/artifacts/project/example.h"

#include <algorithm>
#include <string_view>

#include "aot/artifacts/project/example_text.h"
#include "aot/artifacts/project/fill.h"
#include "aot/emit/text/banner.h"

namespace bf_aot::artifacts {
namespace {

bool decides_property(const Plan& plan) {
  return std::ranges::any_of(plan.functions, [](const ExportedFunction& function) {
    return function.signature == Signature{.purpose = Purpose::kVerify};
  });
}

// Values for ask() and react(): the variables of their answer, and how the first answer is printed.
Arguments question_of(const Plan& plan, const Arguments& names) {
  const auto printed = [&](std::string count, std::string what, std::string array) {
    Arguments arguments = names;
    arguments.insert(
        arguments.end(),
        {{"count", std::move(count)}, {"what", std::move(what)}, {"array", std::move(array)}});
    return fill(kPrint, arguments);
  };
  const std::string upper = emit::upper_case(plan.name);
  if (decides_property(plan))
    return {{"WORKSPACE", upper + "_VERIFY_WORKSPACE_BYTES"},
            {"results", std::string(kPropertyResults)},
            {"judge", fill(kJudgeProperty, names)},
            {"base", fill(kPropertyBase, names)},
            {"box", std::string(kPropertyBox)},
            {"print", ""}};
  const bool rows = plan.spec_rows > 0;
  const std::string_view react = plan.output_count == 1 ? kReactSign : kReactLargest;
  return {
      {"WORKSPACE", upper + "_WORKSPACE_BYTES"},
      {"results", fill(rows ? kSpecResults : kOutputs, names)},
      {"judge",
       rows ? fill(kJudgeSpec, names) : fill(kAskBounds, names) + "\n" + fill(react, names)},
      {"base", ""},
      {"box", std::string(kBox)},
      {"print", rows ? printed("SPEC_ROWS", "row", "row") : printed("OUTPUTS", "output", "out")}};
}

Arguments console_of(const Plan& plan) {
  if (plan.config.target.qemu_board.empty())
    return {{"console", std::string(kHostConsole)},
            {"printers", std::string(kHostPrinters)},
            {"variables", ""},
            {"before_call", ""},
            {"after_call", ""},
            {"report", ""}};
  return {{"console", std::string(kBoardConsole)},     {"printers", ""},
          {"variables", std::string(kStackVariables)}, {"before_call", std::string(kStackBefore)},
          {"after_call", std::string(kStackAfter)},    {"report", std::string(kStackReport)}};
}

}  // namespace

std::string example_text(const Plan& plan, const std::string& stem) {
  const Arguments names = {
      {"name", plan.name}, {"NAME", emit::upper_case(plan.name)}, {"stem", stem}};
  const bool keeps = plan.context.bytes > 0;
  Arguments arguments = names;
  for (const Arguments& more :
       {question_of(plan, names), console_of(plan),
        Arguments{{"context_memory", keeps ? fill(kContextMemory, names) : ""},
                  {"context_calls", keeps ? fill(kContextCalls, names) : ""}}})
    arguments.insert(arguments.end(), more.begin(), more.end());
  return fill(kExample, arguments);
}

}  // namespace bf_aot::artifacts
