#include "aot/apps/tune/tune_measure.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <utility>

#include "aot/apps/tune/kernel_check.h"
#include "aot/build/cache.h"
#include "aot/system/files.h"
#include "aot/system/process.h"
#include "frontend/diagnostic.h"
#include "runtime/bf.h"

namespace bf_aot::apps {
namespace {

using Json = nlohmann::json;

constexpr int kTrialRounds = 24;
constexpr int kConfirmRounds = 96;
constexpr double kTurnSeconds = 150e-6;  // of calls of one kernel, before the next has its turn
constexpr double kRunSeconds = 120;      // seconds of the child process
constexpr std::int64_t kMostCopies = std::int64_t{64} << 20;  // bytes of weight tables

template <class Call>
double seconds_of(const Call& call, int calls) {
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < calls; ++i) call();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

int copies_of(const Kernel& kernel, std::int64_t weights_bytes) {
  const std::int64_t table = std::int64_t{4} * kernel.in * (kernel.out + kernel.panel);
  return static_cast<int>(
      std::clamp<std::int64_t>(std::min(weights_bytes, kMostCopies) / table, 1, 64));
}

Times times_of(std::vector<double> seconds) {
  std::ranges::sort(seconds);
  return {seconds.front(), seconds[seconds.size() / 2]};
}

double quantile(std::vector<double> values, double share) {
  std::ranges::sort(values);
  return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1))];
}

std::vector<double> ratios(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> made;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) made.push_back(a[i] / b[i]);
  return made;
}

Kernel renamed(const Kernel& kernel, const Schedule& schedule, std::size_t number) {
  Kernel made = kernel;
  made.schedule = schedule;
  made.function += fmt::format("_candidate{}", number);
  return made;
}

}  // namespace

std::string check_and_time(const KernelLibrary& library, int rounds, std::uint64_t seed,
                           std::int64_t weights_bytes) {
  const std::vector<LoadedKernel>& kernels = library.kernels();
  KernelCheck check(kernels.front(), seed, copies_of(kernels.front().kernel, weights_bytes));
  std::vector<Json> results(kernels.size());
  for (std::size_t i = 0; i < kernels.size(); ++i)
    if (const std::string wrong = check.failure(kernels[i]); !wrong.empty())
      results[i] = {{"error", "differs from the exact result: " + wrong}};
    else
      results[i] = {{"seconds", Json::array()}};
  if (results.front().contains("error")) return Json(results).dump();

  check.prepare_timing();
  int calls = 1;
  while (calls < (1 << 20) && seconds_of([&] { check.run(kernels.front()); }, calls) < kTurnSeconds)
    calls *= 2;
  for (int round = -1; round < rounds; ++round)  // the first is not measured
    for (std::size_t turn = 0; turn < kernels.size(); ++turn) {
      // Every other round goes backward, so that no kernel always follows the same one.
      const std::size_t i = round % 2 == 0 ? turn : kernels.size() - 1 - turn;
      if (results[i].contains("error")) continue;
      check.run(kernels[i]);
      const double seconds = seconds_of([&] { check.run(kernels[i]); }, calls) / calls;
      if (round >= 0) results[i]["seconds"].push_back(seconds);
    }
  return Json(results).dump();
}

HostTuningMachine::HostTuningMachine(Options options, VerifierTrials& trials, Keep keep,
                                     std::function<bool()> is_over)
    : options_(std::move(options)),
      trials_(trials),
      toolchain_(build::find_toolchain(options_.compiler, options_.target)),
      keep_(std::move(keep)),
      is_over_(std::move(is_over)) {}

