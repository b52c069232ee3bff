#pragma once

#include <cstddef>
#include <vector>

#include "aot/decide/tree/tree_state.h"

namespace bf_aot::decide::tree {

// While it lives, the state's open nodes are those of one root alone; then the others are back.
class OneRoot {
 public:
  OneRoot(TreeState& state, std::size_t root);
  ~OneRoot();
  OneRoot(const OneRoot&) = delete;
  OneRoot& operator=(const OneRoot&) = delete;

 private:
  TreeState& state_;
  std::vector<Node> others_;
};

// Replaces all open nodes and leaves of a root, which is known to hold no violation, by one closed
// leaf.
void close_root(TreeState& state, std::size_t root);

}  // namespace bf_aot::decide::tree
