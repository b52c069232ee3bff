#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "aot/apps/certify/results.h"
#include "aot/apps/proofs/proof_set.h"
#include "aot/build/options/decision_options.h"
#include "aot/input/dataset.h"
#include "aot/prove/proof_file.h"

namespace bf_aot::apps {

// The property that a class is not the largest output somewhere in a box, in VNN-LIB 1.0. The box
// is that of the numbers, exactly.
std::string robustness_text(const std::vector<float>& lower, const std::vector<float>& upper,
                            std::size_t label, std::size_t classes);

// The certificates of samples.
class SampleProofs {
 public:
  // libm_ulps: as of ProofSubject, where they are about float32. Throws: BF3022 the checker does
  // not take the model; BF3024; BF3101.
  SampleProofs(const build::ProofOptions& options, const std::optional<double>& libm_ulps,
               const std::filesystem::path& model, std::size_t inputs, std::size_t classes);

  // The name of a sample's files.
  static std::string name_of(const CertifyRun& run, const SampleResult& result);

  // Writes both files of a sample that is certified or falsified; of others none. Returns why there
  // is no certificate, or an empty text. Throws: BF3101 to BF3103, Interrupted.
  std::string write(const std::string& name, const input::SampleBox& box, std::size_t label,
                    const SampleResult& result);

  std::size_t written() const { return written_.size(); }

  // Ends the set: its manifest says what was asked, and the answer of every sample. Throws: BF3022,
  // BF3101 to BF3103.
  void publish(const CertifyRun& run, const input::DataFiles& files,
               const input::Normalisation& normalisation);

 private:
  ProofSet set_;
  std::filesystem::path model_;
  std::size_t classes_;
  std::set<std::string> written_;  // names
  prove::ProofFile proof_;
};

}  // namespace bf_aot::apps
