#include <fmt/format.h>

#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "aot/apps/measure/device_measure.h"
#include "aot/build/frontend_result.h"
#include "aot/cli/commands/commands.h"
#include "aot/cli/commands/inspect.h"
#include "aot/cli/commands/report_findings.h"
#include "aot/cli/options/command_line.h"
#include "aot/cli/options/help.h"
#include "aot/cli/options/options.h"
#include "aot/emit/calls/dump.h"
#include "aot/emit/integer/integer.h"
#include "aot/emit/kernels/schedule_dump.h"
#include "aot/engine/device/device.h"
#include "aot/input/profile_file.h"
#include "aot/system/files.h"
#include "frontend/diagnostic.h"
#include "frontend/passes/pipeline.h"
#include "planner/manifest/plan_json.h"
#include "planner/planner.h"

namespace bf_aot::cli {
namespace {

constexpr char kInspectExamples[] =
    "bf-aot inspect model.onnx --dump-after=all\n"
    "bf-aot inspect model.onnx --plan --method ibp > plan.json\n"
    "bf-aot inspect model.onnx --dump-schedule\n"
    "bf-aot inspect model.onnx --dot net.dot && dot -Tsvg net.dot -o net.svg\n"
    "bf-aot inspect model.onnx --device cuda --peaks h200\n"
    "bf-aot inspect --list-passes";

constexpr char kInspectNotes[] =
    "Without options: the normalised network and a summary of the plan.";

struct InspectArguments {
  ModelArguments model;
  std::string dump_after;
  std::string dot_file;
  std::string report;
  bool list_passes = false;
  bool time_passes = false;
  bool plan_json = false;
  bool schedules = false;
  bool calls = false;
  std::string peaks;
  bool json = false;
};

void add_options(CommandLine& app, InspectArguments& arguments) {
  add_model_options(app, arguments.model, true);
  app.get_option("MODEL")->required(false);
  add_method_option(app, arguments.model);
  add_norm_option(app, arguments.model);
  add_arithmetic_option(app, arguments.model);
  add_spec_option(app, arguments.model);
  app.add_option("--property", arguments.model.property,
                 "VNN-LIB file: plan for its rows; its boxes are those of --report")
      ->type_name("FILE")
      ->excludes("--spec");
  app.add_option("--dump-after", arguments.dump_after,
                 "print the graph, or the plan as JSON, after this pass: a name of --list-passes, "
                 "'import', or 'all' for all of the graph")
      ->type_name("PASS");
  app.add_flag("--list-passes", arguments.list_passes, "print the names of the passes in order");
  app.add_flag("--time-passes", arguments.time_passes, "print how long each pass takes");
  app.add_option("--dot", arguments.dot_file,
                 "write the network and the task graph as a Graphviz file")
      ->writes("FILE");
  add_report_option(app, arguments.report);
  add_row(
      app, "device", arguments.model.values,
      {.help = "show the plan for this device, the memory that it takes, and boxes a second at the "
               "device's peaks: opencl or cuda, or with a number: opencl:N"});
  add_peaks_option(app, arguments.peaks);
  app.add_flag("--json", arguments.json, "print what is said of the device as one JSON object")
      ->needs("--device");
  app.add_flag("--plan", arguments.plan_json, "print the plan as JSON");
  app.add_flag("--dump-schedule", arguments.schedules,
               "print the classes of the operators and, for each kernel, what it computes, the "
               "primitives applied to its loops, and the loops");
  app.add_flag("--dump-calls", arguments.calls,
               "print what each entry point calls, with arguments and the loops around the calls");
  set_help(app, {kInspectExamples, kInspectNotes, "reference/cost-model.md"});
}

std::string planner_pass_lines(std::span<const PlannerPass> passes) {
  std::string text;
  for (const PlannerPass& pass : passes)
    text += fmt::format("{:<22}  {}{} [{}]\n", pass.name, pass.optional ? "" : "* ", pass.summary,
                        pass.slot);
  return text;
}

std::string all_passes() {
  return "of the graph (* cannot be left out)\n" + list_passes() + "\nof the plan\n" +
         planner_pass_lines(planner_passes()) + "\nof the plan, --arithmetic integer\n" +
         planner_pass_lines(integer_passes());
}

// Prints what passes made, and how long they took, as they run.
class PassPrinter {
 public:
  explicit PassPrinter(const InspectArguments& arguments)
      : dumped_(arguments.dump_after), times_(arguments.time_passes) {
    if (!dumped_.empty() && dumped_ != "all" && dumped_ != "import" &&
        find_planner_pass(dumped_) == nullptr)
      check_pass_name(dumped_);
  }

