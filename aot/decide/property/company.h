#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "aot/decide/tree/tree_search.h"

namespace bf_aot::decide {

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

  // Before the first turn: the first keeps the state's nodes and leaves, the others have none.
  // identity: as of the search, see SplitSearch. Throws: BF3018 where the first has another.
  virtual void begin(tree::TreeState& state, const std::string& identity) = 0;

  // The root of the next turn, as the first says; none: the search ends.
  virtual std::optional<std::uint32_t> agree(std::optional<std::uint32_t> root) = 0;

  // Between rounds of a turn: gives and takes nodes of its root. Whether the turn is over for all:
  // as none of its nodes is open anywhere, or the first asks for it. `prove` is given, in the
  // first, what others have proven.
  virtual bool share(tree::SharedNodes& nodes, std::uint32_t root, const Proof& prove,
                     bool ask_for_end) = 0;

  // Something was proven here.
  virtual void tell(const tree::Proposal& proposal) = 0;

  // After a turn: nodes that were under way are in their new process's state, and the first gets
  // what all have together.
  virtual tree::TreeState gather(tree::TreeState& state, const Proof& prove) = 0;
};

}  // namespace bf_aot::decide
