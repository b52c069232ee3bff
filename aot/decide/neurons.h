#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "aot/decide/branch.h"
#include "aot/decide/cases.h"
#include "aot/decide/witness.h"
#include "aot/tree/tree_search.h"
#include "aot/verifier/verifier.h"
#include "planner/plan/plan.h"

namespace bf_aot::cli {

class SplitNetwork;

struct NeuronTotals {
  std::uint64_t nodes = 0;   // that were bounded
  std::uint64_t leaves = 0;  // without a neuron left to split, whose bounds do not decide
  double seconds = 0;
};

// Whether the plan's network is one whose neurons can be split: affine layers and ReLUs.
bool has_neuron_splits(const Plan& plan);

// Keeps neurons on one side of 0, over and over, until each clause of the cases is excluded or a
// case is violated; see docs/proofs/neuron-splits.md.
class NeuronSearch {
 public:
  // The verifier is the plan's, which has neuron splits; where neurons lie is asked of its
  // spec_bounds. All must outlive this.
  NeuronSearch(const HostVerifier& verifier, const Plan& plan, const Cases& cases,
               std::size_t threads);
  ~NeuronSearch();
  NeuronSearch(const NeuronSearch&) = delete;
  NeuronSearch& operator=(const NeuronSearch&) = delete;

  // Where the search is: root k is clause k of the cases' tables. May be replaced by another of the
  // same property.
  tree::TreeState state;

  // Goes on for at most `seconds`: the clauses that are open have turns, each longer than the one
  // before. Marks cases as verified. Throws what the verifier and `calls` throw; the state stays
  // whole.
  std::optional<Witness> run(Cases& cases, double seconds, const BranchCalls& calls);

  // Whether nothing is left to be split: clauses are excluded, or have leaves that stay open, or
  // belong to networks that are too large.
  bool is_over() const;
  NeuronTotals totals() const;

 private:
  class Worker;

  bool prepare(std::uint32_t clause);
  void mark(Cases& cases) const;

  const HostVerifier& verifier_;
  const Plan& plan_;
  const Cases& cases_;
  // Of the clause whose turn it is: its case's.
  std::size_t network_case_;
  std::shared_ptr<const SplitNetwork> network_;
  tree::TreeSearch search_;
  double seconds_ = 0;
  bool too_large_ = false;
};

}  // namespace bf_aot::cli
