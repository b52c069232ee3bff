#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "aot/apps/measure/bench_measure.h"
#include "aot/apps/measure/bench_peers.h"
#include "aot/apps/measure/device_measure.h"
#include "aot/apps/measure/profile_machine.h"
#include "aot/build/compile.h"
#include "aot/build/footprint/footprint.h"
#include "aot/build/frontend_result.h"
#include "aot/build/manifest.h"
#include "aot/cli/commands/commands.h"
#include "aot/cli/commands/report_findings.h"
#include "aot/cli/options/box_options.h"
#include "aot/cli/options/command_line.h"
#include "aot/cli/options/help.h"
#include "aot/cli/options/options.h"
#include "aot/cli/options/values.h"
#include "aot/engine/device/device.h"
#include "aot/engine/run/find_prebuilt.h"
#include "aot/engine/verifier/report.h"
#include "aot/input/json_io.h"
#include "aot/input/profile_file.h"
#include "aot/system/files.h"
#include "aot/system/progress.h"
#include "frontend/diagnostic.h"

namespace bf_aot::cli {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr char kBenchExamples[] =
    "bf-aot bench model.onnx --box box.json --method crown-ibp\n"
    "bf-aot bench model.onnx --compare vector,generic,reference --out results\n"
    "bf-aot bench model.onnx --box box.json --device cuda\n"
    "bf-aot bench model.onnx --box box.json --peer bench/peers/auto_lirpa.py";

constexpr char kBenchNotes[] =
    "Times one call that bounds the box, of the rows of C y when there is a --spec, else "
    "of the outputs. The peak and the bandwidths are measured first: the share of the "
    "roofline compares the time with what this core can do in the same minute. Operations"
    " and bytes are counted from the plan, for the neurons that are unstable on this box."
    " Code for the peaks is compiled: where no other is, and no C++ compiler is there, "
    "neither peaks nor shares are shown.\n\n"
    "The time until a verifier is ready is that of planning, and of printing and "
    "compiling its code (the compiler's, when it was called, for a verifier in the "
    "cache). prebuilt is run by the engine in bf-aot, which compiles nothing.\n\n"
    "With --device: batches of the box, whose rates are compared with the peaks of the device, "
    "which are measured unless --peaks names them. Parts of a call have no times there, since it "
    "is "
    "one kernel.\n\n"
    "A --peer is a program that is called as COMMAND MODEL BOX.json METHOD SECONDS and "
    "prints one JSON object {\"name\", \"seconds\": [..]}, or ends with 77 and a reason; see "
    "bench/peers.";

struct BenchArguments {
  ModelArguments model;
  BoxArguments box{{}, {}, "0.5", "0.01", {}};
  std::optional<std::vector<std::string>> compare;
  std::vector<std::string> peers;
  apps::BenchLimits limits;
  bool no_kernels = false;
  bool json = false;
  std::string output;
  std::string peaks;
};

void add_options(CommandLine& app, BenchArguments& arguments) {
  add_model_options(app, arguments.model, true);
  add_method_option(app, arguments.model);
  add_spec_option(app, arguments.model);
  add_compiler_options(app, arguments.model);
  add_box_options(app, arguments.box);
  takes_names(
      app.add_option(
          "--compare", arguments.compare,
          "also time these lowerings: prebuilt, vector, tuned (needs --tuning-log), generic, "
          "reference (default: prebuilt, where bf-aot has code for --target)"),
      one_of({"prebuilt", "vector", "tuned", "generic", "reference"}))
      ->type_name("LIST");
  app.add_option("--peer", arguments.peers, "also time this program on the same box")
      ->type_name("COMMAND");
  add_row(app, "device", arguments.model.values,
          {.help = "time batches of the box on this device, and nothing else: opencl, opencl:N, "
                   "cuda, cuda:N"});
  add_peaks_option(app, arguments.peaks);
  app.add_option("--warm-up", arguments.limits.warm_up, "calls before the first measurement")
      ->transform(whole(0, 1 << 20))
      ->capture_default_str();
  app.add_option("--repeats", arguments.limits.repeats,
                 "measurements of each strategy (default: for --seconds)")
      ->transform(whole(1, 1 << 24));
  app.add_option("--seconds", arguments.limits.seconds, "of measurements of each strategy")
      ->transform(number("0.001", "3600"))
      ->capture_default_str();
  app.add_flag("--no-kernels", arguments.no_kernels, "do not measure where the time goes");
  app.add_flag("--json", arguments.json, "print one JSON object");
  app.add_option("--out", arguments.output,
                 "folder for bench.json, the verifier's sources, its library, plan and weights")
      ->type_name("DIR");
  set_help(app, {kBenchExamples, kBenchNotes, "reference/cli.md"});
}

struct Result {
  ModelInfo model;
  Method method = Method::kCrown;
  std::string target;
  input::FloatBox box;
  std::optional<MachineProfile> machine;
  std::vector<apps::Strategy> strategies;
  std::vector<apps::KernelTime> kernels;
  std::vector<apps::PeerTime> peers;
  std::string device;  // JSON of what was measured of a device; empty: nothing
};

// ---- JSON

Json statistics_json(const apps::Statistics& times) {
  return {{"min", times.min}, {"mean", times.mean}, {"std", times.deviation},
          {"p50", times.p50}, {"p95", times.p95},   {"count", times.count}};
}

// Rates of a strategy or kernel. limit: 0 where it is not known.
Json rates_json(double flops, double bytes, double limit, double seconds) {
  Json made = {{"flops", flops},
               {"bytes", bytes},
               {"gflops_per_second", flops / seconds * 1e-9},
               {"gbytes_per_second", bytes / seconds * 1e-9}};
  if (limit > 0) made["roofline"] = limit / seconds;
  return made;
}

Json strategy_json(const apps::Strategy& strategy) {
  Json made = {{"lowering", to_string(strategy.lowering)},
               {"seconds", statistics_json(strategy.times)}};
  if (strategy.flops > 0)
    made.update(rates_json(strategy.flops, strategy.bytes, strategy.limit, strategy.times.p50));
  made["mean_width"] = engine::number_json(strategy.width);
  made["arena_bytes"] = strategy.arena_bytes;
  made["weights_bytes"] = strategy.weights_bytes;
  if (strategy.code_bytes) made["code_bytes"] = *strategy.code_bytes;
  made["compile_seconds"] = strategy.ready_seconds;
  return made;
}

// Shorter times are not much more than the clock's resolution.
bool is_measurable(const apps::Work& work) {
  return work.seconds >= 200e-9;
}

Json kernel_json(const apps::KernelTime& kernel) {
  const apps::Work& work = kernel.work;
  Json made = {{"name", kernel.name}, {"calls", work.calls}, {"seconds", work.seconds}};
  if (is_measurable(work))
    made.update(rates_json(work.flops, work.bytes, work.limit, work.seconds));
  return made;
}

Json machine_json(const MachineProfile& machine) {
  Json levels = Json::array();
  for (const MemoryLevel& level : machine.levels)
    levels.push_back({{"bytes", engine::number_json(level.bytes)},
                      {"gbytes_per_second", level.bytes_per_second * 1e-9}});
  return {{"processor", apps::processor_name()},
          {"float32_gflops_per_second", machine.float32_vector * 1e-9},
          {"float64_gflops_per_second", machine.float64_vector * 1e-9},
          {"reads", std::move(levels)}};
}

Json peer_json(const apps::PeerTime& peer) {
  Json made = {{"command", peer.command}, {"name", peer.name}};
  if (peer.times)
    made["seconds"] = statistics_json(*peer.times);
  else
    made["skipped"] = peer.reason;
  return made;
}

Json to_json(const Result& result) {
  Json made = {{"format", 1},
               {"bf_aot", BF_VERSION_STRING},
               {"model", result.model.file_name},
               {"sha256", result.model.sha256},
               {"method", to_string(result.method)},
               {"target", result.target},
               {"box", {{"lower", result.box.lower}, {"upper", result.box.upper}}}};
  made["machine"] =
      result.machine ? machine_json(*result.machine) : Json{{"processor", apps::processor_name()}};
  made["strategies"] = Json::array();
  for (const apps::Strategy& each : result.strategies)
    made["strategies"].push_back(strategy_json(each));
  made["kernels"] = Json::array();
  for (const apps::KernelTime& each : result.kernels) made["kernels"].push_back(kernel_json(each));
  made["peers"] = Json::array();
  for (const apps::PeerTime& each : result.peers) made["peers"].push_back(peer_json(each));
  if (!result.device.empty()) made["device"] = Json::parse(result.device);
  return made;
}

// ---- text

void print_times(const std::string& name, const apps::Statistics& times, const std::string& rest) {
  fmt::print("{:<24} {:>10} {:>10} {:>9} {:>10} {:>10} {:>6}{}\n", name,
             engine::duration(times.mean), engine::duration(times.min),
             engine::duration(times.deviation), engine::duration(times.p50),
             engine::duration(times.p95), times.count, rest);
}

void print(const MachineProfile& machine) {
  fmt::print("; peak {:.4g} GFLOP/s in float32, {:.4g} in float64; reads",
             machine.float32_vector * 1e-9, machine.float64_vector * 1e-9);
  for (const MemoryLevel& level : machine.levels)
    fmt::print(" {:.4g}", level.bytes_per_second * 1e-9);
  fmt::print(" GB/s, nearest memory first");
}

// GFLOP/s, GB/s and the share of the roofline; of what is not known, dashes.
std::string rates_text(double flops, double bytes, double limit, double seconds) {
  if (flops <= 0) return fmt::format("{:>9} {:>8} {:>9}", "-", "-", "-");
  return fmt::format("{:>9.4g} {:>8.4g} ", flops / seconds * 1e-9, bytes / seconds * 1e-9) +
         (limit > 0 ? fmt::format("{:>7.1f} %", 100 * limit / seconds) : fmt::format("{:>9}", "-"));
}

void print(const Result& result) {
  fmt::print("model    {}, method {} on {}\n", result.model.file_name, to_string(result.method),
             result.target);
  fmt::print("machine  {}", apps::processor_name());
  if (result.machine) print(*result.machine);
  fmt::print("\n\n{:<24} {:>10} {:>10} {:>9} {:>10} {:>10} {:>6} {:>9} {:>8} {:>9} {:>10} {:>10}\n",
             "lowering", "mean", "least", "std", "p50", "p95", "count", "GFLOP/s", "GB/s",
             "roofline", "ready", "width");
  for (const apps::Strategy& each : result.strategies) {
    const std::string rates = rates_text(each.flops, each.bytes, each.limit, each.times.p50);
    print_times(std::string(to_string(each.lowering)), each.times,
                fmt::format(" {} {:>10} {:>10.4g}", rates, engine::duration(each.ready_seconds),
                            each.width));
  }
  for (const apps::PeerTime& peer : result.peers) {
    if (peer.times)
      print_times(peer.name, *peer.times, "");
    else
      fmt::print("{:<24} skipped: {}\n", peer.name, peer.reason);
  }
  if (result.kernels.empty()) return;
  double total = 0;
  for (const apps::KernelTime& each : result.kernels) total += each.work.seconds;
  fmt::print("\n{:<48} {:>8} {:>10} {:>7} {:>9} {:>8} {:>9}\n", "kernel or routine", "calls",
             "time", "share", "GFLOP/s", "GB/s", "roofline");
  for (const apps::KernelTime& each : result.kernels) {
    const apps::Work& work = each.work;
    const double flops = is_measurable(work) ? work.flops : 0;
    fmt::print("{:<48} {:>8.0f} {:>10} {:>5.1f} % {}\n", each.name, work.calls,
               engine::duration(work.seconds), 100 * work.seconds / std::max(total, 1e-12),
               rates_text(flops, work.bytes, work.limit, work.seconds));
  }
}

// ---- the command

input::FloatBox box_here(const BenchArguments& arguments, int inputs) {
  return input::round_outward(box_of(arguments.box, inputs), inputs);
}

std::vector<std::string> compared(const BenchArguments& arguments, const Target& target) {
  if (arguments.compare) return *arguments.compare;
  if (engine::find_prebuilt(target.name) == nullptr || !build::runs_here(target)) return {};
  return {"prebuilt"};
}

std::vector<Lowering> lowerings_of(const BenchArguments& arguments, const Target& target) {
  std::vector<Lowering> made = {arguments.model.values.compile.planner.lowering};
  for (const std::string& name : compared(arguments, target)) {
    const Lowering lowering = *build::value_named<Lowering>(name);
    if (std::ranges::find(made, lowering) == made.end()) made.push_back(lowering);
  }
  return made;
}

// A log is read only when it is given.
void check_log(const BenchArguments& arguments) {
  if (arguments.compare && std::ranges::count(*arguments.compare, "tuned") > 0 &&
      arguments.model.values.tuning_log.empty())
    fail("BF3310", "--compare", "tuned schedules stand in a log, and none is given",
         "give --tuning-log FILE, which bf-aot tune writes");
}

bool needs_compiler(Lowering lowering) {
  return lowering != Lowering::kPrebuilt && lowering != Lowering::kReference;
}

// Measures the machine. None where it has no compiler, and no strategy needs one.
std::optional<MachineProfile> measured_machine(const std::vector<Lowering>& lowerings,
                                               const build::CompilerOptions& compiler,
                                               const Target& target) {
  const system::Progress progress("measure the machine");
  MachineProfile machine = host_profile();
  try {
    apps::measure_machine(compiler, target, machine);
  } catch (const CompileError& error) {
    if (error.diagnostics().front().code != "BF3202" ||
        std::ranges::any_of(lowerings, needs_compiler))
      throw;
    return std::nullopt;
  }
  return machine;
}

int count_inputs(const Graph& graph) {
  std::int64_t count = 0;
  for (const ValueId id : graph.inputs) count += element_count(graph.value(id).shape);
  return static_cast<int>(count);
}

void write_artefacts(const fs::path& folder, const Result& result,
                     const apps::BenchSubject& subject) {
  system::make_folder(folder);
  system::Staging staging(folder);
  std::vector<std::string> names = {"bench.json"};
  staging.write("bench.json", to_json(result).dump(1) + "\n");
  build::CompileOptions options = subject.options;
  if (options.planner.lowering == Lowering::kReference)
    options.planner.lowering = Lowering::kVector;  // the reference has no code
  const build::Verifier verifier =
      build::compile(subject.front, build::symbol_prefix(subject.front.info.file_name, options),
                     "verifier", options);
  const build::Toolchain toolchain =
      build::find_toolchain(subject.compiler, options.planner.target);
  for (const emit::EmittedFile& file : verifier.files) {
    names.push_back("verifier" + file.suffix);
    staging.write(names.back(), file.bytes);
  }
  build::build_archive(toolchain, staging.folder(), "verifier", verifier.files);
  names.emplace_back("libverifier.a");
  const auto code = build::code_bytes(staging.folder() / names.back(), toolchain);
  for (const emit::EmittedFile& file : verifier.files)
    if (file.suffix == ".json")
      staging.write("verifier.json", build::manifest_text(verifier, "verifier", file.suffix,
                                                          {&toolchain, code, {}}));
  staging.publish(names);
}

// A device has one kernel for an entry, so that parts of it have no times of their own.
int bench_device(const BenchArguments& arguments, CommandLine& app) {
  refuse_on_device(app,
                   {"--compare", "--peer", "--out", "--warm-up", "--repeats", "--no-kernels",
                    "--lowering", "--tuning-log", "--cxx", "--cxx-flags"},
                   "times of a device");
  const std::string name = compile_options(arguments.model).device;
  const build::CompileOptions options = engine::for_named_device(compile_options(arguments.model));
  std::optional<DevicePeaks> peaks;
  if (!arguments.peaks.empty()) peaks = input::read_peaks(arguments.peaks);
  if (peaks && peaks->items != options.planner.items) {
    engine::find_device(build::device_named(name));  // which may not be here
    fail("BF3346", "--peaks",
         fmt::format("they are of groups of {} items, and those of the device have {}",
                     peaks->items, options.planner.items),
         "leave --peaks out: the device's own are measured; inspect takes those of any device");
  }
  const build::FrontendResult front = build::run_frontend(arguments.model.model, options);
  const input::FloatBox box = box_here(arguments, count_inputs(front.graph));
  const auto lowered = build::run_planner(front, "net", options);
  const engine::Device device(lowered, build::device_named(name));
  const Box sample{{box.lower.begin(), box.lower.end()}, {box.upper.begin(), box.upper.end()}};
  DeviceFigures figures =
      apps::figures_on(*lowered, build::device_named(name), std::move(peaks), {&sample, 1});
  apps::time_batches(device, box, arguments.limits.seconds, figures);
  if (arguments.json) {
    const Result result{front.info,
                        options.planner.method,
                        options.planner.target.name,
                        box,
                        {},
                        {},
                        {},
                        {},
                        apps::device_json(lowered->plan(), figures)};
    fmt::print("{}\n", to_json(result).dump());
  } else {
    fmt::print("model    {}, method {}\n{}", front.info.file_name,
               to_string(options.planner.method), apps::device_text(lowered->plan(), figures));
  }
  return 0;
}

}  // namespace

