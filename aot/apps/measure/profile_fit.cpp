#include "aot/apps/measure/profile_fit.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "aot/build/cache.h"
#include "aot/build/frontend_result.h"
#include "aot/engine/verifier/make_verifier.h"
#include "frontend/diagnostic.h"

namespace bf_aot::apps {
namespace {

constexpr int kFitRepeats = 25;
constexpr double kLeastFitSeconds = 200e-9;  // of a part that is fitted: the clock resolves less

// The prediction of a part as a function of the profile: with the costs c of the families it is
//   calls + sum over families of (items item + groups group) + max(compute / efficiency, memory).
struct Sample {
  double measured = 0;
  double calls = 0;  // seconds
  std::vector<double> items, groups;
  double compute = 0, memory = 0;
  int roofline = -1;  // the family whose efficiency counts
};

MachineProfile without_costs(const MachineProfile& profile) {
  MachineProfile made = profile;
  for (FamilyCost& cost : made.families) cost = {};
  made.call = 0;
  return made;
}

MachineProfile with_rates(MachineProfile profile, double flops, double bytes) {
  for (double* peak : {&profile.float32_vector, &profile.float32_scalar, &profile.float64_vector,
                       &profile.float64_scalar})
    *peak *= flops;
  for (MemoryLevel& level : profile.levels) level.bytes_per_second *= bytes;
  return profile;
}

using Key = std::pair<int, std::string>;

std::map<Key, double> predictions(const Observation& seen, const MachineProfile& profile) {
  std::map<Key, double> seconds;
  const EntryCost cost = predict_entry(*seen.plan, seen.entry(), seen.activity, profile);
  for (std::size_t s = 0; s < cost.steps.size(); ++s)
    for (const TaskPart& part : cost.steps[s].parts)
      seconds[{static_cast<int>(s), part.name}] += part.seconds;
  return seconds;
}

std::vector<Sample> samples_of(const Observation& seen, const MachineProfile& profile) {
  constexpr double kMuch = 1e12;
  std::map<Key, Sample> samples;
  for (const engine::TimedPart& part : seen.parts)
    if (part.seconds >= kLeastFitSeconds) {
      Sample& sample = samples[{part.task, part.part}];
      sample.measured = part.seconds;
      sample.items.resize(kFamilies);
      sample.groups.resize(kFamilies);
    }
  const auto ask = [&](const MachineProfile& with, const auto& store) {
    for (const auto& [key, seconds] : predictions(seen, with))
      if (const auto found = samples.find(key); found != samples.end())
        store(found->second, seconds);
  };
  const MachineProfile base = without_costs(profile);
  const MachineProfile idle = with_rates(base, kMuch, kMuch);
  ask(with_rates(base, 1, kMuch), [](Sample& s, double x) { s.compute = x; });
  ask(with_rates(base, kMuch, 1), [](Sample& s, double x) { s.memory = x; });
  MachineProfile calls = idle;
  calls.call = profile.call;
  ask(calls, [](Sample& s, double x) { s.calls = x; });
  for (std::size_t f = 0; f < kFamilies; ++f) {
    MachineProfile one = idle;
    one.families[f].item = 1;
    ask(one, [f](Sample& s, double x) { s.items[f] = x; });
    one.families[f] = {1, 0, 1};
    ask(one, [f](Sample& s, double x) { s.groups[f] = x; });
    one = with_rates(base, 1, kMuch);
    one.families[f].efficiency = 0.5;
    ask(one, [f](Sample& s, double x) {
      if (x > 1.5 * s.compute) s.roofline = static_cast<int>(f);
    });
  }
  std::vector<Sample> list;
  for (auto& [key, sample] : samples) list.push_back(std::move(sample));
  return list;
}

double predicted(const Sample& sample, const MachineProfile& profile) {
  double seconds = sample.calls;
  for (std::size_t f = 0; f < kFamilies; ++f)
    seconds +=
        sample.items[f] * profile.families[f].item + sample.groups[f] * profile.families[f].group;
  const double efficiency =
      sample.roofline < 0 ? 1
                          : profile.families[static_cast<std::size_t>(sample.roofline)].efficiency;
  return seconds + std::max(sample.compute / efficiency, sample.memory);
}

double error(const std::vector<Sample>& samples, const MachineProfile& profile) {
  constexpr double kWellResolved = 2e-6;
  double sum = 0;
  for (const Sample& sample : samples) {
    const double weight = sample.measured >= kWellResolved ? 1 : 0.2;
    const double ratio = std::log(std::max(predicted(sample, profile), 1e-12) / sample.measured);
    // Large errors count less than their squares, so that a part that the model does not understand
    // does not bend the others.
    sum += weight * std::min(ratio * ratio, 1 + std::fabs(ratio));
  }
  return sum;
}

// Moves one cost by factors towards the least error. Returns whether the error fell.
bool improve(const std::vector<Sample>& samples, double step, double most, MachineProfile& profile,
             double& cost) {
  bool better = false;
  double least = error(samples, profile);
  for (const double factor : {step, 1 / step}) {
    while (true) {
      const double before = cost;
      cost = std::min(before * factor, most);
      const double now = cost == before ? least : error(samples, profile);
      if (!(now < least * (1 - 1e-9))) {
        cost = before;
        break;
      }
      least = now;
      better = true;
    }
  }
  return better;
}

}  // namespace

const Entry& Observation::entry() const {
  const Entry* const found =
      plan->find_entry(plan->spec_rows > 0 ? EntryKind::kSpecBounds : EntryKind::kBounds);
  BF_CHECK(found != nullptr);
  return *found;
}

Observation observe(const build::FrontendResult& front, const std::string& name,
                    const build::CompileOptions& options, const build::CompilerOptions& compiler,
                    const input::FloatBox& box) {
  build::CompileOptions timed = options;
  timed.time_parts = true;
  timed.planner.granularity = Granularity::kStep;
  Observation seen;
  seen.name = name;
  const std::shared_ptr<const Lowered> lowered = build::run_planner(front, "observed", timed);
  seen.plan = lowered->shared_plan();
  const Plan& plan = *seen.plan;
  seen.parts = engine::make_verifier(lowered, timed, compiler).host->time_parts(box, kFitRepeats);
  const Entry& entry = seen.entry();
  const Box sample{{box.lower.begin(), box.lower.end()}, {box.upper.begin(), box.upper.end()}};
  seen.activity = sampled_activity(plan, entry, {&sample, 1});
  for (const engine::TimedPart& part : seen.parts) {
    if (part.part != "tighten_rows") continue;
    const auto s = static_cast<std::size_t>(entry.task(part.task).steps.at(0));
    const auto* const rows = std::get_if<BackwardRows>(&entry.steps.at(s));
    if (rows == nullptr || !rows->unstable_only) continue;
    seen.activity.steps[s].neurons = part.calls * rows->tile / 2;
    if (rows->last.empty()) continue;
    const BackwardRows& last = rows->last.front();
    const std::string& end = plan.kernel(last.concretize).function;
    for (const engine::TimedPart& other : seen.parts)
      if (other.task == part.task && other.part == end)
        seen.activity.steps[s].neurons -= other.calls * (rows->tile - last.tile) / 2;
  }
  return seen;
}

std::vector<Comparison> compare(const Observation& observation, const MachineProfile& profile) {
  const std::map<Key, double> made = predictions(observation, profile);
  std::vector<Comparison> list;
  for (const engine::TimedPart& part : observation.parts) {
    const auto found = made.find({part.task, part.part});
    list.push_back({part.task, part.part, found == made.end() ? 0 : found->second, part.seconds});
  }
  return list;
}

void fit(const std::vector<Observation>& observations, MachineProfile& profile) {
  std::vector<Sample> samples;
  for (const Observation& seen : observations)
    for (Sample& sample : samples_of(seen, profile)) samples.push_back(std::move(sample));
  // Samples are sorted by the costs on which they depend.
  std::vector<std::vector<Sample>> of_item(kFamilies), of_group(kFamilies), of_rate(kFamilies);
  for (const Sample& sample : samples)
    for (std::size_t f = 0; f < kFamilies; ++f) {
      if (sample.items[f] > 0) of_item[f].push_back(sample);
      if (sample.groups[f] > 0) of_group[f].push_back(sample);
      if (sample.roofline == static_cast<int>(f)) of_rate[f].push_back(sample);
    }
  constexpr double kMost = 1, kMostEfficiency = 1;
  for (const double step : {2.0, 1.3, 1.1, 1.03, 1.01}) {
    bool better = true;
    for (int round = 0; better && round < 50; ++round) {
      better = false;
      for (std::size_t f = 0; f < kFamilies; ++f) {
        FamilyCost& cost = profile.families[f];
        better |= improve(of_item[f], step, kMost, profile, cost.item);
        better |= improve(of_group[f], step, kMost, profile, cost.group);
        better |= improve(of_rate[f], step, kMostEfficiency, profile, cost.efficiency);
      }
    }
  }
}

}  // namespace bf_aot::apps
