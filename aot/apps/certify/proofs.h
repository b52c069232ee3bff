#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "aot/apps/certify/results.h"
#include "aot/build/options/decision_options.h"
#include "aot/input/dataset.h"
#include "aot/prove/proof_file.h"

namespace bf_aot::apps {

// The property that a class is not the largest output somewhere in a box, in VNN-LIB 1.0. The box
// is that of the numbers, exactly.
std::string robustness_text(const std::vector<float>& lower, const std::vector<float>& upper,
                            std::size_t label, std::size_t classes);

// A folder of certificates of samples: NAME.vnnlib, what is proven, and NAME.bfc.
class SampleProofs {
 public:
  // Throws: BF3022 the checker does not take the model; BF3101.
  SampleProofs(const build::ProofOptions& options, const std::filesystem::path& model,
               std::size_t inputs, std::size_t classes);

  // Writes both files of a sample that is certified or falsified; of others none. Returns why there
  // is no certificate, or an empty text. Throws: BF3101 to BF3103, Interrupted.
  std::string write(const std::string& name, const input::SampleBox& box, std::size_t label,
                    const SampleResult& result);

  std::size_t written() const { return written_; }

 private:
  std::filesystem::path folder_;
  std::size_t classes_, written_ = 0;
  prove::ProofFile proof_;
};

}  // namespace bf_aot::apps
