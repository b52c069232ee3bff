#include "aot/artifacts/project/example.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>

#include "aot/artifacts/project/example_text.h"
#include "aot/emit/text/banner.h"
#include "aot/emit/text/coverage.h"

namespace bf_aot::artifacts {
namespace {

bool decides_property(const Plan& plan) {
  return std::ranges::any_of(plan.functions, [](const ExportedFunction& function) {
    return function.signature == Signature{.purpose = Purpose::kVerify};
  });
}

// Values for ask() and judge(): the variables of their answer, and how the first answer is printed.
emit::Arguments question_of(const Plan& plan, const emit::Arguments& names) {
  const auto printed = [&](std::string count, std::string what, std::string array) {
    return emit::fill_in(
        kPrint,
        {{"count", std::move(count)}, {"what", std::move(what)}, {"array", std::move(array)}},
        names);
  };
  const std::string upper = emit::upper_case(plan.name);
  if (decides_property(plan))
    return {{"WORKSPACE", upper + "_VERIFY_WORKSPACE_BYTES"},
            {"results", kPropertyResults},
            {"judge", emit::fill_in(kJudgeProperty, {}, names)},
            {"base", emit::fill_in(kPropertyBase, {}, names)},
            {"box", kPropertyBox},
            {"print", ""}};
  const bool rows = plan.spec_rows > 0;
  const std::string_view judge = plan.output_count == 1 ? kJudgeSign : kJudgeLargest;
  return {
      {"WORKSPACE", upper + "_WORKSPACE_BYTES"},
      {"results", emit::fill_in(rows ? kSpecResults : kOutputs, {}, names)},
      {"judge",
       rows ? emit::fill_in(kJudgeSpec, {}, names)
            : emit::fill_in(kAskBounds, {}, names) + "\n" + emit::fill_in(judge, {}, names)},
      {"base", ""},
      {"box", kBox},
      {"print", rows ? printed("SPEC_ROWS", "row", "row") : printed("OUTPUTS", "output", "out")}};
}

emit::Arguments console_of(const Plan& plan) {
  if (plan.config.target.qemu_board.empty())
    return {{"console", kHostConsole}, {"printers", kHostPrinters}, {"variables", ""},
            {"before_call", ""},       {"after_call", ""},          {"report", ""}};
  return {{"console", kBoardConsole},     {"printers", ""},
          {"variables", kStackVariables}, {"before_call", kStackBefore},
          {"after_call", kStackAfter},    {"report", kStackReport}};
}

}  // namespace

std::string example_text(const Plan& plan, const emit::Arguments& names) {
  const bool keeps = plan.context.bytes > 0;
  emit::Arguments arguments = {
      {"covers", fmt::format("{}", fmt::join(emit::coverage_of(plan), "\n * "))},
      {"context_memory", keeps ? emit::fill_in(kContextMemory, {}, names) : ""},
      {"context_calls", keeps ? emit::fill_in(kContextCalls, {}, names) : ""}};
  for (const emit::Arguments& more : {question_of(plan, names), console_of(plan)})
    arguments.insert(arguments.end(), more.begin(), more.end());
  return emit::fill_in(kExample, arguments, names);
}

}  // namespace bf_aot::artifacts
