#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <limits>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "aot/build/compile.h"
#include "aot/build/frontend_result.h"
#include "aot/cli/commands/commands.h"
#include "aot/cli/commands/report_findings.h"
#include "aot/cli/options/box_options.h"
#include "aot/cli/options/command_line.h"
#include "aot/cli/options/disturbance_options.h"
#include "aot/cli/options/help.h"
#include "aot/cli/options/options.h"
#include "aot/cli/options/question.h"
#include "aot/cli/options/values.h"
#include "aot/emit/text/coverage.h"
#include "aot/engine/device/device.h"
#include "aot/engine/verifier/call_watch.h"
#include "aot/engine/verifier/make_verifier.h"
#include "aot/engine/verifier/report.h"
#include "aot/engine/verifier/verifier.h"
#include "aot/input/balls.h"
#include "aot/input/json/tokens.h"
#include "aot/input/json_io.h"
#include "aot/system/interrupt.h"
#include "aot/system/process.h"
#include "aot/system/progress.h"
#include "aot/system/terminal.h"
#include "frontend/diagnostic.h"
#include "planner/network/ball_norms.h"
#include "planner/reference/executor.h"

namespace bf_aot::cli {
namespace {

// The answer is what the user waits for.
constexpr double kTimingSeconds = 0.004;
// A call that took so long is not made again to measure it.
constexpr double kOnceSeconds = 0.5;
// A longer prediction is printed before the work begins.
constexpr double kLongSeconds = 10;
constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr std::chrono::milliseconds kPause{100};

constexpr char kRunExamples[] =
    "bf-aot run model.onnx --box box.json\n"
    "bf-aot run model.onnx --box box.json --spec C.json --method crown-ibp --json\n"
    "bf-aot run model.onnx --centre image.npy --eps 0.01 --clip 0 1\n"
    "bf-aot run model.onnx --box golden.json --index 2 --repeat 100\n"
    "bf-aot run text.onnx --tokens sentence.json\n"
    "bf-aot run model.onnx --data x.npy --disturbance rotation=-5..5";

constexpr char kRunNotes[] =
    "BOX.json is {\"lower\": [..], \"upper\": [..]}, one number per input in row-major order;"
    " it is widened to float32 numbers. The compiled verifier is kept in ~/.cache/bf-aot.\n\n"
    "With --timeout, bounds of cheaper methods come first: ibp, then crown-ibp, then the method "
    "that "
    "was asked for. What is predicted to take longer than is left is not begun, and what takes "
    "longer is stopped. The last bounds that were finished are printed, and the method that they "
    "are of. The cheapest method is never stopped.";

struct RunArguments {
  ModelArguments model;
  BoxArguments box;
  WeightArguments weights;
  DisturbanceArguments disturbance;
  std::size_t parts = 64;  // of its ranges
  int repeat = 0;
  double timeout = 0;
  int jobs = 0;
  bool json = false;
};

struct RunResult {
  std::shared_ptr<const Plan> plan;
  engine::Bounds outputs;
  std::optional<engine::Bounds> spec;
  std::vector<int> unstable;
  system::Timing timing;
  double compile_seconds = 0;
  double kernel_seconds = 0;  // of compiling kernels, which the first calls wait for
  // The method that was asked for and why it did not answer, where a cheaper one did.
  std::string instead_of, because;
};

void add_options(CommandLine& app, RunArguments& arguments) {
  arguments.model.values.compile.planner.lowering = kInProcess;
  add_model_options(app, arguments.model, true);
  add_method_option(app, arguments.model);
  add_norm_option(app, arguments.model);
  add_spec_option(app, arguments.model);
  add_compiler_options(app, arguments.model);
  add_jit_option(app, arguments.model);
  add_rows(app, build::OptionRow::Set::kDevice, arguments.model.values);
  add_box_options(app, arguments.box);
  add_weight_option(app, arguments.weights);
  Option* const repeat =
      app.add_option("--repeat", arguments.repeat,
                     "number of time measurements (default: for a few milliseconds)")
          ->transform(whole(1, 1 << 24))
          ->type_name("N");
  app.add_option("--timeout", arguments.timeout,
                 "seconds after which bounds of a cheaper method are given")
      ->transform(positive_number("1e6"))
      ->type_name("S")
      ->excludes(repeat);
  add_jobs_option(app, arguments.jobs, "threads that bound");
  add_disturbance_options(app, arguments.disturbance, true);
  Option* const disturbance = app.get_option("--disturbance");
  for (const char* const other : {"--box", "--centre", "--eps", "--repeat", "--timeout", "--device",
                                  "--norm", "--lowering", "--weight", "--jobs"})
    disturbance->excludes(other);
  // A ball of inputs and weights together would be none of the inputs.
  app.get_option("--weight")->excludes("--norm");
  app.add_option("--parts", arguments.parts,
                 "of the disturbances' ranges, which are bounded one by one")
      ->transform(whole(1, 1 << 20))
      ->capture_default_str()
      ->type_name("N")
      ->needs(disturbance)
      ->group("Disturbances");
  app.add_flag("--json", arguments.json, "print one JSON object");
  set_help(app, {kRunExamples, kRunNotes, "guide/methods.md"});
}

// Unstable neurons per layer with an activation, counted by the engine, or by the reference on the
// same plan: a compiled verifier does not carry code for it, nor do plans of intervals alone. None
// where the reference would take far longer than bounds.
std::vector<int> count_unstable(const Plan& plan, const engine::HostVerifier& host,
                                const input::FloatBox& box) {
  if (const auto counted = host.count_unstable(box)) return *counted;
  constexpr double kMostSeconds = 2e-3;  // of bounds; the reference takes some 50 times as long
  if (engine::predicted_seconds(plan, EntryKind::kBounds) > kMostSeconds) return {};
  const std::vector<double> lower(box.lower.begin(), box.lower.end());
  const std::vector<double> upper(box.upper.begin(), box.upper.end());
  return reference::execute(plan, *plan.find_entry(EntryKind::kBounds), lower, upper).unstable;
}

// Without a box all ids that the network was read with may stand at their positions.
input::FloatBox box_here(const RunArguments& arguments, const Plan& plan) {
  if (!arguments.box.given()) {
    if (plan.one_hot.size == 0)
      fail("BF3021", "--tokens", "it fixes ids, but the network has other inputs, too",
           "give a box of them: --box, or --centre and --eps");
    return input::box_of_ids(plan.one_hot, plan.one_hot.ids, "--tokens");
  }
  const WeightBox& weights = arguments.weights.weights;
  input::BoxFile file =
      box_of(arguments.box, plan.input_count - static_cast<int>(weights.box.box.lower.size()));
  if (arguments.weights.given()) append_weights(weights, file);
  if (file.ids) return input::box_of_ids(plan.one_hot, *file.ids, file.where);
  input::FloatBox box = input::round_outward(file, plan.input_count);
  if (plan.config.norm != Norm::kLargest && !input::holds_exactly(file, box))
    input::widen_for_ball(box.lower, box.upper, plan.config.norm == Norm::kSum);
  return box;
}

// A method's plan, and how long it is predicted to take on the box.
struct Planned {
  const Plan& plan() const { return lowered->plan(); }

