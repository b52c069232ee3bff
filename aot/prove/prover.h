#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "aot/check/exact.h"

// Makes certificates for the independent checker. What is written has been checked by the checker's
// own arithmetic, part by part.

namespace bf_aot::prove {

// There is no certificate, for a reason that is no fault of the input.
struct NoCertificate : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct ProofRequest {
  std::string model, property;  // the files' bytes
  std::string tool;             // "bf-aot 0.2.0"
  double seconds = 0;           // within which the certificate is to be made; 0: no limit
  std::function<bool()> stop = [] { return false; };
  // Called with bytes of the certificate, in their order.
  std::function<void(const std::string&)> write;
};

struct ProofTotals {
  std::uint64_t nodes = 0, leaves = 0, bytes = 0;
};

// Throws bf_check::Refused where the checker does not take one of the files, as its table and
// grammar say. To be called before a decision that is to be proven.
void expect_covered(const std::string& model, const std::string& property);

// Writes the certificate that the property holds. Throws bf_check::Refused; NoCertificate: the time
// is over, a stop was asked for, or a part can be split no more.
ProofTotals write_proof(const ProofRequest& request);

// Writes the certificate that the property is violated at a point. Throws bf_check::Refused;
// NoCertificate: the point does not violate it in the checker's arithmetic.
ProofTotals write_violation(const ProofRequest& request, const std::vector<bf_check::Rat>& point);

}  // namespace bf_aot::prove
