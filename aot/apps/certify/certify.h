#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "aot/apps/certify/results.h"
#include "aot/build/options/decision_options.h"
#include "aot/input/dataset.h"
#include "aot/library/bf_aot.h"
#include "frontend/property/property.h"

namespace bf_aot::apps {

// The claim that all outputs, or rows C y, rise with some inputs and fall with others, by at least
// `least` for each unit of the model's input.
struct SlopeQuestion {
  std::vector<std::size_t> rising, falling;  // indices of inputs
  vnnlib::Number least;
};

// The question that a run certifies. Texts of numbers must live as long as it does.
struct CertifyQuestion {
  api::Cut cut;  // what of the model is read
  input::DataFiles files;
  input::Normalisation normalisation;
  // Order of arrays; neither: that of the model's input.
  bool channels_last = false, channels_first = false;
  std::size_t first = 0, count = 0;       // range of samples; count 0: all that follow
  std::vector<vnnlib::Number> eps;        // none: the data have boxes
  std::vector<std::string> disturbances;  // of pictures, in place of eps: kClasses
  std::optional<vnnlib::Number> within;   // kWithin
  std::optional<LinearSpec> rows;         // kRows, kSlopes
  std::optional<SlopeQuestion> slopes;    // kSlopes
  std::vector<Threshold> thresholds;
  // All stages, one after the other, in place of one method: kClasses.
  bool complete = false;
  double timeout_seconds = 0;  // of a complete run; 0: no limit
  SamplePart part;             // of a complete run
  api::CertifyOptions options;
};

struct CertifyOutputs {
  std::string journal;   // file, or empty
  bool explain = false;  // CertifyAnswer::explanations: kClasses
  std::string campaign;  // of a complete run: the file that it goes on with, or empty
  // The folder or archive is for the properties and certificates of samples that are certified or
  // falsified, as classes.
  build::ProofOptions proof;
  std::optional<double> libm_ulps;  // of certificates about float32
  // Does falsified samples of an earlier process again, since its file has no inputs.
  bool counterexamples = false;
};

// The inputs that keep the answer of a sample at a radius.
struct SampleExplanation {
  std::size_t radius = 0, sample = 0;
  api::Explanation found;
};

struct CertifyAnswer {
  CertifyRun run = {};
  input::Dataset data;
  std::vector<std::int64_t> input_shape = {};
  std::size_t proofs = 0;                            // certificates that were written
  std::vector<SampleExplanation> explanations = {};  // of samples that are answered rightly
  std::vector<std::string> remarks = {};  // what looks like a mistake in how the data were given
};

// Reads model and data, and certifies every sample at every radius, with progress on a terminal.
// Throws: CompileError, Interrupted.
CertifyAnswer certify(const std::filesystem::path& model, const CertifyQuestion& question,
                      const CertifyOutputs& outputs);

}  // namespace bf_aot::apps
