#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "aot/decide/property/cases.h"
#include "aot/decide/property/witness.h"
#include "aot/decide/search/company.h"
#include "aot/decide/search/search.h"
#include "aot/decide/tree/tree_search.h"
#include "aot/system/stop.h"

namespace bf_aot::decide {

// Splits parts of a property's cases until each is closed or a case is violated. Derived classes
// say what nodes are and what becomes of them. Open roots have turns, each longer than the one
// before, so that none keeps the others from being looked at.
class SplitSearch : public Search {
 public:
  ~SplitSearch() override;

  // The state of the search. It may be replaced by the state of another search of the same property
  // and identity().
  tree::TreeState state;
  // Tries an input of a case before anything else. False when there is no such case, or no such
  // input.
  bool propose_first(std::size_t property_case, const std::vector<double>& x);

  // In a company the first process's seconds count, and cases are marked in the first process
  // alone, whose state then is that of all processes. Throws what the verifier and `calls` throw;
  // the state stays whole.
  std::optional<Witness> run(Cases& cases, const SearchBudget& budget,
                             const SearchCalls& calls) override;

  // Returns whether nothing is left to be split: no node is open, or what is open is too large.
  bool is_over() const override;
  SearchTotals totals() const override;

  // Splits the state's roots in breadth, each into at least `least` nodes. Inputs that are proposed
  // on the way are tried before anything else.
  void expand_in_breadth(std::size_t least);

  // A fingerprint of everything besides the property that gives nodes' states their meaning, such
  // as the numbering of neurons. Two searches may exchange nodes if it is equal.
  virtual std::string identity() = 0;
  // Null when the node may be one of this search, else the reason for a message. For nodes from
  // files.
  virtual const char* fault_of(const tree::Node& node) = 0;
  // Returns whether numbers from a file may be an input that this search proposes.
  virtual bool may_propose(const std::vector<double>& x) const { return cases_.fits(x.size()); }

 protected:
  SplitSearch(const Cases& cases, std::vector<std::vector<std::byte>> roots, std::size_t threads);

  const Cases& cases() const { return cases_; }
  std::size_t threads() const { return search_.threads(); }

  virtual std::unique_ptr<tree::TreeWorker> make_worker(std::size_t thread) = 0;
  // Makes that of expand_in_breadth(), whose nodes depend on the search alone.
  virtual std::unique_ptr<tree::TreeWorker> make_breadth_worker() { return make_worker(0); }
  virtual std::size_t case_of(std::uint32_t root) const = 0;
  // Called before nodes of a root are expanded. False where the root needs too much memory.
  virtual bool prepare(std::uint32_t root) = 0;

 private:
  class Turns;
  class Running;

  void close_verified();
  void mark(Cases& cases) const;

  const Cases& cases_;
  std::vector<bool> full_;  // by root: its open nodes take the most memory that they may
  tree::TreeSearch search_;
  std::vector<tree::Proposal> first_proposals_;
  double seconds_ = 0;
  bool too_large_ = false;
};

}  // namespace bf_aot::decide