int bench_command(const Call& call) {
  BenchArguments arguments;
  CommandLine app("Times a verifier on this machine, as a whole and by kernel.", call.arguments[0]);
  add_options(app, arguments);
  if (const auto code = parse(app, call)) return *code;

  if (!arguments.model.values.compile.device.empty()) return bench_device(arguments, app);
  check_log(arguments);
  const build::CompileOptions options = compile_options(arguments.model);
  const build::FrontendResult front = build::run_frontend(arguments.model.model, options);
  const std::vector<Lowering> lowerings = lowerings_of(arguments, options.planner.target);
  const build::CompilerOptions compiler = arguments.model.values.compiler;
  const apps::BenchSubject subject{front, box_here(arguments, count_inputs(front.graph)), options,
                                   compiler,
                                   measured_machine(lowerings, compiler, options.planner.target)};
  Result result{front.info,
                options.planner.method,
                options.planner.target.name,
                subject.box,
                subject.machine,
                {},
                {},
                {},
                {}};
  result.strategies = apps::time_strategies(subject, lowerings, arguments.limits);
  if (!arguments.no_kernels && options.planner.lowering != Lowering::kReference)
    result.kernels = apps::time_kernels(subject);
  for (const std::string& command : arguments.peers)
    result.peers.push_back(apps::time_peer(
        command,
        {arguments.model.model, subject.box, options.planner.method, arguments.limits.seconds}));
  if (!arguments.output.empty()) write_artefacts(arguments.output, result, subject);
  if (arguments.json)
    fmt::print("{}\n", to_json(result).dump());
  else
    print(result);
  return 0;
}

}  // namespace bf_aot::cli
