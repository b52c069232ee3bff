#include "aot/apps/measure/bench_measure.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>

#include "aot/apps/measure/profile_fit.h"
#include "aot/build/footprint/footprint.h"
#include "aot/engine/verifier/make_verifier.h"
#include "aot/system/measure.h"
#include "aot/system/progress.h"
#include "frontend/diagnostic.h"
#include "planner/cost/cost_model.h"
#include "planner/reference/executor.h"

namespace bf_aot::apps {
namespace {

constexpr int kRounds = 5;  // of taking turns

// A profile of the machine with nothing but peaks and bandwidths, whose prediction is the roofline.
// The peaks are those of vectors also for code that uses none, since they are the machine's limit.
MachineProfile bare(const BenchSubject& subject) {
  MachineProfile machine = subject.machine.value_or(host_profile());
  machine.float32_scalar = machine.float32_vector;
  machine.float64_scalar = machine.float64_vector;
  machine.families = {};
  machine.call = 0;
  return machine;
}

// A strategy ready to be called.
struct Runner {
  Strategy result;
  std::function<std::vector<double>(const system::SampleLimits&)> sample;
  std::vector<double> samples;
};

const Entry& entry_of(const Plan& plan) {
  const Entry* const found =
      plan.find_entry(plan.spec_rows > 0 ? EntryKind::kSpecBounds : EntryKind::kBounds);
  BF_CHECK(found != nullptr);
  return *found;
}

void describe(const Plan& plan, const BenchSubject& subject, Strategy& result) {
  result.arena_bytes = plan.arena_bytes();
  result.weights_bytes = plan.weights_bytes();
  const Box box{{subject.box.lower.begin(), subject.box.lower.end()},
                {subject.box.upper.begin(), subject.box.upper.end()}};
  const Entry& entry = entry_of(plan);
  const EntryCost cost =
      predict_entry(plan, entry, sampled_activity(plan, entry, {&box, 1}), bare(subject));
  result.flops = cost.total.flops;
  result.bytes = cost.total.bytes;
  result.limit = subject.machine ? cost.total.seconds : 0;
}

// The compiler's options for a strategy; none for the engine.
build::CompilerOptions compiler_of(const BenchSubject& subject, Lowering lowering) {
  return lowering == Lowering::kPrebuilt ? build::CompilerOptions() : subject.compiler;
}

// A runner of generated code, or of the engine.
Runner verifier_runner(const BenchSubject& subject, const build::CompileOptions& options) {
  Runner runner;
  const Lowering lowering = options.planner.lowering;
  const system::Stopwatch stopwatch;
  const auto plan =
      std::make_shared<const Plan>(build::run_planner(subject.front, "verifier", options));
  const double planned = stopwatch.seconds();
  engine::MadeVerifier made = engine::make_verifier(plan, options, compiler_of(subject, lowering));
  if (lowering == Lowering::kPrebuilt) {
    runner.result.ready_seconds = stopwatch.seconds();
  } else {
    runner.result.ready_seconds = planned + made.print_seconds + made.compile_seconds;
    runner.result.code_bytes = build::code_bytes(
        made.library, build::find_toolchain(subject.compiler, options.planner.target));
  }
  describe(*plan, subject, runner.result);
  const std::shared_ptr<const engine::HostVerifier> host = std::move(made.host);
  runner.result.width = engine::mean_width(plan->spec_rows > 0 ? host->spec_bounds(subject.box)
                                                               : host->bounds(subject.box));
  runner.sample = [host, &subject](const system::SampleLimits& limits) {
    return host->sample_times(subject.box, limits);
  };
  return runner;
}

// A runner that executes the plan in double in this program. No limit is known for it.
Runner reference_runner(const BenchSubject& subject, const build::CompileOptions& options) {
  Runner runner;
  const system::Stopwatch stopwatch;
  const auto plan = std::make_shared<Plan>(build::run_planner(subject.front, "verifier", options));
  runner.result.ready_seconds = stopwatch.seconds();
  runner.result.weights_bytes = plan->weights_bytes();
  const auto lower =
      std::make_shared<std::vector<double>>(subject.box.lower.begin(), subject.box.lower.end());
  const auto upper =
      std::make_shared<std::vector<double>>(subject.box.upper.begin(), subject.box.upper.end());
  const auto call = [plan, lower, upper] {
    return reference::execute(*plan, entry_of(*plan), *lower, *upper);
  };
  const reference::Bounds bounds = call();
  runner.result.width = engine::mean_width({bounds.lower, bounds.upper});
  runner.sample = [call](const system::SampleLimits& limits) {
    return system::sample_calls(call, limits);
  };
  return runner;
}

Runner make_runner(const BenchSubject& subject, Lowering lowering) {
  build::CompileOptions options = subject.options;
  options.planner.lowering = lowering;
  Runner runner = lowering == Lowering::kReference ? reference_runner(subject, options)
                                                   : verifier_runner(subject, options);
  runner.result.lowering = lowering;
  return runner;
}

}  // namespace

Statistics statistics_of(std::vector<double> samples) {
  BF_CHECK(!samples.empty());
  std::ranges::sort(samples);
  const std::size_t count = samples.size();
  const auto size = static_cast<double>(count);
  Statistics made;
  made.count = static_cast<int>(count);
  made.mean = std::accumulate(samples.begin(), samples.end(), 0.0) / size;
  double squares = 0;
  for (const double each : samples) squares += (each - made.mean) * (each - made.mean);
  made.deviation = count > 1 ? std::sqrt(squares / (size - 1)) : 0;
  made.min = samples.front();
  made.p50 = samples[count / 2];
  made.p95 = samples[std::min(count - 1, count * 95 / 100)];
  return made;
}

std::vector<Strategy> time_strategies(const BenchSubject& subject,
                                      const std::vector<Lowering>& lowerings,
                                      const BenchLimits& limits) {
  std::vector<Runner> runners;
  for (const Lowering lowering : lowerings) {
    const system::Progress progress("prepare " + std::string(to_string(lowering)));
    runners.push_back(make_runner(subject, lowering));
  }
  const system::Progress progress("measure");
  const int rounds = limits.repeats > 0 ? std::min(kRounds, limits.repeats) : kRounds;
  for (int round = 0; round < rounds; ++round)
    for (Runner& runner : runners) {
      // The first rounds take one repeat more where the rounds do not divide the repeats.
      const int repeats = limits.repeats / rounds + (round < limits.repeats % rounds ? 1 : 0);
      system::SampleLimits part{repeats, limits.seconds / rounds, 1};
      part.warm_up = round == 0 ? limits.warm_up : 1;
      const std::vector<double> samples = runner.sample(part);
      runner.samples.insert(runner.samples.end(), samples.begin(), samples.end());
    }
  std::vector<Strategy> results;
  for (Runner& runner : runners) {
    runner.result.times = statistics_of(std::move(runner.samples));
    results.push_back(std::move(runner.result));
  }
  return results;
}

std::vector<KernelTime> time_kernels(const BenchSubject& subject) {
  const Observation seen =
      observe(subject.front, "verifier", subject.options,
              compiler_of(subject, subject.options.planner.lowering), subject.box);
  std::map<std::string, Work> works;
  for (const engine::TracedPart& part : seen.parts) {
    Work& work = works[part.part];
    work.calls += part.calls;
    work.seconds += part.seconds;
  }
  const EntryCost cost = predict_entry(*seen.plan, seen.entry(), seen.activity, bare(subject));
  for (const StepCost& step : cost.steps)
    for (const TaskPart& part : step.parts) {
      const auto found = works.find(part.name);
      if (found == works.end()) continue;
      found->second.flops += part.flops;
      found->second.bytes += part.bytes;
      if (subject.machine) found->second.limit += part.seconds;
    }
  std::vector<KernelTime> list;
  for (const auto& [name, work] : works) list.push_back({name, work});
  std::ranges::stable_sort(list, [](const KernelTime& a, const KernelTime& b) {
    return a.work.seconds > b.work.seconds;
  });
  return list;
}

}  // namespace bf_aot::apps
