#include "aot/cli/commands/certify_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "aot/apps/certify/campaign.h"
#include "aot/engine/verifier/report.h"

namespace bf_aot::cli {
namespace {

nlohmann::ordered_json stages_of(const apps::CertifyRun& run) {
  nlohmann::ordered_json stages = nlohmann::ordered_json::array();
  for (const apps::StageTally& each : apps::stage_tallies(run))
    stages.push_back({{"stage", api::to_string(each.stage)},
                      {"samples", each.samples},
                      {"certified", each.decided.certified},
                      {"falsified", each.decided.falsified},
                      {"wrong", each.decided.wrong},
                      {"seconds", each.seconds}});
  return stages;
}

void print_stages(const apps::CertifyRun& run) {
  fmt::print("\n{:<12} {:>8} {:>10} {:>10} {:>8} {:>12} {:>12}\n", "stage", "samples", "certified",
             "falsified", "wrong", "thread time", "a sample");
  for (const apps::StageTally& each : apps::stage_tallies(run))
    fmt::print("{:<12} {:>8} {:>10} {:>10} {:>8} {:>12} {:>12}\n", api::to_string(each.stage),
               each.samples, each.decided.certified, each.decided.falsified, each.decided.wrong,
               engine::duration(each.seconds),
               engine::duration(each.seconds / static_cast<double>(each.samples)));
}

}  // namespace

nlohmann::ordered_json certify_json(const apps::CertifyRun& run,
                                    std::optional<std::size_t> proofs) {
  nlohmann::ordered_json json;
  json["model"] = run.model;
  json["data"] = run.data;
  json["method"] = run.method;
  if (!run.norm.empty()) json["norm"] = run.norm;
  if (!run.disturbance.empty()) json["disturbance"] = run.disturbance;
  if (run.part.count > 1) json["part"] = {{"index", run.part.index}, {"count", run.part.count}};
  json["samples"] = run.names.size();
  json["radii"] = nlohmann::ordered_json::array();
  const std::vector<apps::Tally> all = apps::tallies(run);
  for (std::size_t i = 0; i < all.size(); ++i) {
    nlohmann::ordered_json radius;
    radius["eps"] = nullptr;
    if (!run.radii[i].empty()) radius["eps"] = run.radii[i];
    radius["certified"] = all[i].certified;
    radius["falsified"] = all[i].falsified;
    radius["unknown"] = all[i].unknown;
    radius["wrong"] = all[i].wrong;
    radius["ties"] = all[i].ties;
    radius["certified_accuracy"] = all[i].certified_accuracy();
    radius["passed"] = apps::passes(run, i, all[i]);
    json["radii"].push_back(radius);
  }
  if (run.complete) json["stages"] = stages_of(run);
  if (proofs) json["proofs"] = *proofs;
  json["seconds"] = run.seconds;
  return json;
}

void print_certified(const apps::CertifyRun& run, std::optional<std::size_t> proofs) {
  const std::size_t width = std::max<std::size_t>(10, run.disturbance.size());
  fmt::print("{:<{}} {:>10} {:>10} {:>10} {:>8}   {}\n",
             run.disturbance.empty() ? "eps" : "disturbance", width, "certified", "unknown",
             "falsified", "wrong", "certified accuracy");
  const std::vector<apps::Tally> all = apps::tallies(run);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const apps::Tally& tally = all[i];
    fmt::print("{:<{}} {:>10} {:>10} {:>10} {:>8}   {:.2f} %{}\n", apps::radius_text(run, i), width,
               tally.certified, tally.unknown, tally.falsified, tally.wrong,
               100 * tally.certified_accuracy(),
               run.thresholds.empty()        ? ""
               : apps::passes(run, i, tally) ? "  passed"
                                             : fmt::format("  failed: at least {} is asked for",
                                                           apps::threshold_of(run, i).text));
  }
  if (all[0].ties > 0)
    fmt::print("{} of the wrong are ties: another output equals the label's at the sample\n",
               all[0].ties);
  if (run.complete) print_stages(run);
  fmt::print("\nmodel    {}, {}{}{}\n", run.model, run.method,
             !run.disturbance.empty() ? ", parts of the range"
             : run.norm.empty()       ? ""
                                      : ", balls in " + run.norm,
             run.decide && !run.complete ? ", then splitting and search" : "");
  const std::string part =
      run.part.count > 1 ? fmt::format("part {} of {}, ", run.part.index, run.part.count) : "";
  fmt::print("data     {}, {}{} samples, {:.2f} % answered rightly\n", run.data, part,
             all[0].count(), 100 * all[0].clean_accuracy());
  if (proofs) fmt::print("proofs   {}\n", *proofs);
  fmt::print("time     {}, {} jobs\n", engine::duration(run.seconds), run.jobs);
}

void print_front(const std::vector<apps::CertifyRun>& runs) {
  fmt::print("\n{:<28} {:<10} {:>8} {:>10} {:>14}\n", "network", "eps", "clean", "certified",
             "not falsified");
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const std::vector<apps::Tally> all = apps::tallies(runs[i]);
    for (std::size_t radius = 0; radius < all.size(); ++radius)
      fmt::print("{:<28} {:<10} {:>6.2f} % {:>8.2f} % {:>12.2f} %{}\n", runs[i].model,
                 runs[i].radii[radius].empty() ? "boxes" : runs[i].radii[radius],
                 100 * all[radius].clean_accuracy(), 100 * all[radius].certified_accuracy(),
                 100 * all[radius].possible_accuracy(),
                 apps::is_on_front(runs, i, runs[i].radii[radius]) ? "  on the front" : "");
  }
}

}  // namespace bf_aot::cli
