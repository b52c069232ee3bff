#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "aot/apps/measure/profile_machine.h"
#include "aot/apps/tune/tune_curve.h"
#include "aot/apps/tune/tune_measure.h"
#include "aot/build/frontend_result.h"
#include "aot/cli/commands/commands.h"
#include "aot/cli/options/box_options.h"
#include "aot/cli/options/command_line.h"
#include "aot/cli/options/help.h"
#include "aot/cli/options/options.h"
#include "aot/cli/options/values.h"
#include "aot/input/json_io.h"
#include "aot/input/tune_log_file.h"
#include "aot/system/files.h"
#include "aot/system/progress.h"
#include "frontend/diagnostic.h"
#include "planner/tuning/schedule_space.h"

namespace bf_aot::cli {
namespace {

namespace fs = std::filesystem;

constexpr char kTuneExamples[] =
    "bf-aot tune model.onnx --tuning-log model.tuning\n"
    "bf-aot tune model.onnx --method ibp --trials 200 --kernel interval_affine\n"
    "bf-aot model.onnx -o verifier.cpp --lowering tuned --tuning-log model.tuning";

constexpr char kTuneNotes[] =
    "Measures schedules of each kernel of the plan on this machine and writes what it "
    "finds to a log of JSON lines (docs/guide/tuning.md), which --lowering tuned reads. "
    "Every schedule is checked against exact results before it is timed. One becomes a "
    "kernel's result only when it beats the default by more than the noise. Schedules "
    "that stand in the log are not measured again: an interrupted run goes on where it "
    "ended.";

struct TuneArguments {
  ModelArguments model;
  TuningLimits limits;
  std::string strategy = "annealing";
  double seconds = 0;
  std::string kernel;
  std::string curve;
  BoxArguments box{{}, {}, "0.5", "0.01", {}};
};

void add_options(CommandLine& app, TuneArguments& arguments) {
  add_model_options(app, arguments.model, false);
  add_method_option(app, arguments.model);
  add_spec_option(app, arguments.model);
  add_property_option(app, arguments.model);
  add_compiler_options(app, arguments.model);
  app.get_option("--tuning-log")->writes("FILE");
  app.add_option("--trials", arguments.limits.trials,
                 "schedules to measure of each kernel, those of the log included")
      ->transform(whole(1, 1 << 20))
      ->capture_default_str();
  app.add_option("--seconds", arguments.seconds, "stop after so long (default: when all is done)")
      ->transform(number("0.001", "1e9"));
  app.add_option("--strategy", arguments.strategy,
                 "random: any schedule; annealing: simulated annealing in a cost model that "
                 "learns from the trials; model: no trials, the favourite of the model that the "
                 "log teaches, against the default")
      ->transform(one_of({"random", "annealing", "model"}))
      ->capture_default_str();
  app.add_option("--seed", arguments.limits.seed, "of the search's random numbers")
      ->transform(whole(0, UINT32_MAX))
      ->capture_default_str();
  app.add_option("--kernel", arguments.kernel, "tune kernels alone whose key contains this")
      ->type_name("TEXT");
  add_box_options(app, arguments.box);
  app.add_option("--curve", arguments.curve,
                 "write the best time after each trial as a table, and drawn beside it as .svg")
      ->writes("FILE.csv");
  set_help(app, {kTuneExamples, kTuneNotes, "guide/tuning.md"});
}

// Kernels with a choice, those that take the most predicted time first.
std::vector<Kernel> tunable_kernels(const Plan& plan, const std::string& part) {
  std::map<std::string, double> share;
  for (const Entry& entry : plan.entries)
    for (const Task& task : entry.tasks)
      for (const TaskPart& each : task.parts)
        if (each.kernel >= 0) share[plan.kernel(each.kernel).key] += each.seconds;
  std::vector<Kernel> kernels;
  for (const Kernel& kernel : plan.kernels)
    if (is_tunable(kernel) && kernel.key.find(part) != std::string::npos) kernels.push_back(kernel);
  std::ranges::stable_sort(
      kernels, [&](const Kernel& a, const Kernel& b) { return share[a.key] > share[b.key]; });
  return kernels;
}

std::string micro(double seconds) {
  return fmt::format("{:.4g}", 1e6 * seconds);
}

input::FloatBox box_here(const TuneArguments& arguments, int inputs) {
  return input::round_outward(box_of(arguments.box, inputs), inputs);
}

class Session {
 public:
  Session(const TuneArguments& arguments, const build::CompileOptions& options, const Plan& plan)
      : arguments_(arguments),
        target_(options.planner.target),
        kernels_(tunable_kernels(plan, arguments.kernel)),
        path_(arguments.model.values.tuning_log) {
    if (kernels_.empty())
      fail("BF3312", arguments.kernel.empty() ? arguments.model.model : arguments.kernel,
           "no kernel of the plan has schedules to choose from",
           "bf-aot inspect MODEL lists them; routines of the runtime have none");
    if (fs::exists(path_)) log_ = input::read_tuning_log(path_);
    if (!log_.empty()) fmt::print("{} records of {}\n", log_.size(), path_.string());
  }

  // Runs the tuning; returns 0, or the number of the signal that ended it.
  int run(const apps::HostTuningMachine::Options& options, apps::VerifierTrials& trials) {
    build::find_toolchain(options.compiler, options.target);  // before there is a log
    const system::CleanupPending pending;  // signals wait until a record is complete
    input::TuningLogWriter writer(path_);
    system::ProgressBar bar(static_cast<int>(kernels_.size()) * arguments_.limits.trials);
    apps::HostTuningMachine machine(
        options, trials,
        [&](const TuningRecord& record) {
          writer.append(record);
          log_.push_back(record);
          note(record, bar);
        },
        [&] {
          system::throw_if_interrupted();
          return arguments_.seconds > 0 && stopwatch_.seconds() > arguments_.seconds;
        });
    try {
      for (; done_ < kernels_.size() && !machine.is_over(); ++done_) tune(machine, bar);
    } catch (const system::Interrupted& interrupted) {
      return interrupted.signal;
    }
    return 0;
  }

