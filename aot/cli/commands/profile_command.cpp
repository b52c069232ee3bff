#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "aot/apps/measure/profile_fit.h"
#include "aot/apps/measure/profile_machine.h"
#include "aot/apps/measure/profile_networks.h"
#include "aot/build/frontend_result.h"
#include "aot/cli/commands/commands.h"
#include "aot/cli/commands/report_findings.h"
#include "aot/cli/options/command_line.h"
#include "aot/cli/options/help.h"
#include "aot/cli/options/options.h"
#include "aot/cli/options/values.h"
#include "aot/engine/device/peaks.h"
#include "aot/input/json_io.h"
#include "aot/input/profile_file.h"
#include "aot/system/files.h"
#include "aot/system/progress.h"
#include "frontend/diagnostic.h"
#include "frontend/passes/pipeline.h"

namespace bf_aot::cli {
namespace {

constexpr char kProfileExamples[] =
    "bf-aot profile -o machine.json\n"
    "bf-aot profile -o machine.json --fit model.onnx --box box.json\n"
    "bf-aot model.onnx -o verifier.cpp --profile machine.json\n"
    "bf-aot profile --device cuda -o peaks.json\n"
    "bf-aot profile --check model.onnx --box box.json --method crown";

constexpr char kProfileNotes[] =
    "Without --check: measures peaks, bandwidths and what calls cost on one core, then "
    "compiles and times a dozen networks of random numbers, and writes the profile that "
    "predicts them best. Takes about half a minute; let nothing else run meanwhile.\n\n"
    "With --device: measures multiply-adds and reads of a device, for --peaks of inspect and "
    "bench.\n\n"
    "With --check: compiles the models with a timer around every call of a kernel or "
    "routine, and compares the times with the predicted ones. The share within 1.5x "
    "counts what takes at least 2 us, predicted or measured: shorter times are not much "
    "more than the clock's.";

constexpr double kLeastSeconds = 2e-6;
constexpr double kWithin = 1.5;

struct ProfileArguments {
  std::string output;
  std::string name = "this machine";
  std::vector<std::string> checked, fitted, boxes, methods;
  std::string profile;
  build::OptionValues values;  // --cxx and --cxx-flags
  bool all = false;
};

build::CompileOptions options_for(Method method) {
  build::CompileOptions options;
  options.planner.method = method;
  options.planner.target = find_target("host");
  return options;
}

input::FloatBox cube(int inputs, double centre, double radius) {
  const auto count = static_cast<std::size_t>(inputs);
  return {std::vector<float>(count, static_cast<float>(centre - radius)),
          std::vector<float>(count, static_cast<float>(centre + radius))};
}

int inputs_of(const Graph& graph) {
  std::int64_t count = 0;
  for (const ValueId id : graph.inputs) count += element_count(graph.value(id).shape);
  return static_cast<int>(count);
}

// ---- comparing

// The number of parts that were compared, and of those that were predicted within kWithin.
struct Share {
  int count = 0, within = 0;
  double seconds = 0, predicted = 0;  // of all parts

