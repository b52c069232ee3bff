#include "planner/tuning/tuner.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "frontend/diagnostic.h"
#include "planner/tuning/schedule_space.h"

namespace bf_aot {
namespace {

constexpr std::size_t kFinalists = 3;  // schedules that may be confirmed
constexpr double kLeastGain = 0.01;    // what is less is not worth another schedule

double ratio_of(const Times& seconds, const Times& default_seconds) {
  return default_seconds.min > 0 ? seconds.min / default_seconds.min : 1;
}

class Tuning {
 public:
  Tuning(const Kernel& kernel, const Target& target, const TuningLimits& limits,
         const std::vector<CostSample>& others, TuningMachine& machine)
      : kernel_(kernel),
        target_(target),
        limits_(limits),
        machine_(machine),
        search_(kernel, target, limits.strategy, limits.seed, others) {
    outcome_.schedule = kernel.schedule;
    outcome_.space = search_.size();
  }

  TuningOutcome run(const std::vector<TuningRecord>& log) {
    resume(log);
    if (outcome_.known) return std::move(outcome_);
    if (limits_.strategy == SearchStrategy::kModel)
      ask_model();
    else
      measure_trials();
    if (!machine_.is_over()) confirm();
    return std::move(outcome_);
  }

 private:
  struct Candidate {
    Schedule schedule;
    double ratio = 1;
  };

  // Trials of the log, and its result when that is of as many.
  void resume(const std::vector<TuningRecord>& log) {
    std::vector<TuningRecord> results;
    std::vector<Schedule> seen;
    for (const TuningRecord& record : log) {
      if (record.key != kernel_.key) continue;
      if (record.kind == RecordKind::kResult) {
        results.push_back(record);
        continue;
      }
      if (!why_illegal(kernel_, record.schedule).empty()) continue;
      if (std::ranges::count(seen, record.schedule) > 0) continue;
      seen.push_back(record.schedule);
      take(record);
    }
    const int enough = std::min(limits_.trials, static_cast<int>(search_.size()) - 1);
    const auto best = best_results(results);
    if (best.empty() || best.front().candidates < enough) return;
    const auto same = std::ranges::find_if(results, [&](const TuningRecord& r) {
      return r.schedule == best.front().schedule && r.is_default == best.front().is_default;
    });
    outcome_.known = outcome_.confirmed = true;
    outcome_.schedule = best.front().is_default ? kernel_.schedule : best.front().schedule;
    outcome_.is_default = best.front().is_default;
    outcome_.result.seconds = same->seconds;
    outcome_.result.default_seconds = same->default_seconds;
    outcome_.result.ratio = best.front().is_default ? 1 : same->ratio;
    outcome_.result.noise = same->noise;
  }

  void take(const TuningRecord& record) {
    ++outcome_.trials;
    const bool works = record.error.empty();
    const double ratio = works ? ratio_of(record.seconds, record.default_seconds)
                               : std::numeric_limits<double>::infinity();
    search_.observe(record.schedule, ratio);
    if (works)
      candidates_.push_back({record.schedule, ratio});
    else
      ++outcome_.failed;
    if (!works) return;
    best_ratio_ = std::min(best_ratio_, ratio);
    if (default_seconds_ == 0) default_seconds_ = record.default_seconds.min;
    outcome_.curve.push_back(best_ratio_ * default_seconds_);
  }

  TuningRecord record_of(const Schedule& schedule, const Measurement& measured) const {
    TuningRecord record;
    record.key = kernel_.key;
    record.target = target_.name;
    record.schedule = schedule;
    record.seconds = measured.seconds;
    record.default_seconds = measured.default_seconds;
    record.samples = measured.samples;
    record.error = measured.error;
    record.seed = limits_.seed;
    return record;
  }

  void measure_trials() {
    while (outcome_.trials < limits_.trials && !machine_.is_over()) {
      const std::vector<Schedule> batch =
          search_.propose(std::min(limits_.batch, limits_.trials - outcome_.trials));
      if (batch.empty()) return;  // all are known
      const std::vector<Measurement> measured = machine_.measure(kernel_, batch);
      BF_CHECK(measured.size() == batch.size());
      for (std::size_t i = 0; i < batch.size(); ++i) {
        const TuningRecord record = record_of(batch[i], measured[i]);
        machine_.record(record);
        take(record);
        ++outcome_.measured;
      }
    }
  }

  // The favourite, where it is predicted to beat the default.
  void ask_model() {
    for (const Schedule& favourite : search_.propose(1)) {
      const double predicted = search_.predict(favourite) - search_.predict(kernel_.schedule);
      if (predicted < 0) candidates_.push_back({favourite, std::exp(predicted)});
    }
  }

  // The best candidates in turns with the default, until one is faster beyond doubt.
  void confirm() {
    std::ranges::stable_sort(candidates_, {}, &Candidate::ratio);
    Confirmation last;
    for (std::size_t i = 0; i < std::min(kFinalists, candidates_.size()); ++i) {
      const Candidate& candidate = candidates_[i];
      if (!(candidate.ratio < 1) || candidate.schedule == kernel_.schedule) break;
      last = machine_.confirm(kernel_, candidate.schedule);
      if (last.error.empty() && last.ratio < 1 - std::max(last.noise, kLeastGain)) {
        finish(candidate.schedule, last, false);
        return;
      }
      if (machine_.is_over()) return;
    }
    if (last.samples == 0) last = machine_.confirm(kernel_, kernel_.schedule);
    last.seconds = last.default_seconds;
    last.ratio = 1;
    finish(kernel_.schedule, last, true);
  }

  void finish(const Schedule& schedule, const Confirmation& result, bool is_default) {
    outcome_.confirmed = true;
    outcome_.schedule = schedule;
    outcome_.is_default = is_default;
    outcome_.result = result;
    TuningRecord record = record_of(schedule, result);
    record.kind = RecordKind::kResult;
    record.error.clear();
    record.ratio = result.ratio;
    record.noise = result.noise;
    record.candidates = outcome_.trials;
    record.is_default = is_default;
    machine_.record(std::move(record));
  }

  const Kernel& kernel_;
  const Target& target_;
  const TuningLimits& limits_;
  TuningMachine& machine_;
  ScheduleSearch search_;
  TuningOutcome outcome_;
  std::vector<Candidate> candidates_;
  double best_ratio_ = 1, default_seconds_ = 0;
};

}  // namespace

TuningOutcome tune_kernel(const Kernel& kernel, const Target& target, const TuningLimits& limits,
                          const std::vector<TuningRecord>& log,
                          const std::vector<CostSample>& others, TuningMachine& machine) {
  return Tuning(kernel, target, limits, others, machine).run(log);
}

std::vector<CostSample> cost_samples(const std::vector<TuningRecord>& log,
                                     const std::vector<Kernel>& kernels, const Target& target) {
  std::vector<CostSample> samples;
  for (const TuningRecord& record : log) {
    if (record.kind != RecordKind::kTrial || !record.error.empty()) continue;
    const auto kernel = std::ranges::find(kernels, record.key, &Kernel::key);
    if (kernel == kernels.end() || !is_tunable(*kernel) ||
        !why_illegal(*kernel, record.schedule).empty())
      continue;
    samples.push_back({features_of(*kernel, record.schedule, target),
                       std::log(ratio_of(record.seconds, record.default_seconds))});
  }
  return samples;
}

}  // namespace bf_aot