// One library and one child process for all of them.
std::vector<TimedKernel> HostTuningMachine::time_once(const std::vector<Kernel>& kernels,
                                                      int rounds) {
  if (kernels.front().kind == KernelKind::kTermBackward)
    return trials_.time(kernels, rounds / 4, toolchain_);
  const KernelSource source = kernel_source(kernels, options_.target);
  const system::Staging staging(build::cache_folder());
  staging.write("kernels.cpp", source.text);
  build::build_shared(toolchain_, staging.folder(), "kernels", {{".cpp", source.text}});
  const std::filesystem::path path = staging.folder() / "kernels.so";
  const system::ProcessResult result = system::run_apart(
      [&] {
        return check_and_time(KernelLibrary(path, source), rounds, options_.seed,
                              options_.weights_bytes);
      },
      kRunSeconds);
  const Json json = Json::parse(result.output, nullptr, false);
  if (result.exit_code != 0 || !json.is_array() || json.size() != kernels.size())
    fail("BF3311", kernels.front().key,
         fmt::format("the measuring process ended with code {}", result.exit_code));
  std::vector<TimedKernel> timed;
  for (const Json& each : json)
    timed.push_back({each.value("seconds", std::vector<double>()), each.value("error", "")});
  return timed;
}

// Times all candidates in one library; where that does not compile or crashes, each candidate alone
// with the default.
std::vector<TimedKernel> HostTuningMachine::time(const std::vector<Kernel>& kernels, int rounds) {
  try {
    std::vector<TimedKernel> timed = time_once(kernels, rounds);
    if (!timed.front().error.empty())
      fail("BF3311", kernels.front().key, "the default schedule is wrong: " + timed.front().error,
           "this is a defect of bf-aot or of the compiler");
    return timed;
  } catch (const CompileError& error) {
    if (kernels.size() == 1 || error.diagnostics().front().code == "BF3313") throw;
    if (kernels.size() == 2) return {time({kernels[0]}, rounds).front(), {{}, error.what()}};
  }
  std::vector<TimedKernel> timed(kernels.size());
  for (std::size_t i = 1; i < kernels.size(); ++i) {
    const std::vector<TimedKernel> pair = time({kernels[0], kernels[i]}, rounds);
    timed[0] = pair[0];
    timed[i] = pair[1];
  }
  return timed;
}

std::vector<Measurement> HostTuningMachine::measure(const Kernel& kernel,
                                                    const std::vector<Schedule>& schedules) {
  std::vector<Kernel> kernels = {renamed(kernel, kernel.schedule, 0)};
  for (std::size_t i = 0; i < schedules.size(); ++i)
    kernels.push_back(renamed(kernel, schedules[i], i + 1));
  const std::vector<TimedKernel> timed = time(kernels, kTrialRounds);
  std::vector<Measurement> made;
  for (std::size_t i = 1; i < timed.size(); ++i) {
    Measurement one;
    one.error = timed[i].error;
    if (one.error.empty()) {
      one.seconds = times_of(timed[i].seconds);
      one.default_seconds = times_of(timed[0].seconds);
      one.samples = static_cast<int>(timed[i].seconds.size());
    }
    made.push_back(std::move(one));
  }
  return made;
}

// The default has two turns in each round, whose difference is the noise.
Confirmation HostTuningMachine::confirm(const Kernel& kernel, const Schedule& schedule) {
  const std::vector<TimedKernel> timed =
      time({renamed(kernel, kernel.schedule, 0), renamed(kernel, schedule, 1),
            renamed(kernel, kernel.schedule, 2)},
           kConfirmRounds);
  Confirmation made;
  for (const TimedKernel& each : timed) made.error = made.error.empty() ? each.error : made.error;
  if (!made.error.empty()) return made;
  made.seconds = times_of(timed[1].seconds);
  made.default_seconds = times_of(timed[0].seconds);
  made.samples = static_cast<int>(timed[1].seconds.size());
  std::vector<double> both;
  for (std::size_t i = 0; i < timed[0].seconds.size(); ++i)
    both.push_back((timed[0].seconds[i] + timed[2].seconds[i]) / 2);
  made.ratio = quantile(ratios(timed[1].seconds, both), 0.5);
  const std::vector<double> same = ratios(timed[2].seconds, timed[0].seconds);
  made.noise = (quantile(same, 0.75) - quantile(same, 0.25)) / 2;
  return made;
}

void HostTuningMachine::record(TuningRecord record) {
  record.machine = options_.machine;
  record.compiler = toolchain_.version;
  record.version = BF_VERSION_STRING;
  keep_(record);
}

}  // namespace bf_aot::apps
