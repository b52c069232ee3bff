#pragma once

#include <gmpxx.h>

#include <cstdint>
#include <string>
#include <vector>

namespace bf_aot::cli {

// The files of a question whose answer is to be proven, and where its certificate goes.
struct ProofWork {
  std::string model, property;              // paths
  std::string model_bytes, property_bytes;  // expanded
  std::string path;
  double seconds = 0;  // most, to make the certificate; 0: no limit
};

// A certificate that was written.
struct ProofReport {
  std::uint64_t bytes = 0, leaves = 0;
  double seconds = 0;
};

// Reads the files, and makes sure that the checker takes them, so that nothing is decided in vain.
// Throws: BF3022.
void read_proof_files(ProofWork& work);

// Writes the certificate that the property holds, or that it is violated at the point where there
// is one; whole or not at all. answer: the word for it. Throws: BF3023 where no certificate could
// be made; BF3101 to BF3103; system::Interrupted.
ProofReport write_proof(const ProofWork& work, const std::string& answer,
                        const std::vector<mpq_class>* point);

}  // namespace bf_aot::cli
