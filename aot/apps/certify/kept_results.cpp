#include "aot/apps/certify/kept_results.h"

#include <fmt/format.h>

#include <system_error>
#include <utility>

#include "aot/apps/certify/campaign.h"
#include "aot/apps/certify/question.h"
#include "aot/system/files.h"
#include "frontend/diagnostic.h"
#include "frontend/graph/model.h"

namespace bf_aot::apps {
namespace {

constexpr double kSaveSeconds = 60;

}  // namespace

KeptResults::KeptResults(const CertifyQuestion& question, const Samples& samples,
                         CertifyAnswer& answer, const system::Stopwatch& stopwatch)
    : question_(question),
      samples_(samples),
      answer_(answer),
      run_(answer.run),
      stopwatch_(stopwatch) {}

void KeptResults::open(const std::filesystem::path& model, std::size_t inputs,
                       const CertifyOutputs& outputs) {
  if (!outputs.proof.folder.empty()) {
    expect_provable(run_, question_, outputs.libm_ulps);
    proofs_.emplace(outputs.proof, outputs.libm_ulps, model, inputs, run_.outputs);
  }
  if (!outputs.journal.empty()) resume(model, outputs);
  if (!outputs.campaign.empty()) go_on(model, outputs.campaign);
}

// Results of an earlier process are read first. Rows are kept by this process only when a round is
// done.
void KeptResults::resume(const std::filesystem::path& model, const CertifyOutputs& outputs) {
  pending_.emplace();
  journal_.emplace(outputs.journal, question_hash(model, question_, samples_.data()), run_);
  for (const SampleResult& result : journal_->found()) {
    if (proofs_ && result.robustness != api::Robustness::kWrong) continue;
    if (outputs.counterexamples && result.robustness == api::Robustness::kFalsified) continue;
    if (!place_of_.contains({result.radius, result.sample})) keep(result);
  }
  remark_earlier(run_.results.size(), outputs.journal);
}

void KeptResults::remark_earlier(std::size_t results, const std::string& file) {
  if (results > 0)
    answer_.remarks.push_back(
        fmt::format("{} results of {} are from an earlier run", results, printable(file)));
}

// The file's results come before all others; samples that it has open are split from now on.
void KeptResults::go_on(const std::filesystem::path& model, const std::string& file) {
  pending_.emplace();
  campaign_ = file;
  question_sha256_ = question_hash(model, question_, samples_.data());
  std::error_code error;
  if (!std::filesystem::exists(file, error)) return;
  const Campaign earlier = read_campaign(file);
  if (earlier.question != question_sha256_ || earlier.run.part.index != run_.part.index ||
      earlier.run.part.count != run_.part.count)
    fail("BF3018", printable(file), "the file is about another question, or another part",
         "give another file, or what it was made with");
  std::size_t taken = 0;
  for (const SampleResult& result : earlier.run.results) {
    if (place_of_.contains({result.radius, result.sample})) continue;
    keep(result);
    ++taken;
    prove({result});
    if (is_decided(result)) add_row(result);
  }
  seconds_before_ = earlier.run.seconds;
  remark_earlier(taken, file);
}

bool KeptResults::has(std::size_t radius, std::size_t sample) const {
  return place_of_.contains({radius, sample});
}

std::optional<SampleResult> KeptResults::implied(std::size_t radius, std::size_t sample) const {
  for (std::size_t other = 0; run_.complete && other < run_.radii.size(); ++other) {
    const auto found = place_of_.find({other, sample});
    if (other == radius || found == place_of_.end()) continue;
    const auto order = vnnlib::compare(question_.eps[radius], question_.eps[other]);
    SampleResult result = run_.results[found->second];
    const bool holds = result.robustness == api::Robustness::kWrong ||
                       (result.robustness == api::Robustness::kCertified && order <= 0) ||
                       (result.robustness == api::Robustness::kFalsified && order >= 0);
    if (!holds) continue;
    result.radius = radius;
    result.seconds = {};
    return result;
  }
  return std::nullopt;
}

void KeptResults::keep(const SampleResult& result) {
  place_of_[{result.radius, result.sample}] = run_.results.size();
  run_.results.push_back(result);
}

void KeptResults::add(const std::vector<SampleResult>& results) {
  prove(results);
  std::vector<SampleResult> rows;
  for (const SampleResult& result : results) {
    if (!run_.complete || is_decided(result)) rows.push_back(result);
    keep(result);
  }
  if (journal_) journal_->append(rows);
}

void KeptResults::decide(SampleResult& result, const api::CertifiedSample& sample) {
  take(result, sample);
  prove({result});
  add_row(result);
}

bool KeptResults::decide_by_others(SampleResult& result) {
  if (is_decided(result)) return true;
  auto known = implied(result.radius, result.sample);
  if (!known) return false;
  known->seconds = result.seconds;
  result = std::move(*known);
  prove({result});
  add_row(result);
  return true;
}

void KeptResults::add_row(const SampleResult& result) {
  if (journal_) journal_->append({result});
}

// Writes the certificates of a round's samples.
void KeptResults::prove(const std::vector<SampleResult>& results) {
  if (!proofs_) return;
  for (const SampleResult& result : results) {
    const std::string name = SampleProofs::name_of(run_, result);
    const std::string missing =
        proofs_->write(name, samples_.box(result.sample, result.radius),
                       static_cast<std::size_t>(samples_.data().labels[result.sample]), result);
    if (!missing.empty())
      answer_.remarks.push_back(fmt::format("{}: no certificate: {}", name, missing));
  }
  answer_.proofs = proofs_->written();
}

void KeptResults::save() {
  if (campaign_.empty()) return;
  const system::InterruptsHeld held;
  run_.seconds = seconds();
  system::publish_file(campaign_, to_text(Campaign{question_sha256_, run_}));
  saved_ = stopwatch_.seconds();
}

void KeptResults::save_now_and_then() {
  if (stopwatch_.seconds() >= saved_ + kSaveSeconds) save();
}

void KeptResults::finish() {
  if (journal_) journal_->finish();
  sort_results(run_);
  run_.seconds = seconds();
  save();
}

void KeptResults::publish_proofs() {
  if (proofs_) proofs_->publish(run_, question_.files, question_.normalisation);
}

}  // namespace bf_aot::apps
