#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "aot/apps/certify/certify.h"
#include "aot/apps/certify/proofs.h"
#include "aot/apps/certify/samples.h"
#include "aot/system/interrupt.h"
#include "aot/system/progress.h"

namespace bf_aot::apps {

// The results of a run so far, and the files that hold them: journal, campaign and certificates.
class KeptResults {
 public:
  // All arguments live as long as this. The results and remarks go to `answer`; stopwatch: of the
  // run.
  KeptResults(const CertifyQuestion& question, const Samples& samples, CertifyAnswer& answer,
              const system::Stopwatch& stopwatch);

  // Opens the files that outputs name, and takes what earlier processes have found. Throws: BF3018,
  // BF3024, as SampleProofs, Journal and read_campaign().
  void open(const std::filesystem::path& model, std::size_t inputs, const CertifyOutputs& outputs);

  bool has(std::size_t radius, std::size_t sample) const;
  // Returns what the results at other radii say: a sample is wrong at all of them, certified within
  // a radius at which it is, and falsified beyond one at which it is.
  std::optional<SampleResult> implied(std::size_t radius, std::size_t sample) const;

  // Keeps new results. The journal has samples of complete runs when they are decided.
  void add(const std::vector<SampleResult>& results);
  // Takes the verdict on an open result, with its certificate and row.
  void decide(SampleResult& result, const api::CertifiedSample& sample);
  // Decides an open result by those at other radii. Returns whether it is decided.
  bool decide_by_others(SampleResult& result);
  // Adds a row to the journal.
  void add_row(const SampleResult& result);

  // Writes the campaign's file.
  void save();
  void save_now_and_then();
  // Ends the run: its journal, its time and its campaign's file.
  void finish();
  // Ends the set of certificates.
  void publish_proofs();

 private:
  void resume(const std::filesystem::path& model, const CertifyOutputs& outputs);
  void go_on(const std::filesystem::path& model, const std::string& file);
  void remark_earlier(std::size_t results, const std::string& file);
  void keep(const SampleResult& result);
  void prove(const std::vector<SampleResult>& results);
  double seconds() const { return seconds_before_ + stopwatch_.seconds(); }

  const CertifyQuestion& question_;
  const Samples& samples_;
  CertifyAnswer& answer_;
  CertifyRun& run_;
  const system::Stopwatch& stopwatch_;
  std::optional<SampleProofs> proofs_;
  std::optional<system::CleanupPending> pending_;
  std::optional<Journal> journal_;
  // The places of results, by radius and sample; until results are sorted.
  std::map<std::pair<std::size_t, std::size_t>, std::size_t> place_of_;
  std::string campaign_, question_sha256_;
  double seconds_before_ = 0, saved_ = 0;
};

}  // namespace bf_aot::apps
