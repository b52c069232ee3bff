#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace bf_aot::build {

// Certificates of answers.
struct ProofOptions {
  static constexpr char kKept[] = "-";  // in place of a file: the result has the certificate

  std::string file, folder;  // for one question; for many. Empty: none is made
  double seconds = 0;        // most, to make one, after deciding; 0: no limit
  bool recheck = false;      // one that is there and proves the answer is not made anew
};

// A decision as its user chooses it, besides how its verifiers are planned.
struct DecisionOptions {
  double timeout_seconds = 0;  // 0: no limit
  // Most, to search for a counterexample, and to split. None: 5 and 20, or no limit where there is
  // a timeout, nor to split where a file keeps the tree.
  std::optional<double> search_seconds, branch_seconds;
  std::size_t jobs = 0;                     // threads; 0: as many as there are cores
  std::string checkpoint, part, save_part;  // files of trees, and "I/N"; or empty
  ProofOptions proof;

  bool keeps_tree() const { return !checkpoint.empty() || !part.empty(); }
};

}  // namespace bf_aot::build
