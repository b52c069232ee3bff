#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "aot/cli/commands/commands.h"
#include "aot/cli/options/command_line.h"
#include "aot/cli/options/options.h"
#include "aot/cli/reach/reach_arguments.h"
#include "aot/cli/reach/reach_print.h"
#include "aot/reach/answer/answer_json.h"
#include "aot/reach/monitor/monitor_text.h"
#include "aot/reach/search/reach.h"
#include "aot/reach/show/tube_plot.h"
#include "aot/system/files.h"
#include "aot/system/interrupt.h"
#include "aot/system/progress.h"
#include "frontend/graph/model.h"

namespace bf_aot::cli {
namespace {

reach::Question read_loop(const ReachArguments& arguments) {
  const system::Stopwatch stopwatch;
  reach::Question question = reach::make_question(question_of(arguments));
  if (system::tells_steps()) system::tell_step("read the loop", stopwatch.seconds());
  return question;
}

reach::ReachOutcome answer(const ReachArguments& arguments, const reach::Question& question) {
  const system::Stopwatch stopwatch;
  system::ShareBar bar;
  reach::ReachCalls calls;
  calls.stop = system::Stop().or_interrupt();
  calls.progress = [&](const reach::ReachProgress& progress) {
    std::string what = fmt::format("{} tubes", progress.cells);
    if (progress.period > 0)
      what = fmt::format("period {} of {}, {}", progress.period, question.loop.steps, what);
    bar.show(progress.closed, what);
  };
  reach::ReachOutcome outcome = reach::reach(question, settings_of(arguments, question), calls);
  system::throw_if_interrupted();
  if (system::tells_steps())
    system::tell_step(fmt::format("reach: {}", reach::word(outcome.answer)), stopwatch.seconds());
  return outcome;
}

void write_plots(const ReachArguments& arguments, const reach::Question& question,
                 const reach::ReachOutcome& outcome) {
  for (const std::string& file : arguments.plots)
    system::publish_file(file, file.ends_with(".svg") ? reach::tube_svg(question, outcome)
                                                      : reach::tube_html(question, outcome));
}

// The monitor's files, and those of the runtime that they include.
void write_monitor(const ReachArguments& arguments, const reach::Question& question) {
  const reach::MonitorSettings settings = monitor_settings_of(arguments);
  const reach::MonitorPlan plan = reach::plan_monitor(question, settings);
  const std::vector<emit::EmittedFile> files = reach::monitor_files(plan, question);
  system::Staging staging(std::filesystem::path(arguments.monitor).parent_path());
  std::vector<std::string> names;
  for (const emit::EmittedFile& file : files) {
    names.push_back(settings.stem + file.suffix);
    staging.write(names.back(), file.bytes);
  }
  fmt::print("written    {}\n", fmt::join(names, ", "));
  staging.publish(names);
  for (std::size_t i = 0; i < files.size(); ++i)
    if (!files[i].flags.empty())
      fmt::print("flags      {} of {}\n", fmt::join(files[i].flags, " "), names[i]);
  fmt::print("workspace  {} bytes\n", plan.sizes.bytes());
  fmt::print(
      "work       at most {} operations on doubles, and {} calls of the network's verifier\n",
      plan.operations, plan.network_calls());
}

int exit_code(reach::ReachAnswer answer) {
  switch (answer) {
    case reach::ReachAnswer::kVerified:
    case reach::ReachAnswer::kBounded:
      return 0;
    case reach::ReachAnswer::kFalsified:
      return 3;
    case reach::ReachAnswer::kUnknown:
      return 4;
  }
  return 4;
}

}  // namespace

int reach_command(const Call& call) {
  ReachArguments arguments;
  CommandLine app("Bounds a controller in its plant for so many periods, and decides requirements.",
                  "bf-aot reach");
  add_options(app, arguments);
  if (const auto code = parse(app, call)) return *code;
  if (arguments.question.empty() && !(arguments.plant && arguments.box && arguments.steps))
    return usage_error(app, "QUESTION is required, or --plant, --box and --steps");
  const reach::Question question = read_loop(arguments);
  if (!arguments.monitor.empty()) {
    write_monitor(arguments, question);
    return 0;
  }
  const reach::ReachOutcome outcome = answer(arguments, question);
  write_plots(arguments, question, outcome);
  const std::string& file = arguments.question.empty() ? *arguments.plant : arguments.question;
  const std::string name = printable(std::filesystem::path(file).filename().string());
  if (arguments.json)
    fmt::print("{}\n", reach::answer_json(name, question, outcome).dump());
  else
    fmt::print("{}", text_of(question, outcome));
  return exit_code(outcome.answer);
}

}  // namespace bf_aot::cli
