#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "aot/decide/tree/tree_search.h"

namespace bf_aot::decide {

// The processes that search one tree together. All of them make the same calls in the same order;
// the first one decides when the search is over, and has the answer.
class TreeCompany {
 public:
  using Proof = std::function<bool(const tree::Proposal&)>;

  TreeCompany() = default;
  TreeCompany(const TreeCompany&) = delete;
  TreeCompany& operator=(const TreeCompany&) = delete;
  virtual ~TreeCompany() = default;

  virtual bool is_first() const = 0;

  // Returns whether it is so in all processes.
  virtual bool is_so_for_all(bool here) = 0;

  // Called before the first turn. The first process keeps the state's nodes and leaves, the others
  // lose theirs. identity: that of the search, see SplitSearch. Throws: BF3018 where the first has
  // another.
  virtual void begin(tree::TreeState& state, const std::string& identity) = 0;

  // The root of the next turn, which the first process chooses for all; none: the search ends.
  // Other processes' arguments are ignored.
  virtual std::optional<std::uint32_t> agree(std::optional<std::uint32_t> root) = 0;

  // Called between rounds of a turn: exchanges nodes of its root with other processes. Returns
  // whether the turn is over for all, since no node of the root is open anywhere, or since the
  // first process asks for its end. In the first process `prove` is called with what others have
  // proven.
  virtual bool share(tree::SharedNodes& nodes, std::uint32_t root, const Proof& prove,
                     bool ask_for_end) = 0;

  // Tells the other processes that this input was proven here to violate the property.
  virtual void tell(const tree::Proposal& proposal) = 0;

  // Called after a turn. Nodes that were on their way between processes are put into the receiver's
  // state; the first process gets the state of all processes together.
  virtual tree::TreeState gather(tree::TreeState& state, const Proof& prove) = 0;

  // Between searches: the place of this process in the order of all, from 0, and their number.
  struct Place {
    std::size_t index = 0, count = 1;
  };
  virtual Place place() const = 0;
  // Gives the first process the texts of all, in that order; the others get none. Throws:
  // Interrupted, in the first.
  virtual std::vector<std::string> collect(const std::string& text) = 0;
  // Ends all processes, whatever they do.
  virtual void abandon(int code) = 0;
};

}  // namespace bf_aot::decide
