#pragma once

#include <gmpxx.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "aot/artifacts/gate/gate.h"
#include "aot/library/bf_aot.h"

namespace bf_aot::apps {

// The question that is asked about each sample.
enum class CertifyTask : std::uint8_t {
  kClasses,  // the answer is the label, everywhere in the box
  kWithin,   // every output stays within a distance of the label
  kRows,     // every row C y - d of a specification is positive
  kSlopes,   // outputs, or rows, rise or fall with some inputs
};

// One sample at one radius.
struct SampleResult {
  std::size_t radius = 0;  // index into the radii
  std::size_t sample = 0;  // index into the samples of the run
  api::Robustness robustness = api::Robustness::kUnknown;
  std::size_t answer = 0, rival = 0;  // classes, in kClasses; rival: the row, in kRows and kSlopes
  double margin = 0;                  // above 0: certified; see CertifiedSample
  std::vector<double> lower, upper;   // bounds of the outputs, in kWithin
  std::vector<double> counterexample;
  std::vector<double> parameters;  // of a disturbance, with a counterexample
  // Both are those of CertifiedSample, of complete runs. A sample that another radius decides has
  // no seconds.
  api::Stage stage = api::Stage::kSample;
  std::array<double, api::kStages> seconds = {};
};

bool is_decided(const SampleResult& result);

// Takes what a call has found about a sample; seconds add up.
void take(SampleResult& result, const api::CertifiedSample& found);

// A least certified accuracy: as typed, and as a number.
struct Threshold {
  std::string text;
  mpq_class least;
};

// One of `count` parts of a run: that of the samples k, counted within the run, for which k modulo
// `count` is its index.
struct SamplePart {
  std::size_t index = 0, count = 1;
};

// A run's question and its results, for tables and pages.
struct CertifyRun {
  std::string model, data;  // file names
  std::string method;
  std::string norm;         // of balls, "l2"; empty: boxes
  std::string disturbance;  // "rotation=-5..5"; empty: boxes or balls
  CertifyTask task = CertifyTask::kClasses;
  bool decide = false;
  bool complete = false;  // by stages
  SamplePart part;
  std::size_t outputs = 0;            // of the model; in kClasses its classes
  std::vector<std::string> radii;     // as typed; one empty text where the data have boxes
  std::vector<Threshold> thresholds;  // one for all radii, or one for each; or empty
  std::size_t first = 0;              // index in the data of the first sample
  std::vector<std::string> names;     // of the samples
  std::vector<double> labels;         // of the samples; or empty
  std::vector<SampleResult> results;  // in the order in which they were made
  double seconds = 0;
  int jobs = 1;
};

// The verdict of this name; none for any other text.
std::optional<api::Robustness> robustness_named(std::string_view name);

// Names for tables what samples are certified in: "boxes", a disturbance, or the radius.
std::string radius_text(const CertifyRun& run, std::size_t radius);

// The numbers of samples by verdict.
struct Tally {
  std::size_t certified = 0, falsified = 0, unknown = 0, wrong = 0;
  // Samples among the wrong ones in which another class's output equals the label's, and is the
  // largest.
  std::size_t ties = 0;

  void add(api::Robustness robustness);
  std::size_t count() const { return certified + falsified + unknown + wrong; }
  // Shares of all samples: those certified; those that are not wrong.
  double certified_accuracy() const;
  double clean_accuracy() const;
  // The share that may be certified: it is at least that of the robust ones.
  double possible_accuracy() const;
};

// The samples of all radii that went through a stage, those that it decided, and its seconds, of
// all threads.
struct StageTally {
  api::Stage stage = api::Stage::kSample;
  std::size_t samples = 0;
  Tally decided;
  double seconds = 0;
};

// The stages of a complete run that have samples, in order.
std::vector<StageTally> stage_tallies(const CertifyRun& run);

// Sorts results by radius and sample.
void sort_results(CertifyRun& run);

// The tally of each radius.
std::vector<Tally> tallies(const CertifyRun& run);
// The tallies of one radius by class of the label.
std::vector<Tally> class_tallies(const CertifyRun& run, std::size_t radius);

// The radius of boxes as a double; 0 where the data have boxes.
double radius_value(const CertifyRun& run, std::size_t radius);

// The threshold of a radius; there must be thresholds.
const Threshold& threshold_of(const CertifyRun& run, std::size_t radius);

// Returns whether the radius has the certified accuracy that is asked for.
bool passes(const CertifyRun& run, std::size_t radius, const Tally& tally);

// A case for each radius, failed where it does not pass, with the samples that are not certified as
// its details. model_file: its path, as it was given.
artifacts::Gate gate_of(const CertifyRun& run, const std::string& model_file);

// Keeps the results so far in a file of comma-separated values, which is complete after each
// sample, and beside it FILE.part, which names the question and is removed when all is done. If
// FILE.part is of the same question, the file is continued.
class Journal {
 public:
  // `question`: a hash of everything that decides the results. Throws: BF3102, BF3015 a damaged
  // file.
  Journal(std::filesystem::path path, const std::string& question, const CertifyRun& run);

  // The results of an earlier process.
  const std::vector<SampleResult>& found() const { return found_; }
  // Adds results to the file. Throws: BF3102.
  void append(const std::vector<SampleResult>& results);
  void finish();

 private:
  std::vector<SampleResult> read_earlier(const std::string& question) const;
  std::string row(const SampleResult& result) const;

  std::filesystem::path path_, part_;
  const CertifyRun& run_;
  std::vector<SampleResult> found_;
};

}  // namespace bf_aot::apps
