#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "aot/apps/certify/certify.h"
#include "aot/input/dataset.h"
#include "aot/library/bf_aot.h"

namespace bf_aot::apps {

// Reads the samples of a question's range. Throws: as input::read_dataset(), BF3013.
input::Dataset read_samples(const CertifyQuestion& question);

// Throws: BF3016.
void expect_labels(const input::Dataset& data);

// Labels as classes. Throws: BF3016.
std::vector<std::size_t> classes_of(const input::Dataset& data, std::size_t classes);

// Returns a sentence about each thing that looks like a mistake in how the data were given.
std::vector<std::string> remarks_of(const CertifyRun& run, const CertifyQuestion& question,
                                    const input::Dataset& data);

// The boxes of some samples, one after the other.
struct Boxes {
  std::vector<float> samples, lower, upper;
  std::vector<double> inner_lower, inner_upper, range_lower, range_upper;

  api::SampleBoxes view() const {
    return {samples, lower, upper, inner_lower, inner_upper, range_lower, range_upper};
  }
  void add(const input::SampleBox& box);
};

// Samples in the order of the model's input, and their boxes.
class Samples {
 public:
  // All arguments live as long as this. Throws: BF3013, as input::arrange().
  Samples(const CertifyQuestion& question, input::Dataset& data,
          const std::vector<std::int64_t>& input_shape, std::size_t inputs);

  const input::Dataset& data() const { return data_; }
  // A sample's numbers, not normalised.
  std::span<const double> values(std::size_t sample) const;
  // Throws: as input::perturb().
  input::SampleBox box(std::size_t sample, std::size_t radius) const;

 private:
  input::SampleBox around(std::size_t sample, const vnnlib::Number& eps,
                          const std::string& where) const;

  const CertifyQuestion& question_;
  const input::Dataset& data_;
  input::ModelSamples arranged_;
};

}  // namespace bf_aot::apps
