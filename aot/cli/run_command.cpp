#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "aot/cli/commands.h"
#include "aot/data/balls.h"
#include "aot/host/progress.h"
#include "aot/host/report.h"
#include "aot/json/json_io.h"
#include "aot/options/box_options.h"
#include "aot/options/help.h"
#include "aot/options/options.h"
#include "aot/options/values.h"
#include "aot/verifier/verifier.h"
#include "frontend/diagnostic.h"
#include "planner/reference/executor.h"

namespace bf_aot::cli {
namespace {

// The answer is what the user waits for.
constexpr double kTimingSeconds = 0.004;

constexpr char kRunExamples[] =
    "bf-aot run model.onnx --box box.json\n"
    "bf-aot run model.onnx --box box.json --spec C.json --method crown-ibp --json\n"
    "bf-aot run model.onnx --centre image.npy --eps 0.01 --clip 0 1\n"
    "bf-aot run model.onnx --box golden.json --index 2 --repeat 100";

constexpr char kRunNotes[] =
    "BOX.json is {\"lower\": [..], \"upper\": [..]}, one number per input in row-major order;"
    " it is widened to float32 numbers. The compiled verifier is kept in ~/.cache/bf-aot.";

struct RunArguments {
  ModelArguments model;
  BoxArguments box;
  int repeat = 0;
  bool json = false;
};

struct RunResult {
  std::shared_ptr<const Plan> plan;
  Bounds outputs;
  std::optional<Bounds> spec;
  std::vector<int> unstable;
  Timing timing;
  double compile_seconds = 0;
};

void add_options(CLI::App& app, RunArguments& arguments) {
  arguments.model.lowering = kInProcess;
  add_model_options(app, arguments.model, true);
  add_method_option(app, arguments.model);
  add_norm_option(app, arguments.model);
  add_spec_option(app, arguments.model);
  add_compiler_options(app, arguments.model);
  add_jit_option(app, arguments.model);
  add_box_options(app, arguments.box);
  app.add_option("--repeat", arguments.repeat,
                 "number of time measurements (default: for a few milliseconds)")
      ->transform(whole(1, 1 << 24))
      ->type_name("N");
  app.add_flag("--json", arguments.json, "print one JSON object");
  set_help(app, {kRunExamples, kRunNotes, "guide/methods.md"});
}

// Unstable neurons per layer with an activation, counted by the engine, or by the reference on the
// same plan: a compiled verifier does not carry code for it.
std::vector<int> count_unstable(const Plan& plan, const HostVerifier& host, const FloatBox& box) {
  if (const auto counted = host.count_unstable(box)) return *counted;
  const std::vector<double> lower(box.lower.begin(), box.lower.end());
  const std::vector<double> upper(box.upper.begin(), box.upper.end());
  return reference::execute(plan, *plan.find_entry(EntryKind::kBounds), lower, upper).unstable;
}

FloatBox box_here(const RunArguments& arguments, const Plan& plan) {
  FloatBox box = round_outward(box_of(arguments.box, plan.input_count), plan.input_count);
  if (plan.config.norm != Norm::kLargest)
    widen_for_ball(box.lower, box.upper, plan.config.norm == Norm::kSum);
  return box;
}

RunResult run_compiled(const RunArguments& arguments, const CompileOptions& options) {
  RunResult result;
  const Stopwatch stopwatch;
  result.plan = std::make_shared<const Plan>(plan_model(arguments.model.model, options));
  const FloatBox box = box_here(arguments, *result.plan);
  const MadeVerifier made = make_verifier(result.plan, options, compiler_options(arguments.model));
  result.compile_seconds = stopwatch.seconds();
  if (tells_steps()) tell_step("plan", result.compile_seconds);

  const Stopwatch bounding;
  result.outputs = made.host->bounds(box);
  if (result.plan->spec_rows > 0) result.spec = made.host->spec_bounds(box);
  if (tells_steps()) tell_step("bound", bounding.seconds());
  result.unstable = count_unstable(*result.plan, *made.host, box);
  result.timing = made.host->time(box, {arguments.repeat, kTimingSeconds, 1, 0});
  return result;
}

RunResult run_reference(const RunArguments& arguments, const CompileOptions& options) {
  RunResult result;
  const Stopwatch stopwatch;
  const FrontendResult front = run_frontend(arguments.model.model, options);
  result.plan = std::make_shared<const Plan>(
      run_planner(front, symbol_prefix(arguments.model.model, options), options));
  const Plan& plan = *result.plan;
  result.compile_seconds = stopwatch.seconds();

  const FloatBox rounded = box_here(arguments, plan);
  const std::vector<double> lower(rounded.lower.begin(), rounded.lower.end());
  const std::vector<double> upper(rounded.upper.begin(), rounded.upper.end());
  const Entry* entry = plan.find_entry(EntryKind::kBounds);
  const Entry* spec = plan.find_entry(EntryKind::kSpecBounds);
  const reference::Bounds bounds = reference::execute(plan, *entry, lower, upper);
  result.outputs = {bounds.lower, bounds.upper};
  result.unstable = bounds.unstable;
  if (spec != nullptr) {
    const reference::Bounds rows = reference::execute(plan, *spec, lower, upper);
    result.spec = Bounds{rows.lower, rows.upper};
  }
  const Entry& timed = spec != nullptr ? *spec : *entry;
  result.timing = measure([&] { reference::execute(plan, timed, lower, upper); }, arguments.repeat);
  return result;
}

nlohmann::ordered_json to_json(const RunResult& result) {
  nlohmann::ordered_json json;
  json["model"] = result.plan->model.file_name;
  json["method"] = to_string(result.plan->config.method);
  json["outputs"] = bounds_json(result.outputs);
  if (result.spec) json["spec"] = bounds_json(*result.spec);
  json["arena_bytes"] = result.plan->arena_bytes();
  json["weights_bytes"] = result.plan->weights_bytes();
  json["unstable"] = result.unstable;
  json["seconds"] = {{"min", result.timing.min},
                     {"median", result.timing.median},
                     {"repeats", result.timing.repeats}};
  json["compile_seconds"] = result.compile_seconds;
  return json;
}

void print_bounds(const std::string& head, const Bounds& bounds) {
  fmt::print("{:<8} {:>16} {:>16} {:>12}\n", head, "lower", "upper", "width");
  for (std::size_t i = 0; i < bounds.lower.size(); ++i)
    fmt::print("{:<8} {:>16.9g} {:>16.9g} {:>12.4g}\n", i, bounds.lower[i], bounds.upper[i],
               bounds.upper[i] - bounds.lower[i]);
}

void print(const RunResult& result) {
  const Plan& plan = *result.plan;
  print_bounds("output", result.outputs);
  if (result.spec) {
    fmt::print("\n");
    print_bounds("row", *result.spec);
  }
  fmt::print("\nmodel    {}, method {}, {} on {}\n", plan.model.file_name,
             to_string(plan.config.method), to_string(plan.config.lowering),
             plan.config.target.name);
  fmt::print("memory   {} bytes of workspace, {} bytes of weights\n", plan.arena_bytes(),
             plan.weights_bytes());
  fmt::print("unstable {}\n", join(result.unstable));
  fmt::print("time     {} (least), {} (median of {}); ready in {}\n", duration(result.timing.min),
             duration(result.timing.median), result.timing.repeats,
             duration(result.compile_seconds));
}

}  // namespace

int run_command(const Call& call) {
  RunArguments arguments;
  CLI::App app("Bounds the outputs of a model on a box.", "bf-aot run");
  add_options(app, arguments);
  if (const auto code = parse(app, call)) return *code;
  if (!arguments.box.given()) return usage_error(app, "--box is required, or --centre and --eps");

  const CompileOptions options = compile_options(arguments.model);
  const RunResult result = options.planner.lowering == Lowering::kReference
                               ? run_reference(arguments, options)
                               : run_compiled(arguments, options);
  if (arguments.json)
    fmt::print("{}\n", to_json(result).dump());
  else
    print(result);
  return 0;
}

}  // namespace bf_aot::cli