  void watch(build::CompileOptions& options) {
    options.after_pass = [this](std::string_view pass, const Graph& graph, double seconds) {
      if (dumped_ == "all" || dumped_ == pass)
        fmt::print("-- after {}\n{}\n", pass, to_string(graph));
      add(pass, seconds);
    };
    options.planning.after_pass = [this](std::string_view pass, const Plan& plan, double seconds) {
      if (dumped_ == pass) fmt::print("-- after {}\n{}\n", pass, to_json(plan).dump(2));
      add(pass, seconds);
    };
  }

  // Returns whether passes of the planner must run for what is asked.
  bool wants_plan() const { return times_ || find_planner_pass(dumped_) != nullptr; }

  std::string times() const {
    std::string text = "passes\n";
    double total = 0;
    for (const auto& [pass, seconds] : seconds_) {
      text += fmt::format("  {:<22} {:>9.3f} ms\n", pass, seconds * 1e3);
      total += seconds;
    }
    return text + fmt::format("  {:<22} {:>9.3f} ms\n", "in all", total * 1e3);
  }

 private:
  void add(std::string_view pass, double seconds) {
    if (times_) seconds_.emplace_back(pass, seconds);
  }

  std::string dumped_;
  bool times_;
  std::vector<std::pair<std::string, double>> seconds_;
};

// Times batches of the first sample box, where there is one and the device is here.
void time_sample(const std::shared_ptr<const Lowered>& lowered, const std::string& device,
                 const build::CompileOptions& options, DeviceFigures& figures) {
  const std::vector<Box> boxes = sample_boxes(options);
  if (boxes.empty() || !figures.peaks || !figures.is_here) return;
  const engine::Device opened(lowered, build::device_named(device));
  apps::time_batches(
      opened,
      input::round_outward({boxes.front(), "the first sample box"}, lowered->plan().input_count),
      0.2, figures);
}

void inspect(const InspectArguments& arguments, const CommandLine& app) {
  build::CompileOptions options = compile_options(arguments.model);
  const std::string device = options.device;
  std::optional<DevicePeaks> peaks;
  if (!arguments.peaks.empty()) peaks = input::read_peaks(arguments.peaks);
  if (!device.empty()) options = engine::for_named_device(std::move(options));
  if (peaks) options.planner.items = peaks->items;  // the device need not be here
  PassPrinter printer(arguments);
  printer.watch(options);
  const build::FrontendResult front = build::run_frontend(arguments.model.model, options);
  const bool summary_wanted = arguments.dump_after.empty() && arguments.dot_file.empty() &&
                              !arguments.plan_json && !arguments.time_passes &&
                              !arguments.schedules && !arguments.calls &&
                              arguments.report.empty() && !arguments.json;
  if (!summary_wanted && arguments.dot_file.empty() && !arguments.plan_json &&
      !arguments.schedules && !arguments.calls && arguments.report.empty() && !arguments.json &&
      !printer.wants_plan())
    return;

  const auto lowered =
      build::run_planner(front, build::symbol_prefix(arguments.model.model, options), options);
  const Plan& made = lowered->plan();
  if (!arguments.dot_file.empty()) system::publish_file(arguments.dot_file, dot(front.graph, made));
  std::optional<DeviceFigures> figures;
  if (!device.empty() && (summary_wanted || arguments.json || !arguments.report.empty()))
    figures = apps::figures_on(*lowered, build::device_named(device), peaks, sample_boxes(options));
  if (!arguments.report.empty()) {
    artifacts::Findings findings;
    if (figures) time_sample(lowered, device, options, *figures);
    findings.device = figures;
    write_report(arguments.report, made, options, app, std::move(findings));
  }
  if (arguments.json) fmt::print("{}\n", apps::device_json(made, *figures));
  if (arguments.plan_json) fmt::print("{}\n", to_json(made).dump(2));
  if (arguments.schedules)
    fmt::print("{}{}", emit::dump_operators(front.graph), emit::dump_schedules(made));
  if (arguments.calls)
    fmt::print("{}", made.integer ? emit::dump_integer_calls(made) : calls::dump_calls(*lowered));
  if (arguments.time_passes) fmt::print("{}", printer.times());
  if (summary_wanted)
    fmt::print("model {} (sha256 {}), opset {}\n{}\n{}", front.info.file_name, front.info.sha256,
               front.info.opset, to_string(front.graph), summary(made));
  if (summary_wanted && figures) fmt::print("{}", apps::device_text(made, *figures));
}

}  // namespace

int inspect_command(const Call& call) {
  InspectArguments arguments;
  CommandLine app("Shows what the compiler makes of a model.", "bf-aot inspect");
  add_options(app, arguments);
  if (const auto code = parse(app, call)) return *code;
  if (arguments.list_passes) {
    fmt::print("{}", all_passes());
    return 0;
  }
  if (arguments.model.model.empty()) {
    return usage_error(app, "MODEL is required");
  }
  inspect(arguments, app);
  return 0;
}

}  // namespace bf_aot::cli