  std::shared_ptr<const Lowered> lowered;
  input::FloatBox box;
  double seconds = 0;
};

// Plans, and predicts the time. for_box: predicts it for the box, which may take seconds.
Planned plan_for(const RunArguments& arguments, const build::CompileOptions& options,
                 bool for_box) {
  Planned made;
  made.lowered = build::plan_model(arguments.model.model, options);
  made.box = box_here(arguments, made.plan());
  const Box box = {{made.box.lower.begin(), made.box.lower.end()},
                   {made.box.upper.begin(), made.box.upper.end()}};
  for (const EntryKind kind : {EntryKind::kBounds, EntryKind::kSpecBounds})
    made.seconds += engine::predicted_seconds(made.plan(), kind, for_box ? &box : nullptr);
  return made;
}

build::CompileOptions by(const build::CompileOptions& options, Method method) {
  build::CompileOptions made = options;
  made.planner.method = method;
  return made;
}

// A place in words: "layer fc3, row 1200 of 8192".
std::string place_text(const Plan& plan, const engine::Place& place) {
  std::string text(to_string(plan.config.method));
  const Task& task = place.entry.task(place.task);
  if (task.layer) text += ", " + plan.layer(*task.layer).name;
  if (place.all > 0) text += fmt::format(", row {} of {}", place.rows, place.all);
  return text;
}

// Throws: engine::Stopped after so many seconds, where the verifier can be stopped; Interrupted.
RunResult bound(const Planned& planned, const RunArguments& arguments,
                const build::CompileOptions& options, double seconds) {
  RunResult result;
  result.plan = planned.lowered->shared_plan();
  const system::Stopwatch preparing;
  const engine::MadeVerifier made =
      engine::make_verifier(planned.lowered, options, arguments.model.values.compiler);
  result.compile_seconds = preparing.seconds();
  if (system::tells_steps()) system::tell_step("plan", result.compile_seconds);

  std::optional<system::ShareBar> bar;
  engine::CallWatch watch(system::Stop().within(seconds).or_interrupt(), kPause,
                          [&](const engine::Place& place, double share) {
                            if (preparing.seconds() > result.compile_seconds + 1) {
                              if (!bar) bar.emplace();
                              bar->show(share, place_text(*result.plan, place));
                            }
                          });
  made.host->ask(&watch);
  system::Stopwatch stopwatch;
  double waited = 0;  // before the call that is measured
  try {
    result.outputs = made.host->bounds(planned.box);
    if (result.plan->spec_rows > 0) {
      bar.reset();
      waited = made.host->waited_seconds();
      stopwatch = system::Stopwatch();
      result.spec = made.host->spec_bounds(planned.box);
    }
  } catch (const engine::Stopped&) {
    watch.rethrow();
    throw;
  }
  result.kernel_seconds = made.host->waited_seconds();
  const double took = stopwatch.seconds() - (result.kernel_seconds - waited);
  if (system::tells_steps()) {
    if (result.kernel_seconds > 0) system::tell_step("compile kernels", result.kernel_seconds);
    system::tell_step("bound", took);
  }
  made.host->ask(nullptr);
  bar.reset();
  if (arguments.timeout > 0)
    result.unstable = made.host->count_unstable(planned.box).value_or(std::vector<int>());
  else
    result.unstable = count_unstable(*result.plan, *made.host, planned.box);
  if (arguments.repeat == 0 && (arguments.timeout > 0 || took > kOnceSeconds))
    result.timing = {took, took, 1};
  else
    result.timing = made.host->time(planned.box, {arguments.repeat, kTimingSeconds, 1, 0});
  return result;
}

// Prints a line such as "crown is predicted to take 6 h 12 min; --timeout SECONDS limits it,
// --method crown-ibp takes 40 s".
void say_predicted(const Planned& planned, const RunArguments& arguments,
                   const build::CompileOptions& options) {
  if (planned.seconds < kLongSeconds || system::verbosity() == system::Verbosity::kQuiet) return;
  const PlannerConfig& config = planned.plan().config;
  std::string text = fmt::format("bf-aot: {} is predicted to take {}", to_string(config.method),
                                 engine::long_duration(planned.seconds));
  if (config.lowering == Lowering::kPrebuilt) {
    text += "; --timeout SECONDS limits it";
    const std::vector<Method> cheaper = engine::cheaper_methods(planned.plan());
    if (!cheaper.empty())
      text += fmt::format(
          ", --method {} takes {}", to_string(cheaper.back()),
          engine::long_duration(plan_for(arguments, by(options, cheaper.back()), true).seconds));
  }
  fmt::print(stderr, "{}\n", text);
  std::fflush(stderr);
}

// The tightest bounds that there is time for.
RunResult run_within(const RunArguments& arguments, const build::CompileOptions& options) {
  if (options.planner.lowering != Lowering::kPrebuilt)
    fail("BF3316", "--timeout", "verifiers that are compiled cannot be stopped",
         "leave --lowering out, or --timeout");
  const system::Stopwatch stopwatch;
  const auto left = [&] { return arguments.timeout - stopwatch.seconds(); };
  const bool patient = arguments.timeout > 2 * kLongSeconds;
  const Planned asked = plan_for(arguments, options, patient);
  const PlannerConfig& config = asked.plan().config;
  std::optional<RunResult> best;
  for (const Method method : engine::cheaper_methods(asked.plan())) {
    const build::CompileOptions cheaper = by(options, method);
    const Planned planned = plan_for(arguments, cheaper, patient);
    if (best && !engine::is_worth_trying(planned.seconds, asked.seconds, left())) continue;
    try {
      best = bound(planned, arguments, cheaper, best ? left() : kNever);
    } catch (const engine::Stopped&) {
      break;
    }
  }
  if (!best) return bound(asked, arguments, options, kNever);
  best->instead_of = to_string(config.method);
  if (asked.seconds >= left()) {
    best->because = asked.seconds >= arguments.timeout
                        ? "is predicted to take " + engine::long_duration(asked.seconds)
                        : "had no time left";
    return *best;
  }
  try {
    return bound(asked, arguments, options, left());
  } catch (const engine::Stopped&) {
    best->because = "was stopped after " + engine::long_duration(stopwatch.seconds());
    return *best;
  }
}

RunResult run_compiled(const RunArguments& arguments, const build::CompileOptions& options) {
  const system::Stopwatch stopwatch;
  const Planned planned = plan_for(arguments, options, true);
  const double seconds = stopwatch.seconds();
  say_predicted(planned, arguments, options);
  RunResult result = bound(planned, arguments, options, kNever);
  result.compile_seconds += seconds;
  return result;
}

RunResult run_reference(const RunArguments& arguments, const build::CompileOptions& options) {
  RunResult result;
  const system::Stopwatch stopwatch;
  const build::FrontendResult front = build::run_frontend(arguments.model.model, options);
  result.plan =
      build::run_planner(front, build::symbol_prefix(arguments.model.model, options), options)
          ->shared_plan();
  const Plan& plan = *result.plan;
  result.compile_seconds = stopwatch.seconds();

  const input::FloatBox rounded = box_here(arguments, plan);
  const std::vector<double> lower(rounded.lower.begin(), rounded.lower.end());
  const std::vector<double> upper(rounded.upper.begin(), rounded.upper.end());
  const Entry* entry = plan.find_entry(EntryKind::kBounds);
  const Entry* spec = plan.find_entry(EntryKind::kSpecBounds);
  const reference::Bounds bounds = reference::execute(plan, *entry, lower, upper);
  result.outputs = {bounds.lower, bounds.upper};
  result.unstable = bounds.unstable;
  if (spec != nullptr) {
    const reference::Bounds rows = reference::execute(plan, *spec, lower, upper);
    result.spec = engine::Bounds{rows.lower, rows.upper};
  }
  const Entry& timed = spec != nullptr ? *spec : *entry;
  result.timing =
      system::measure([&] { reference::execute(plan, timed, lower, upper); }, arguments.repeat);
  return result;
}

nlohmann::ordered_json to_json(const RunResult& result) {
  nlohmann::ordered_json json;
  json["model"] = result.plan->model.file_name;
  json["method"] = to_string(result.plan->config.method);
  if (!result.instead_of.empty()) {
    json["instead_of"] = result.instead_of;
    json["because"] = result.because;
  }
  json["outputs"] = engine::bounds_json(result.outputs);
  if (result.spec) json["spec"] = engine::bounds_json(*result.spec);
  json["arena_bytes"] = result.plan->arena_bytes();
  json["weights_bytes"] = result.plan->weights_bytes();
  json["unstable"] = result.unstable;
  json["seconds"] = {{"min", result.timing.min},
                     {"median", result.timing.median},
                     {"repeats", result.timing.repeats}};
  json["compile_seconds"] = result.compile_seconds;
  if (result.kernel_seconds > 0) json["kernel_seconds"] = result.kernel_seconds;
  return json;
}

void print_bounds(const std::string& head, const engine::Bounds& bounds) {
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
  std::string method(to_string(plan.config.method));
  if (!result.instead_of.empty())
    method += fmt::format(" ({} {})", result.instead_of, result.because);
  const bool chosen = std::ranges::any_of(
      plan.domains, [](const DomainChoice& c) { return c.domain == Domain::kOptimised; });
  if (plan.config.method == Method::kAlphaCrown && !chosen)
    method += " (as crown: no rows have lines to choose)";
  fmt::print("\nmodel    {}, method {}, {} on {}\n", plan.model.file_name, method,
             to_string(plan.config.lowering), plan.config.target.name);
  fmt::print("memory   {} bytes of workspace, {} bytes of weights\n", plan.arena_bytes(),
             plan.weights_bytes());
  if (!result.unstable.empty()) fmt::print("unstable {}\n", engine::join(result.unstable));
  if (const std::string note = emit::note_on_types(plan); !note.empty())
    fmt::print("types    {}\n", note);
  fmt::print("time     {} (least), {} (median of {}); ready in {}",
             engine::duration(result.timing.min), engine::duration(result.timing.median),
             result.timing.repeats, engine::duration(result.compile_seconds));
  if (result.kernel_seconds > 0)
    fmt::print(", kernels compiled in {}", engine::duration(result.kernel_seconds));
  fmt::print("\n");
}

// Bounds over all pictures that disturbances make of a sample.
int run_disturbed(RunArguments& arguments, const build::CompileOptions& options) {
  const system::Stopwatch stopwatch;
  DisturbanceArguments& asked = arguments.disturbance;
  asked.numbers.clip = arguments.box.clip;
  const Network network = read_network(arguments.model);
  const DisturbedPicture picture(asked, network.sampler.graph());
  decide::Request request;
  request.compile = options;
  request.compiler = arguments.model.values.compiler;
  request.method = options.planner.method;
  const decide::DisturbedBounds found = decide::bound_disturbed(
      network.sampler, network.info, picture.input(), request, arguments.parts);
  if (arguments.json) {
    nlohmann::ordered_json json;
    json["model"] = network.info.file_name;
    json["method"] = to_string(options.planner.method);
    json["disturbance"] = fmt::format("{}", fmt::join(asked.disturbances, " "));
    json["parts"] = found.parts;
    json["outputs"] = engine::bounds_json(found.outputs);
    if (found.rows) json["spec"] = engine::bounds_json(*found.rows);
    json["seconds"] = stopwatch.seconds();
    fmt::print("{}\n", json.dump());
    return 0;
  }
  print_bounds("output", found.outputs);
  if (found.rows) {
    fmt::print("\n");
    print_bounds("row", *found.rows);
  }
  fmt::print("\nmodel    {}, method {}\n", network.info.file_name,
             to_string(options.planner.method));
  fmt::print("over     {}, in {} parts\n", fmt::join(asked.disturbances, " "), found.parts);
  fmt::print("time     {}\n", engine::duration(stopwatch.seconds()));
  return 0;
}

}  // namespace

int run_command(const Call& call) {
  RunArguments arguments;
  CommandLine app("Bounds the outputs of a model on a box.", "bf-aot run");
  add_options(app, arguments);
  if (const auto code = parse(app, call)) return *code;
  if (!arguments.box.given() && !arguments.disturbance.given() &&
      arguments.model.values.compile.cut.tokens.empty())
    return usage_error(app, "--box is required, or --centre and --eps, --disturbance or --tokens");

  begin_at_weights(arguments.weights, arguments.model.model, arguments.model.values.compile.cut);
  build::CompileOptions options = compile_options(arguments.model);
  options.planning.norms = std::make_shared<KnownNorms>();
  if (arguments.disturbance.given()) return run_disturbed(arguments, options);
  if (!options.device.empty()) {
    refuse_on_device(app,
                     {"--timeout", "--jobs", "--lowering", "--jit", "--target", "--cxx",
                      "--cxx-flags", "--batch", "--parallel"},
                     "bounds of a device");
    options = engine::for_named_device(std::move(options));
  }
  options.planner.workers =
      engine::workers_of(options, arguments.jobs > 0 ? static_cast<std::size_t>(arguments.jobs)
                                                     : system::core_count());
  const RunResult result = arguments.timeout > 0 ? run_within(arguments, options)
                           : options.planner.lowering == Lowering::kReference
                               ? run_reference(arguments, options)
                               : run_compiled(arguments, options);
  if (arguments.json)
    fmt::print("{}\n", to_json(result).dump());
  else
    print(result);
  return 0;
}

}  // namespace bf_aot::cli
