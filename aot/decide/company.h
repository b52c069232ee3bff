#pragma once

#include <functional>
#include <vector>

#include "aot/tree/tree_search.h"

namespace bf_aot::cli {

// Processes that search one tree together. All make the same calls; the first decides when a search
// is over, and has the answer.
class TreeCompany {
 public:
  using Proof = std::function<bool(const tree::Proposal&)>;

  TreeCompany() = default;
  TreeCompany(const TreeCompany&) = delete;
  TreeCompany& operator=(const TreeCompany&) = delete;
  virtual ~TreeCompany() = default;

  virtual bool is_first() const = 0;

  // Before the first search: the first keeps the state's nodes and leaves, the others have none.
  virtual void begin(tree::TreeState& state) = 0;

  // Between rounds of a search: gives and takes nodes. Whether it is over for all: as no node is
  // open anywhere, a proposal of another process is proven by the first, or the first asks for it.
  virtual bool share(tree::SharedNodes& nodes, const Proof& prove, bool ask_for_end) = 0;

  // Something was proven here.
  virtual void tell(const tree::Proposal& proposal) = 0;

  // After a search: nodes that were under way are in their new process's state, and the first gets
  // what all have together.
  virtual tree::TreeState gather(tree::TreeState& state, const Proof& prove) = 0;

  // Whether to search on, as the first says.
  virtual bool go_on(bool wanted) = 0;
};

}  // namespace bf_aot::cli
