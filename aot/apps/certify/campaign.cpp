#include "aot/apps/certify/campaign.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>

#include "aot/input/json/json_reader.h"
#include "aot/input/json/read_text.h"
#include "frontend/diagnostic.h"
#include "frontend/graph/model.h"
#include "frontend/numbers/numbers.h"

namespace bf_aot::apps {
namespace {

using nlohmann::ordered_json;

constexpr char kFormat[] = "bf-aot campaign 1";
constexpr std::uint64_t kMost = std::uint64_t{1} << 40;

// ---- writing

ordered_json to_json(const SampleResult& result) {
  ordered_json json = {{"radius", result.radius},
                       {"sample", result.sample},
                       {"status", api::to_string(result.robustness)},
                       {"answer", result.answer},
                       {"rival", result.rival},
                       {"margin", nullptr},
                       {"stage", api::to_string(result.stage)},
                       {"seconds", result.seconds}};
  if (std::isfinite(result.margin)) json["margin"] = result.margin;
  if (!result.counterexample.empty()) json["counterexample"] = result.counterexample;
  return json;
}

// ---- reading

SampleResult result_at(const input::JsonAt& at, const CertifyRun& run) {
  at.allow_keys({"radius", "sample", "status", "answer", "rival", "margin", "stage", "seconds",
                 "counterexample"});
  SampleResult result;
  result.radius = at.key("radius").whole_number(run.radii.size() - 1);
  result.sample = at.key("sample").whole_number(run.names.size() - 1);
  if (result.sample % run.part.count != run.part.index)
    fail("BF3017", at.key("sample").where, "a sample of another part");
  const auto found = robustness_named(at.key("status").text());
  const auto stage = api::stage_named(at.key("stage").text());
  if (!found || !stage) fail("BF3017", at.where, "no status or stage of a sample");
  result.robustness = *found;
  result.stage = *stage;
  result.answer = at.key("answer").whole_number(run.outputs - 1);
  result.rival = at.key("rival").whole_number(run.outputs - 1);
  const input::JsonAt margin = at.key("margin");
  result.margin =
      margin.value->is_null() ? -std::numeric_limits<double>::infinity() : margin.number();
  const std::vector<double> seconds = at.key("seconds").numbers();
  if (seconds.size() != result.seconds.size())
    fail("BF3017", at.key("seconds").where,
         fmt::format("expected {} numbers, one for each stage", result.seconds.size()));
  std::ranges::copy(seconds, result.seconds.begin());
  if (at.has("counterexample")) result.counterexample = at.key("counterexample").numbers();
  return result;
}

Threshold threshold_at(const input::JsonAt& at) {
  const std::string text = at.text();
  const auto least = vnnlib::read_exact_text(text);
  if (!least) fail("BF3017", at.where, "expected a number as text");
  return {text, *least};
}

CertifyRun run_at(const input::JsonAt& at) {
  CertifyRun run;
  run.complete = true;
  run.decide = true;
  run.model = at.key("model").text();
  run.data = at.key("data").text();
  run.method = "complete";
  run.norm = at.key("norm").text();
  run.outputs = at.key("classes").whole_number(kMost);
  run.radii = at.key("radii").texts();
  for (std::size_t i = 0; i < at.key("thresholds").expect_array(); ++i)
    run.thresholds.push_back(threshold_at(at.key("thresholds").at(i)));
  run.first = at.key("first").whole_number(kMost);
  run.names = at.key("names").texts();
  run.labels = at.key("labels").numbers();
  run.jobs = static_cast<int>(at.key("jobs").whole_number(1024));
  run.seconds = at.key("seconds").number();
  const input::JsonAt part = at.key("part");
  part.allow_keys({"index", "count"});
  run.part.count = part.key("count").whole_number(kMost);
  if (run.part.count == 0) fail("BF3017", part.where, "no parts");
  run.part.index = part.key("index").whole_number(run.part.count - 1);
  if (run.outputs == 0 || run.radii.empty() || run.labels.size() != run.names.size() ||
      run.names.empty() || (run.thresholds.size() > 1 && run.thresholds.size() != run.radii.size()))
    fail("BF3017", at.where, "the run's radii, samples, labels and classes do not fit together");
  for (const double label : run.labels)
    if (!(label >= 0 && label < static_cast<double>(run.outputs)))
      fail("BF3017", at.key("labels").where, "a label is no class");
  return run;
}

}  // namespace

bool is_campaign(const std::string& text) {
  const nlohmann::json json = nlohmann::json::parse(text, nullptr, false);
  return json.is_object() && json.value("format", nlohmann::json()) == kFormat;
}

std::string to_text(const Campaign& campaign) {
  const CertifyRun& run = campaign.run;
  ordered_json json = {{"format", kFormat},
                       {"question", campaign.question},
                       {"part", {{"index", run.part.index}, {"count", run.part.count}}},
                       {"model", run.model},
                       {"data", run.data},
                       {"norm", run.norm},
                       {"classes", run.outputs},
                       {"radii", run.radii},
                       {"thresholds", ordered_json::array()},
                       {"first", run.first},
                       {"names", run.names},
                       {"labels", run.labels},
                       {"jobs", run.jobs},
                       {"seconds", run.seconds},
                       {"results", ordered_json::array()}};
  for (const Threshold& threshold : run.thresholds) json["thresholds"].push_back(threshold.text);
  for (const SampleResult& result : run.results) json["results"].push_back(to_json(result));
  return json.dump(-1, ' ', true, ordered_json::error_handler_t::replace) + "\n";
}

Campaign parse_campaign(const std::string& text, const std::string& where) {
  const nlohmann::json json = input::parse_json_text(text, where);
  const input::JsonAt root = {&json, where};
  if (const input::JsonAt format = root.key("format"); format.text() != kFormat)
    fail("BF3017", format.where, fmt::format("expected '{}'", kFormat),
         "the file is of another program, or version");
  root.allow_keys({"format", "question", "part", "model", "data", "norm", "classes", "radii",
                   "thresholds", "first", "names", "labels", "jobs", "seconds", "results"});
  Campaign campaign{root.key("question").text(), run_at(root)};
  std::set<std::pair<std::size_t, std::size_t>> seen;
  const input::JsonAt results = root.key("results");
  for (std::size_t i = 0; i < results.expect_array(); ++i) {
    const SampleResult& result =
        campaign.run.results.emplace_back(result_at(results.at(i), campaign.run));
    if (!seen.emplace(result.radius, result.sample).second)
      fail("BF3017", results.at(i).where, "the sample is there twice");
  }
  return campaign;
}

Campaign read_campaign(const std::filesystem::path& path) {
  return parse_campaign(input::read_text(path, "campaign"), printable(path.string()));
}

namespace {

// Joins the parts of one question.
CertifyRun join(const std::vector<const NamedCampaign*>& files) {
  CertifyRun whole = files[0]->campaign.run;
  whole.results.clear();
  std::vector<const NamedCampaign*> parts(whole.part.count);
  for (const NamedCampaign* const each : files) {
    const CertifyRun& run = each->campaign.run;
    if (run.part.count != parts.size())
      fail("BF3019", each->name,
           fmt::format("the samples are divided otherwise than in {}", files[0]->name));
    if (parts[run.part.index] != nullptr)
      fail("BF3019", each->name,
           fmt::format("part {} is in {}, too", run.part.index, parts[run.part.index]->name));
    parts[run.part.index] = each;
    whole.results.insert(whole.results.end(), run.results.begin(), run.results.end());
    whole.seconds = std::max(whole.seconds, run.seconds);
  }
  for (std::size_t i = 0; i < parts.size(); ++i)
    if (parts[i] == nullptr)
      fail("BF3019", files[0]->name, fmt::format("part {} of {} is missing", i, parts.size()));
  if (whole.results.size() != whole.names.size() * whole.radii.size())
    fail("BF3019", files[0]->name,
         fmt::format("{} of {} results are there", whole.results.size(),
                     whole.names.size() * whole.radii.size()),
         "run the commands that wrote the files again: they go on");
  whole.part = {};
  sort_results(whole);
  return whole;
}

}  // namespace

std::vector<CertifyRun> join_campaigns(const std::vector<NamedCampaign>& files) {
  std::vector<std::vector<const NamedCampaign*>> questions;
  for (const NamedCampaign& each : files) {
    const auto same = std::ranges::find_if(questions, [&](const auto& of) {
      return of[0]->campaign.question == each.campaign.question;
    });
    if (same == questions.end())
      questions.push_back({&each});
    else
      same->push_back(&each);
  }
  std::vector<CertifyRun> runs;
  for (const auto& question : questions) runs.push_back(join(question));
  return runs;
}

bool is_on_front(const std::vector<CertifyRun>& runs, std::size_t run, const std::string& radius) {
  const auto shares = [&](const CertifyRun& of) -> std::optional<std::pair<double, double>> {
    const auto found = std::ranges::find(of.radii, radius);
    if (found == of.radii.end()) return std::nullopt;
    const Tally tally = tallies(of)[static_cast<std::size_t>(found - of.radii.begin())];
    return std::pair(tally.clean_accuracy(), tally.certified_accuracy());
  };
  const auto own = shares(runs[run]);
  return own && std::ranges::none_of(runs, [&](const CertifyRun& other) {
           const auto there = shares(other);
           return there && there->first >= own->first && there->second >= own->second &&
                  *there != *own;
         });
}

}  // namespace bf_aot::apps
