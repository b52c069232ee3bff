#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "aot/check/exact.h"
#include "aot/system/stop.h"

// Makes certificates for the independent checker, by a search of its own: the decision's tree is
// not looked at. Bounds of elements are those of the checker (fast_bounds.h), and leaves are
// bounded by its own functions, so that what is written checks.

namespace bf_aot::prove {

// There is no certificate, for a reason that is no fault of the input.
struct NoCertificate : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct ProofRequest {
  std::vector<std::string> models;  // the files' bytes, as the property declares networks
  std::string property;             // the file's bytes
  std::string tool;                 // "bf-aot 0.2.0"
  // It is about every evaluation in float32, in which functions of the library are off by at most
  // so many units in the last place; none: about exact arithmetic.
  std::optional<unsigned> ulps;
  std::size_t jobs = 1;  // threads; the bytes are the same for any number
  system::Stop stop;     // asked by all of them
  // Called with bytes of the certificate, in their order, by one thread at a time.
  std::function<void(const std::string&)> write;
};

struct ProofTotals {
  std::uint64_t nodes = 0, leaves = 0, bytes = 0;
};

// Throws bf_check::Refused where the checker does not take one of the files, as its table and
// grammar say. To be called before a decision that is to be proven.
void expect_covered(const std::vector<std::string>& models, const std::string& property,
                    const std::optional<unsigned>& ulps = std::nullopt);

// Writes the certificate that the property holds. Throws bf_check::Refused; NoCertificate: a stop
// was asked for or its time is over, or a part can be split no more.
ProofTotals write_proof(const ProofRequest& request);

// One of the parts in which a certificate is made, counted from 0.
struct ProofPart {
  std::uint64_t index = 0, count = 1;
};

// Writes a part of the certificate: the tree down to a depth, and of the subtrees below it those of
// the part, every count-th. Throws as write_proof().
ProofTotals write_proof_part(const ProofRequest& request, const ProofPart& part);

// Joins the files of all parts to the certificate. Returns its bytes. Throws: NoCertificate parts
// that are damaged, not all, or of different trees.
std::uint64_t join_proof_parts(const std::vector<std::string>& parts,
                               const std::function<void(const std::string&)>& write);

// Writes the certificate that the property is violated at a point, given by the inputs of all
// networks, of which those that equal earlier ones or outputs are not read. Throws
// bf_check::Refused; NoCertificate: the point does not violate it in the checker's arithmetic.
ProofTotals write_violation(const ProofRequest& request, const std::vector<bf_check::Rat>& inputs);

}  // namespace bf_aot::prove
