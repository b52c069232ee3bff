#pragma once

#include <gmpxx.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "aot/library/bf_aot.h"

namespace bf_aot::apps {

// What was asked of each sample.
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
  std::size_t answer = 0, rival = 0;  // classes, of kClasses; rival: the row, of kRows and kSlopes
  double margin = 0;                  // above 0: certified; see CertifiedSample
  std::vector<double> lower, upper;   // bounds of the outputs, of kWithin
  std::vector<double> counterexample;
};

// A least certified accuracy: as typed, and the number itself.
struct Threshold {
  std::string text;
  mpq_class least;
};

// What the results are of; for tables and pages.
struct CertifyRun {
  std::string model, data;  // file names
  std::string method;
  std::string norm;  // of the balls, "l2"; empty: boxes
  CertifyTask task = CertifyTask::kClasses;
  bool decide = false;
  std::size_t outputs = 0;            // of the model: classes of kClasses
  std::vector<std::string> radii;     // as typed; one empty text where the data have boxes
  std::vector<Threshold> thresholds;  // of all radii, or of each; or empty
  std::size_t first = 0;              // index in the data of the first sample
  std::vector<std::string> names;     // of the samples
  std::vector<double> labels;         // of the samples; or empty
  std::vector<SampleResult> results;  // in the order in which they were made
  double seconds = 0;
  int jobs = 1;
};

// Samples by what is known of them.
struct Tally {
  std::size_t certified = 0, falsified = 0, unknown = 0, wrong = 0;
  // Samples among the wrong ones where another class's output equals the label's, the largest.
  std::size_t ties = 0;

  void add(api::Robustness robustness);
  std::size_t count() const { return certified + falsified + unknown + wrong; }
  // Shares of all samples: certified and right; not wrong.
  double certified_accuracy() const;
  double clean_accuracy() const;
};

// By radius.
std::vector<Tally> tallies(const CertifyRun& run);
// By class of the label, of one radius.
std::vector<Tally> class_tallies(const CertifyRun& run, std::size_t radius);

// The radius of boxes as a double; 0 where the data have boxes.
double radius_value(const CertifyRun& run, std::size_t radius);

// The threshold of a radius; there must be thresholds.
const Threshold& threshold_of(const CertifyRun& run, std::size_t radius);

// Whether the radius has the certified accuracy that is asked for.
bool passes(const CertifyRun& run, std::size_t radius, const Tally& tally);

// JUnit XML as continuous integration reads it: a test for each radius, failed where it does not
// pass, with the samples that are not certified as its output.
std::string junit_text(const CertifyRun& run);

// The results so far, in a file of comma-separated values that is complete after each sample, and
// beside it FILE.part, which names the question; it is removed when all is done. A file with the
// FILE.part of the same question is continued.
class Journal {
 public:
  // `question`: a hash of everything that decides the results. Throws: BF3102, BF3015 a damaged
  // file.
  Journal(std::filesystem::path path, const std::string& question, const CertifyRun& run);

  // Of an earlier process.
  const std::vector<SampleResult>& found() const { return found_; }
  // Throws: BF3102.
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
