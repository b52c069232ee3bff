#pragma once

#include <gmpxx.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "aot/build/options/decision_options.h"
#include "aot/system/stop.h"

// Files of certificates: what they are about is read, and each is written whole or not at all.

namespace bf_aot::prove {

// The files of a question whose answer is to be proven, and where its certificate goes.
struct ProofFile {
  std::vector<std::string> models;  // the files' bytes, expanded
  std::string property;
  // ".gz" at its end: compressed. Empty: the report keeps the certificate.
  std::filesystem::path path;
  double seconds = 0;            // most, to make the certificate; 0: no limit
  std::size_t jobs = 0;          // threads that make it; 0: as many as there are cores
  system::Stop stop;             // asked by each of them; `seconds` begin when the certificate does
  std::optional<unsigned> ulps;  // as ProofRequest has it
  bool recheck = false;          // rechecked() is asked for
};

// A question that was read, whose answer may be proven.
struct ProofSubject {
  struct Model {
    std::string file;                          // empty: the model is none
    std::shared_ptr<const std::string> bytes;  // of a model that was read from memory
  };
  std::vector<Model> models;  // as the property declares networks
  std::string property;       // file; empty: `text` is the property
  std::string text;
  bool is_real = true;  // it is about exact real arithmetic
  // If not: it is about every evaluation in float32 with subnormals, in which functions of the
  // library are off by at most so many units in the last place; or none: about something else.
  std::optional<double> libm_ulps;
  bool is_whole = true;  // the networks are all that the files have
  std::string option;    // of messages: "--proof"
};

// Reads what the certificate of an answer is made from; nothing where none is asked for. A file "-"
// is none: the report keeps the certificate. Throws:
// BF3024 certificates are not about this question, or `recheck` has no file; BF3022; BF3111.
std::optional<ProofFile> proof_of(const build::DecisionOptions& options,
                                  const ProofSubject& subject);

// A certificate that was made, or why there is none.
struct ProofReport {
  std::uint64_t bytes = 0, leaves = 0;  // not compressed
  double seconds = 0;
  std::string missing;      // empty: it was made
  std::string certificate;  // where no file was named
  bool rechecked = false;   // it was there, and was checked in `seconds`
};

// Returns units as a certificate has them, rounded up. Throws: BF3024 it has no place for so many.
std::optional<unsigned> whole_ulps(const std::optional<double>& libm_ulps);

// The bytes of a file that certificates are about, expanded. Throws: BF3022.
std::string bytes_of(const std::filesystem::path& path);

// Makes sure that the checker takes model and property, so that nothing is decided in vain. where:
// stands in the message. Throws: BF3022.
void expect_covered(const ProofFile& proof, const std::string& where);

// Checks the certificate that is where an answer's would be written, and returns its report where
// the checker says that it proves the property of these files, in the arithmetic that is asked
// about. Nothing: it does not, there is none, `recheck` is false, or proof.stop ends it. Throws:
// Interrupted.
std::optional<ProofReport> rechecked(const ProofFile& proof);

// Writes the certificate that the property holds, or that it is violated at the point where there
// is one. Throws: BF3101 to BF3103.
ProofReport write_proof_file(const ProofFile& proof, const std::vector<mpq_class>* point);

// Writes part `index` of `count` of the certificate that the property holds. Throws: BF3101 to
// BF3103.
ProofReport write_proof_part(const ProofFile& proof, std::size_t index, std::size_t count);

// Joins the bytes of all parts to the certificate; path: as of ProofFile. Throws: BF3101 to BF3103.
ProofReport join_proofs(const std::vector<std::string>& parts, const std::filesystem::path& path);

}  // namespace bf_aot::prove
