#include "aot/apps/certify/results.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "frontend/numbers/numbers.h"

namespace bf_aot::apps {
namespace {

double share(std::size_t part, std::size_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

// Returns whether another class's output equals the label's at the sample, where it is the largest.
bool is_tie(const CertifyRun& run, const SampleResult& result) {
  return run.task == CertifyTask::kClasses && result.robustness == api::Robustness::kWrong &&
         result.margin == 0;
}

std::string open_samples(const CertifyRun& run, std::size_t radius) {
  std::string text;
  for (const SampleResult& result : run.results)
    if (result.radius == radius && result.robustness != api::Robustness::kCertified)
      text += fmt::format("sample {}: {}{}, margin {:.4g}\n", run.names[result.sample],
                          to_string(result.robustness), is_tie(run, result) ? " (a tie)" : "",
                          result.margin);
  return text;
}

}  // namespace

bool is_decided(const SampleResult& result) {
  return result.robustness != api::Robustness::kUnknown;
}

void take(SampleResult& result, const api::CertifiedSample& found) {
  result.robustness = found.robustness;
  result.answer = found.answer;
  const bool bounded = std::isfinite(found.margin);
  if (bounded || found.robustness == api::Robustness::kFalsified) result.rival = found.rival;
  if (bounded || result.stage == api::Stage::kSample)
    result.margin = static_cast<double>(found.margin);
  result.counterexample = found.counterexample;
  result.stage = std::max(result.stage, found.stage);
  for (std::size_t i = 0; i < found.seconds.size(); ++i) result.seconds[i] += found.seconds[i];
}

std::optional<api::Robustness> robustness_named(std::string_view name) {
  for (const api::Robustness each : {api::Robustness::kCertified, api::Robustness::kFalsified,
                                     api::Robustness::kUnknown, api::Robustness::kWrong})
    if (name == api::to_string(each)) return each;
  return std::nullopt;
}

void Tally::add(api::Robustness robustness) {
  switch (robustness) {
    case api::Robustness::kCertified:
      ++certified;
      break;
    case api::Robustness::kFalsified:
      ++falsified;
      break;
    case api::Robustness::kUnknown:
      ++unknown;
      break;
    case api::Robustness::kWrong:
      ++wrong;
      break;
  }
}

double Tally::certified_accuracy() const {
  return share(certified, count());
}

double Tally::clean_accuracy() const {
  return share(count() - wrong, count());
}

double Tally::possible_accuracy() const {
  return share(certified + unknown, count());
}

std::vector<StageTally> stage_tallies(const CertifyRun& run) {
  std::vector<StageTally> all;
  for (std::size_t i = 0; i < api::kStages; ++i) {
    StageTally tally;
    tally.stage = static_cast<api::Stage>(i);
    for (const SampleResult& result : run.results) {
      if (!(result.seconds[i] > 0)) continue;
      ++tally.samples;
      tally.seconds += result.seconds[i];
      const bool decided =
          result.stage == tally.stage && result.robustness != api::Robustness::kUnknown;
      if (decided) tally.decided.add(result.robustness);
    }
    if (tally.samples > 0) all.push_back(tally);
  }
  return all;
}

void sort_results(CertifyRun& run) {
  std::ranges::sort(run.results, {}, [](const SampleResult& result) {
    return std::pair(result.radius, result.sample);
  });
}

std::vector<Tally> tallies(const CertifyRun& run) {
  std::vector<Tally> all(run.radii.size());
  for (const SampleResult& result : run.results) {
    all[result.radius].add(result.robustness);
    if (is_tie(run, result)) ++all[result.radius].ties;
  }
  return all;
}

std::vector<Tally> class_tallies(const CertifyRun& run, std::size_t radius) {
  std::vector<Tally> all(run.outputs);
  for (const SampleResult& result : run.results)
    if (result.radius == radius)
      all[static_cast<std::size_t>(run.labels[result.sample])].add(result.robustness);
  return all;
}

std::string radius_text(const CertifyRun& run, std::size_t radius) {
  if (!run.disturbance.empty()) return run.disturbance;
  return run.radii[radius].empty() ? "boxes" : run.radii[radius];
}

double radius_value(const CertifyRun& run, std::size_t radius) {
  const auto value = vnnlib::read_exact_text(run.radii[radius]);
  return value ? vnnlib::round_to_double(*value).value : 0;
}

const Threshold& threshold_of(const CertifyRun& run, std::size_t radius) {
  return run.thresholds[run.thresholds.size() == 1 ? 0 : radius];
}

bool passes(const CertifyRun& run, std::size_t radius, const Tally& tally) {
  if (run.thresholds.empty()) return true;
  return mpq_class(tally.certified) >= threshold_of(run, radius).least * tally.count();
}

artifacts::Gate gate_of(const CertifyRun& run, const std::string& model_file) {
  artifacts::Gate gate{"certify " + run.model, {}, run.seconds};
  const std::vector<Tally> all = tallies(run);
  for (std::size_t radius = 0; radius < all.size(); ++radius) {
    const Tally& tally = all[radius];
    artifacts::GateCase& each = gate.cases.emplace_back();
    each.subject = run.model;
    each.name = "certified accuracy, " +
                (run.radii[radius].empty()
                     ? radius_text(run, radius)
                     : "eps " + run.radii[radius] + (run.norm.empty() ? "" : " in " + run.norm));
    each.file = model_file;
    const bool passed = passes(run, radius, tally);
    each.outcome = passed ? artifacts::GateOutcome::kPassed : artifacts::GateOutcome::kFailed;
    each.answer = passed ? "passed" : "missed";
    each.message = fmt::format(
        "certified accuracy {:.4f}: {} of {} samples certified, {} falsified, {} unknown, {} wrong",
        tally.certified_accuracy(), tally.certified, tally.count(), tally.falsified, tally.unknown,
        tally.wrong);
    if (!passed) each.message += "; at least " + threshold_of(run, radius).text + " is asked for";
    each.details = open_samples(run, radius);
  }
  return gate;
}

}  // namespace bf_aot::apps
