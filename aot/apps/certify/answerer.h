#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "aot/apps/certify/certify.h"
#include "aot/apps/certify/samples.h"
#include "aot/library/bf_aot.h"

namespace bf_aot::apps {

// Answers of a network about samples: one kind of question. Not for several threads.
class Answerer {
 public:
  // All arguments live as long as this. Throws: BF2007, BF3015, BF3016, CompileError.
  Answerer(const api::Model& model, const CertifyQuestion& question, const Samples& samples);

  api::Explanation explain(const Boxes& box, std::size_t sample) const;

  std::vector<std::size_t> labels_of(const std::vector<std::size_t>& indices) const;

  // Certifies samples. `indices`: those of the samples whose boxes are given, in order.
  // seconds: the most that classes may take; 0: no limit.
  std::vector<SampleResult> certify(const Boxes& boxes, const std::vector<std::size_t>& indices,
                                    std::size_t radius, double seconds) const;

 private:
  void make_verifier(const api::Model& model);
  std::vector<SampleResult> classes(const Boxes& boxes, const std::vector<std::size_t>& indices,
                                    double seconds) const;
  std::vector<SampleResult> disturbed(const std::vector<std::size_t>& indices) const;
  std::vector<SampleResult> within(const Boxes& boxes,
                                   const std::vector<std::size_t>& indices) const;
  std::vector<SampleResult> rows(const Boxes& boxes, const std::vector<std::size_t>& indices) const;
  std::vector<SampleResult> slopes(const Boxes& boxes,
                                   const std::vector<std::size_t>& indices) const;
  std::vector<SampleResult> least_rows(const Boxes& boxes, std::size_t count) const;
  std::vector<float> evaluate(const Boxes& boxes, std::size_t k) const;

  const CertifyQuestion& question_;
  const Samples& samples_;
  std::size_t outputs_;
  std::vector<std::size_t> labels_;
  LinearSpec rows_;  // of kRows and kSlopes
  std::optional<api::Certifier> certifier_;
  std::optional<api::DisturbanceCertifier> disturber_;
  std::optional<api::Verifier> verifier_;
};

}  // namespace bf_aot::apps
