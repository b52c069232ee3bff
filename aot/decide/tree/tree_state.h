#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "aot/decide/tree/kraft_sum.h"
#include "aot/decide/tree/node.h"

namespace bf_aot::decide::tree {

// The leaves below a root.
struct RootLeaves {
  KraftSum closed, stuck;

  bool operator==(const RootLeaves&) const = default;
};

// A search that may go on: what is open, and what has been done. The open nodes, closed and stuck
// leaves of a root have the sum 1, unless others hold a part of its tree.
struct TreeState {
  std::vector<Node> open;  // the last is expanded next
  std::vector<RootLeaves> roots;
  std::uint64_t nodes = 0;   // that were expanded
  std::uint64_t points = 0;  // that were tried

  bool operator==(const TreeState&) const = default;
};

// The state in which each of these nodes' states is a root, numbered in order, and open. The first
// is expanded first.
TreeState start_of(std::vector<std::vector<std::byte>> roots);

// Returns whether the root is proven: every leaf below it is closed.
bool is_verified(const TreeState& state, std::uint32_t root);
bool is_verified(const TreeState& state);  // all roots

// Returns whether open nodes, closed and stuck leaves of each root have the sum 1.
bool is_whole(const TreeState& state);

// The part of all roots that is closed, from 0 to 1.
double closed_part(const TreeState& state);

}  // namespace bf_aot::decide::tree