  Share& operator+=(const Share& other) {
    count += other.count;
    within += other.within;
    seconds += other.seconds;
    predicted += other.predicted;
    return *this;
  }
  std::string text() const {
    const std::string parts = count == 0
                                  ? fmt::format("no part takes {} us", 1e6 * kLeastSeconds)
                                  : fmt::format("{} of {} parts within {}x ({:.1f} %)", within,
                                                count, kWithin, 100.0 * within / count);
    return fmt::format("{}; {:.4g} us predicted in all, {:.4g} us measured", parts, 1e6 * predicted,
                       1e6 * seconds);
  }
};

Share print_comparison(const apps::Observation& seen, const MachineProfile& profile, bool all) {
  Share share;
  const Entry& entry = seen.entry();
  for (const apps::Comparison& each : apps::compare(seen, profile)) {
    share.seconds += each.measured;
    share.predicted += each.predicted;
    const bool counts = std::max(each.measured, each.predicted) >= kLeastSeconds;
    const double ratio = each.predicted / each.measured;
    const bool within = ratio <= kWithin && ratio >= 1 / kWithin;
    if (counts) {
      ++share.count;
      share.within += within ? 1 : 0;
    }
    if (!counts && !all) continue;
    fmt::print("  {:<32} {:<44} {:>11.3f} {:>11.3f} {:>6.2f}{}\n",
               entry.tasks.at(static_cast<std::size_t>(each.task)).name, each.part,
               1e6 * each.predicted, 1e6 * each.measured, ratio, counts && !within ? "  !" : "");
  }
  return share;
}

Share report(const apps::Observation& seen, const MachineProfile& profile, bool all) {
  fmt::print("{}\n  {:<32} {:<44} {:>11} {:>11} {:>6}\n", seen.name, "task", "part", "predicted us",
             "measured us", "ratio");
  const Share share = print_comparison(seen, profile, all);
  fmt::print("  {}\n\n", share.text());
  return share;
}

std::vector<Method> methods_of(const ProfileArguments& arguments) {
  std::vector<Method> methods;
  for (const std::string& name : arguments.methods)
    methods.push_back(*build::value_named<Method>(name));
  if (methods.empty()) methods.assign(std::begin(kAllMethods), std::end(kAllMethods));
  return methods;
}

// Calls visit(observation) for each model by each method.
template <typename Visit>
void observe_models(const std::vector<std::string>& models, const ProfileArguments& arguments,
                    const Visit& visit) {
  for (std::size_t i = 0; i < models.size(); ++i)
    for (const Method method : methods_of(arguments)) {
      const std::string& model = models[i];
      const build::CompileOptions options = options_for(method);
      const build::FrontendResult front = build::run_frontend(model, options);
      const int inputs = inputs_of(front.graph);
      const input::FloatBox box =
          i < arguments.boxes.size()
              ? input::round_outward(input::read_box(arguments.boxes[i], std::nullopt), inputs)
              : cube(inputs, 0.5, 0.01);
      const std::string name = fmt::format("{}, {}", model, to_string(method));
      visit(apps::observe(front, name, options, arguments.values.compiler, box));
    }
}

int check_models(const ProfileArguments& arguments) {
  const MachineProfile profile =
      arguments.profile.empty() ? host_profile() : input::read_profile(arguments.profile);
  fmt::print("profile {}: {}\n\n", profile.name, profile.source);
  Share total;
  observe_models(arguments.checked, arguments, [&](const apps::Observation& seen) {
    total += report(seen, profile, arguments.all);
  });
  fmt::print("all: {}\n", total.text());
  return 0;
}

// ---- measuring

build::FrontendResult normalised(const apps::ProfileNetwork& network) {
  build::FrontendResult front{network.graph, {}};
  normalise(front.graph, {});
  front.info.sha256 = std::string(64, '0');
  front.info.file_name = network.name;
  return front;
}

void write_text(const ProfileArguments& arguments, const std::string& text) {
  if (arguments.output.empty())
    fmt::print("{}", text);
  else
    system::publish_file(arguments.output, text);
}

int write_peaks(const ProfileArguments& arguments) {
  DevicePeaks peaks;
  {
    const system::Progress progress("device");
    peaks = engine::measure_peaks(build::device_named(arguments.values.compile.device));
  }
  write_text(arguments, to_json_text(peaks));
  return 0;
}

int write_profile(const ProfileArguments& arguments) {
  const build::CompilerOptions compiler = arguments.values.compiler;
  MachineProfile profile = host_profile();
  const Target target = find_target("host");
  {
    const system::Progress progress("machine");
    apps::measure_machine(compiler, target, profile);
  }
  std::vector<apps::Observation> observations;
  for (const apps::ProfileNetwork& network : apps::profile_networks()) {
    const system::Progress progress(network.name);
    const build::FrontendResult front = normalised(network);
    observations.push_back(
        apps::observe(front, network.name, options_for(network.method), compiler,
                      cube(inputs_of(front.graph), network.centre, network.radius)));
  }
  observe_models(arguments.fitted, arguments, [&](apps::Observation seen) {
    const system::Progress progress(seen.name);
    observations.push_back(std::move(seen));
  });
  apps::fit(observations, profile);
  profile.name = arguments.name;
  profile.source = "measured by bf-aot profile";
  write_text(arguments, to_json_text(profile));
  if (arguments.all) {
    Share total;
    for (const apps::Observation& seen : observations) total += report(seen, profile, true);
    fmt::print("all: {}\n", total.text());
  }
  return 0;
}

}  // namespace

int profile_command(const Call& call) {
  ProfileArguments arguments;
  CommandLine app("Measures this machine for predictions of time, or checks such predictions.",
                  call.arguments[0]);
  app.add_option("-o,--output", arguments.output, "file to write the profile to (default: stdout)")
      ->writes("FILE.json");
  app.add_option("--name", arguments.name, "of the profile")->capture_default_str();
  auto* const check =
      app.add_option("--check", arguments.checked, "compare predicted and measured times of models")
          ->type_name("MODEL");
  app.add_option("--fit", arguments.fitted, "measure these models besides the random networks")
      ->type_name("MODEL")
      ->excludes(check);
  app.add_option("--box", arguments.boxes,
                 "JSON files with a box each, one per model (default: every input 0.5 +- 0.01)")
      ->type_name("FILE");
  app.add_option("--method", arguments.methods, "of the models (default: all single ones)")
      ->transform(one_of({"ibp", "crown-ibp", "crown", "alpha-crown", "auto"}));
  app.add_option("--profile", arguments.profile,
                 "to check: a name or a file (default: of this machine)")
      ->type_name("NAME|FILE")
      ->needs(check);
  add_row(app, "device", arguments.values,
          {.help = "measure the peaks of this device instead: opencl, opencl:N, cuda, cuda:N",
           .group = "Options"})
      ->excludes(check);
  app.add_flag("--all", arguments.all, "print the short parts, and those of the networks measured");
  add_row(app, "cxx", arguments.values, {.help = "C++ compiler", .group = "Options"});
  add_row(app, "cxx-flags", arguments.values, {.help = "more flags for it", .group = "Options"});
  set_help(app, {kProfileExamples, kProfileNotes, "reference/cost-model.md"});
  if (const auto code = parse(app, call)) return *code;
  if (!arguments.values.compile.device.empty()) {
    refuse_on_device(app, {"--name", "--fit", "--box", "--method", "--all", "--cxx", "--cxx-flags"},
                     "peaks of a device");
    return write_peaks(arguments);
  }
  return arguments.checked.empty() ? write_profile(arguments) : check_models(arguments);
}

}  // namespace bf_aot::cli