  void print_summary() const {
    fmt::print("{:<64} {:>10} {:>10} {:>7} {:>6} {:>7}  {}\n", "kernel", "default us", "best us",
               "ratio", "noise", "trials", "schedule");
    for (const Row& row : rows_) {
      const TuningOutcome& outcome = row.outcome;
      const std::string note = outcome.is_default ? "the default" : to_text(outcome.schedule);
      fmt::print("{:<64} {:>10} {:>10} {:>7.3f} {:>5.1f}% {:>7}  {}{}\n", row.key,
                 micro(outcome.result.default_seconds.median), micro(outcome.result.seconds.median),
                 outcome.result.ratio, 100 * outcome.result.noise, outcome.trials, note,
                 outcome.known ? " (known)" : "");
    }
    int failed = 0, measured = 0;
    for (const Row& row : rows_) {
      failed += row.outcome.failed;
      measured += row.outcome.measured;
    }
    fmt::print("{} of {} kernels tuned, {} schedules measured", rows_.size(), kernels_.size(),
               measured);
    if (failed > 0) fmt::print(", {} of all failed", failed);
    if (not_called_ > 0) fmt::print(", {} kernels are not called on the box", not_called_);
    fmt::print("; {}\n", path_.string());
  }

  void write_curve() const {
    if (arguments_.curve.empty()) return;
    std::vector<apps::TuningCurve> curves;
    for (const Row& row : rows_) curves.push_back({row.key, row.outcome.curve});
    fs::path drawing = arguments_.curve;
    system::publish_file(arguments_.curve, apps::curve_table(curves));
    system::publish_file(drawing.replace_extension(".svg"), apps::curve_drawing(curves));
  }

 private:
  struct Row {
    std::string key;
    TuningOutcome outcome;
  };

  void tune(apps::HostTuningMachine& machine, system::ProgressBar& bar) {
    const Kernel& kernel = kernels_[done_];
    best_ = 1;
    trials_ = static_cast<int>(done_) * arguments_.limits.trials;
    bar.show(trials_, kernel.function);
    std::vector<Kernel> others;
    for (const Kernel& each : kernels_)
      if (each.key != kernel.key) others.push_back(each);
    TuningLimits limits = arguments_.limits;
    // Small batches lose little when the time is over, since each candidate compiles a whole
    // verifier.
    if (kernel.kind == KernelKind::kTermBackward) limits.batch = 2;
    try {
      TuningOutcome outcome =
          tune_kernel(kernel, target_, limits, log_, cost_samples(log_, others, target_), machine);
      if (outcome.confirmed) rows_.push_back({kernel.key, std::move(outcome)});
    } catch (const CompileError& error) {
      if (error.diagnostics().front().code != "BF3313") throw;
      ++not_called_;
    }
  }

  void note(const TuningRecord& record, system::ProgressBar& bar) {
    if (record.kind != RecordKind::kTrial) return;
    if (record.error.empty())
      best_ = std::min(best_, record.seconds.min / record.default_seconds.min);
    bar.show(++trials_,
             fmt::format("{}: best {:.3f} of the default", kernels_[done_].function, best_));
  }

  const TuneArguments& arguments_;
  const Target target_;
  const std::vector<Kernel> kernels_;
  const fs::path path_;
  std::vector<TuningRecord> log_;
  std::vector<Row> rows_;
  system::Stopwatch stopwatch_;
  std::size_t done_ = 0;
  int trials_ = 0;
  int not_called_ = 0;
  double best_ = 1;
};

}  // namespace

int tune_command(const Call& call) {
  TuneArguments arguments;
  CommandLine app("Searches schedules of a model's kernels by measurement.", call.arguments[0]);
  add_options(app, arguments);
  if (const auto code = parse(app, call)) return *code;
  for (const SearchStrategy each :
       {SearchStrategy::kRandom, SearchStrategy::kAnnealing, SearchStrategy::kModel})
    if (to_string(each) == arguments.strategy) arguments.limits.strategy = each;

  // Others are measured against the schedules by rules.
  ModelArguments rules = arguments.model;
  rules.values.tuning_log.clear();
  rules.values.compile.planner.lowering =
      Lowering::kVector;  // scalar code for a target without vectors
  const build::CompileOptions options = compile_options(rules);
  build::expect_runs_here(options.planner.target);
  const build::FrontendResult front = build::run_frontend(rules.model, options);
  const std::string name = build::symbol_prefix(rules.model, options);
  if (arguments.model.values.tuning_log.empty())
    arguments.model.values.tuning_log = name + ".tuning";
  const auto plan = build::run_planner(front, name, options)->shared_plan();

  Session session(arguments, options, *plan);
  const std::string processor = apps::processor_name();
  apps::VerifierTrials trials(
      {front, options, rules.values.compiler, box_here(arguments, plan->input_count)});
  const int signal =
      session.run({options.planner.target, rules.values.compiler, plan->weights_bytes(),
                   arguments.limits.seed, processor.empty() ? plan->prediction.profile : processor},
                  trials);
  session.print_summary();
  session.write_curve();
  if (signal != 0) throw system::Interrupted{signal};
  return 0;
}

}  // namespace bf_aot::cli
